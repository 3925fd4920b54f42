"""Whether an expression is being composed: by a gradient, a rewrite, or a function that is made of others.

Such expressions were written with NumPy's rules in mind, and follow them whatever the user's options say about the
dtypes of Python numbers. The code that composes declares it; the module that a call stands in does not show it.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
R = TypeVar("R")

_COMPOSING: ContextVar[bool] = ContextVar("treadle.composing", default=False)


def is_composing() -> bool:
    """Return whether expressions built now are part of one that is being composed."""
    return _COMPOSING.get()


@contextmanager
def composing() -> Iterator[None]:
    """Return a context in which expressions are composed."""
    token = _COMPOSING.set(True)
    try:
        yield
    finally:
        _COMPOSING.reset(token)


def composed(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function whose calls compose: expressions built inside them follow NumPy's rules.

    >>> from treadle.graph.ir.composition import composed, is_composing
    >>> composed(is_composing)(), is_composing()
    (True, False)
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        token = _COMPOSING.set(True)
        try:
            return function(*args, **kwargs)
        finally:
            _COMPOSING.reset(token)

    return call
