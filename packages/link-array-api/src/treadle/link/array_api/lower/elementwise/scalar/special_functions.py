"""Special functions, of which the standard has none: those of the module that the library keeps them in.

Where it has none, or lacks one, the function runs on the host, by SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle.link.array_api.lower.elementwise.scalar.complex_numbers import functions_of
from treadle.link.array_api.table import SCALARS, Array, Kernel, named, special_of


def _own(name: str) -> Kernel:
    return lambda xp: named(name)(special_of(xp))


def _shared(name: str, *needed: str) -> Kernel:
    """Return a function that is made of some of a library's own (see `treadle.tensor.ArrayFunctions`)."""

    def of(xp: Any) -> Callable[..., Array]:
        special = special_of(xp)
        for each in needed:
            getattr(special, each)
        function: Callable[..., Array] = getattr(functions_of(xp, special), name)
        return function

    return of


for _name in ("erf", "erfc", "ndtri", "i0e", "i1e", "gamma"):
    SCALARS.register(_name, {"f": _own(_name)})
SCALARS.register("gammaln", {"f": _shared("gammaln", "gammaln")})
SCALARS.register("digamma", {"f": _shared("digamma", "digamma")})
SCALARS.register("tri_gamma", {"f": _shared("tri_gamma", "zeta", "gammaln", "digamma")})
SCALARS.register("polygamma", {"f": _shared("polygamma", "zeta", "gammaln", "digamma")})


def _incomplete(name: str, at_zero: float) -> Kernel:
    def of(xp: Any) -> Callable[..., Array]:
        special = special_of(xp)
        own, shared = getattr(special, name), functions_of(xp, special)
        return lambda a, x: shared.at_ends(a, x, own(a, x), at_zero)

    return of


SCALARS.register("gammainc", {"f": _incomplete("gammainc", 0.0)})
SCALARS.register("gammaincc", {"f": _incomplete("gammaincc", 1.0)})


@SCALARS.function("cbrt", kinds="f")
def cbrt(xp: Any) -> Callable[[Array], Array]:
    """The cube root, by a power and a step of Newton's method."""

    def run(x: Array) -> Array:
        plain = xp.isfinite(x) & (x != 0)
        size = xp.where(plain, xp.abs(x), xp.ones_like(x))
        root = xp.pow(size, 1 / 3)
        root = root - (root - size / (root * root)) / 3
        return xp.where(plain, xp.copysign(root, x), x)

    return run


SCALARS.register("nextafter", {"f": lambda xp: xp.nextafter})
