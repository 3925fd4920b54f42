"""Arguments as functions take them: one conversion for each kind, where they enter.

Integers are Python's, NumPy's, arrays of rank 0 and constants of them; truth values are not integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from treadle.config import TreadleError, text_of
from treadle.graph import as_flag, as_index
from treadle.tensor.errors import ArgumentError, TensorTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")
F = TypeVar("F")
Choice = TypeVar("Choice", bound=int | str | None)


def known_integer(value: object) -> int | None:
    """Return the integer that a value is, None if it is none or known only when the program runs."""
    if type(value) is int:
        return value
    if isinstance(value, bool | np.bool_):
        return None
    return as_index(value)


def as_integer(what: str, value: object, least: int | None = None) -> int:
    """Return an argument as an integer of `least` or more; `what` names it in messages, as in ``"eye: k"``."""
    number = known_integer(value)
    if number is None or (least is not None and number < least):
        bound = "" if least is None else f" of {least} or more"
        msg = f"{what} must be an integer{bound}, known when the graph is built, got {text_of(value)}. Pass one."
        raise TensorTypeError(msg)
    return number


def as_number(what: str, value: object) -> int | float:
    """Return an argument as a finite real number."""
    number = known_integer(value)
    if number is None and isinstance(value, float | np.floating) and np.isfinite(value):
        return float(value)
    if number is None:
        msg = f"{what} must be a number, known when the graph is built, got {text_of(value)}. Pass one."
        raise TensorTypeError(msg)
    return number


def as_choice(what: str, value: object, allowed: Sequence[Choice]) -> Choice:
    """Return an argument that is one of some strings, or None where that is among them."""
    if (value is None or isinstance(value, str)) and value in allowed:
        return value  # type: ignore[return-value]  # it is among them
    msg = f"{what} must be one of {', '.join(map(str, allowed))}, got {text_of(value)}."
    raise ArgumentError(msg) if isinstance(value, str) else TensorTypeError(msg)


def as_option(what: str, value: object, allowed: Sequence[Choice]) -> Choice:
    """Return an argument that is one of some integers and strings, or None where that is among them."""
    plain = value if value is None or isinstance(value, str | bool) else known_integer(value)
    if (plain is None and value is not None) or plain not in allowed:
        msg = f"{what} must be one of {', '.join(map(repr, allowed))}, got {text_of(value)}. Pick one of these."
        raise ArgumentError(msg)
    return plain  # type: ignore[return-value]  # it is among them


def check_flags(what: str, **flags: object) -> None:
    """Check truth values that a function accepts for compatibility only and ignores."""
    for name, flag in flags.items():
        as_flag(f"{what}: {name}", flag)


def as_callable(what: str, value: F) -> F:
    """Return a function that was passed as an argument."""
    if not callable(value):
        msg = f"{what} must be a function, got {text_of(value)}. Pass something that can be called."
        raise TensorTypeError(msg)
    return value


def as_items(what: str, value: Iterable[T]) -> list[T]:
    """Return an argument that is an ordered sequence, and no text, as a list."""
    if isinstance(value, list | tuple):
        return list(value)
    if not isinstance(value, str | bytes | Mapping | Set):
        try:
            return list(value)
        except TreadleError:
            raise
        except Exception as error:
            msg = f"{what} must be a sequence, got {text_of(value)} ({error}). Put what is meant into a list."
            raise TensorTypeError(msg) from error
    msg = f"{what} must be a sequence, got {text_of(value)}. Put what is meant into a list."
    raise TensorTypeError(msg)
