"""The functions of distributions as attributes of what draws: ``normal.logpdf``, ``poisson.cdf``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar, cast

from treadle.config import lazy_module
from treadle.tensor.random.densities.names import CONTINUOUS, FUNCTIONS, HOMES

if TYPE_CHECKING:
    from treadle.tensor.random.densities.law import Law
    from treadle.tensor.random.densities.vectors import VectorLaw
    from treadle.tensor.variables.variable import TensorVariable

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

# Distributions whose functions are called otherwise than they are.
_CALLED = {"beta_binomial": "betabinom", "beta_negative_binomial": "betanbinom"}
_MODULES = {name: lazy_module(f"treadle.tensor.random.densities.{name}") for name in HOMES}
_HOMES = {law: module for module, laws in HOMES.items() for law in laws.split()}


def law_of(name: str) -> Law | VectorLaw | None:
    """Return the law of a distribution by name; None for one that has none."""
    module = _HOMES.get(name)
    law: Law | VectorLaw | None = None if module is None else getattr(_MODULES[module], name)
    return law


def function_of(name: str, function: str) -> Callable[..., TensorVariable]:
    """Return a function of a distribution.

    Raises
    ------
    AttributeError
        If the distribution has no function of this name.
    """
    law = law_of(name) if function in FUNCTIONS else None
    if law is not None and law.has(function):
        return law.function(function, _CALLED.get(name, name))
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
    def __wrapped__(self) -> Callable[..., TensorVariable]:
        return function_of(*self._places)

    @property
    def __doc__(self) -> str | None:
        return self.__wrapped__.__doc__

    def __call__(self, *args: object, **kwargs: object) -> TensorVariable:
        """Return the function's value."""
        return function_of(*self._places)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<function {self.__qualname__}>"


class DrawsAndFunctions(Protocol[P, R_co]):
    """A function that draws, with the functions of its distribution."""

    logpdf: Callable[..., TensorVariable]
    pdf: Callable[..., TensorVariable]
    cdf: Callable[..., TensorVariable]
    logcdf: Callable[..., TensorVariable]
    sf: Callable[..., TensorVariable]
    logsf: Callable[..., TensorVariable]
    icdf: Callable[..., TensorVariable]
    mean: Callable[..., TensorVariable]
    variance: Callable[..., TensorVariable]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Return a draw."""


def with_functions(draws: Callable[P, R_co]) -> DrawsAndFunctions[P, R_co]:
    """Return a function that draws, with the functions of its distribution of real numbers as attributes."""
    for function in CONTINUOUS.split():
        setattr(draws, function, LateFunction(draws.__name__, function))
    return cast("DrawsAndFunctions[P, R_co]", draws)
