"""The functions of distributions as attributes of what draws: ``normal.logpdf``, ``poisson.cdf``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import lazy_module
from treadle.tensor.random.densities.names import FUNCTIONS, HOMES

if TYPE_CHECKING:
    from collections.abc import Callable

# Distributions whose functions are called otherwise than they are.
_CALLED = {"beta_binomial": "betabinom", "beta_negative_binomial": "betanbinom"}
_MODULES = {name: lazy_module(f"treadle.tensor.random.densities.{name}") for name in HOMES}
_HOMES = {law: module for module, laws in HOMES.items() for law in laws.split()}


def law_of(name: str) -> Any:
    """Return the law of a distribution by name; None for one that has none."""
    module = _HOMES.get(name)
    return None if module is None else getattr(_MODULES[module], name)


def function_of(name: str, function: str) -> Callable[..., Any]:
    """Return a function of a distribution.

    Raises
    ------
    AttributeError
        If the distribution has no function of this name.
    """
    law = law_of(name) if function in FUNCTIONS else None
    if law is not None and law.has(function):
        found: Callable[..., Any] = law.function(function, _CALLED.get(name, name))
        return found
    own = f" It has {', '.join(law.names())}." if law is not None else ""
    msg = f"{name}: there is no function {function!r}.{own}"
    raise AttributeError(msg)


class LateFunction:
    """A function of a distribution that is a Python function itself; made when it is first called or looked at."""

    def __init__(self, name: str, function: str) -> None:
        self._places = name, function
        self.__name__ = function
        self.called_as = f"{name}.{function}"
        self.__qualname__ = f"{name}.{function}"
        self.__module__ = "treadle.tensor.random"

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return function_of(*self._places)

    @property
    def __doc__(self) -> str | None:
        return self.__wrapped__.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's value."""
        return function_of(*self._places)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<function {self.__qualname__}>"


def with_functions(draws: Callable[..., Any], functions: str) -> Callable[..., Any]:
    """Return a function that draws, with functions of its distribution as attributes."""
    for function in functions.split():
        setattr(draws, function, LateFunction(draws.__name__, function))
    return draws
