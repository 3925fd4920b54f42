"""Moments of the tails of gamma and beta densities, which derivatives by shape parameters are made of.

With t = x exp(-v) the lower incomplete gamma function is a density at x times the integral of exp(-p(u)) over u = v
from 0 on, where p(u) = a u + x (exp(-u) - 1); the upper one, over u = -v, is the same with a and x negated (DLMF 8.2.1
and 8.2.2). Where x is on the tail's side of a, p is convex and grows from 0, so that Gauss and Legendre's rule on the
range where p stays below a bound is as accurate as the numbers, at tails of every weight. A derivative by a multiplies
the integrand by u. For the beta density (DLMF 8.17.1) it is the same with u = logit(x) - logit(t).

What is here is written for the functions of any of NumPy, JAX and PyTorch; for C and Numba there are kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Repeat = Callable[["Callable[[Array], Array]", "Array"], "Array"]

__all__ = ["NEWTON_STEPS", "QUADRATURE", "beta_tail_integral", "gamma_tail_integral"]

# exp(-BOUND) is negligible next to 1; these many Newton steps find the range up to it, these many nodes integrate it.
BOUND, NODES, NEWTON_STEPS = 40.0, 48, 12
# Below these sizes of u, series replace differences that cancel.
NEAR_GAMMA, NEAR_BETA = 0.05, 0.003


def _rule() -> tuple[tuple[float, ...], tuple[float, ...]]:
    # By Newton's steps on Legendre's polynomial, from the leading term of Tricomi's approximation of its zeros.
    # numpy.polynomial takes milliseconds to import and asks LAPACK, whose threads then take a processor from compilers.
    nodes = np.cos(np.pi * (np.arange(NODES, 0, -1) - 0.25) / (NODES + 0.5))
    for _ in range(4):
        before, value = np.ones(NODES), nodes
        for n in range(1, NODES):
            before, value = value, ((2 * n + 1) * nodes * value - n * before) / (n + 1)
        slope = NODES * (before - nodes * value) / (1 - nodes**2)
        nodes = nodes - value / slope
    return tuple(((nodes + 1) / 2).tolist()), tuple((1 / ((1 - nodes**2) * slope**2)).tolist())


# Nodes and weights of Gauss and Legendre's rule on the interval from 0 to 1.
QUADRATURE = _rule()


class Array(Protocol):
    """What arrays of NumPy, JAX and PyTorch have in common, as far as it is used here."""

    def __add__(self, other: Array | float, /) -> Array: ...

    def __radd__(self, other: float, /) -> Array: ...

    def __sub__(self, other: Array | float, /) -> Array: ...

    def __rsub__(self, other: float, /) -> Array: ...

    def __mul__(self, other: Array | float, /) -> Array: ...

    def __rmul__(self, other: float, /) -> Array: ...

    def __truediv__(self, other: Array | float, /) -> Array: ...

    def __rtruediv__(self, other: float, /) -> Array: ...

    def __neg__(self) -> Array: ...

    __hash__: ClassVar[None]  # type: ignore[assignment]  # as arrays have none

    def __eq__(self, other: object, /) -> Array: ...  # type: ignore[override]  # element by element

    def __le__(self, other: Array | float, /) -> Array: ...

    def __lt__(self, other: Array | float, /) -> Array: ...

    def __getitem__(self, index: object, /) -> Array: ...

    def sum(self, axis: int, /) -> Array: ...


def repeated(step: Callable[[Array], Array], start: Array) -> Array:
    """Take Newton's steps one after another; `jax.lax` has a loop that compiles sooner."""
    for _ in range(NEWTON_STEPS):
        start = step(start)
    return start


def _integral(xp: ModuleType, end: Array, integrand: Callable[[Array], Array]) -> Array:
    """Integrate from 0 to `end`, the nodes along a last dimension."""
    nodes, weights = (end.new_tensor(r) if hasattr(end, "new_tensor") else xp.asarray(r) for r in QUADRATURE)
    products: Array = weights * integrand(end[..., None] * nodes)
    return end * products.sum(-1)


def gamma_tail_integral(xp: ModuleType, k: Array, a: Array, x: Array, repeat: Repeat = repeated) -> Any:
    """Integrate u**k exp(-p(u)) over the lower tail where x <= a, over the upper one elsewhere.

    Parameters
    ----------
    xp
        numpy, jax.numpy or torch.
    k
        The order of the moment: 0, 1 or 2.
    a, x
        Shape and argument, float64; a or x is at least about 1.
    repeat
        Takes a step, and what to start from, and takes the step `NEWTON_STEPS` times.
    """
    side = xp.where(x <= a, 1.0, -1.0)
    slope = xp.abs(a - x)

    def exponent(u: Array, side: Array, slope: Array, x: Array) -> Array:
        v = side * u
        series = v * v * (
            1 / 2 - v * (1 / 6 - v * (1 / 24 - v * (1 / 120 - v * (1 / 720 - v * (1 / 5040 - v * (1 / 40320))))))
        )  # fmt: skip
        excess: Array = xp.where(u < NEAR_GAMMA, series, v + xp.expm1(-v))
        return slope * u + x * excess

    def step(end: Array, side: Array = side, slope: Array = slope, x: Array = x) -> Array:
        steepness: Array = slope - side * x * xp.expm1(-side * end)
        return end - (exponent(end, side, slope, x) - BOUND) / steepness

    end = repeat(step, 2 * BOUND / (slope + xp.sqrt(slope * slope + 2 * BOUND * x)))
    order, side, slope, x = (each[..., None] for each in (k, side, slope, x))

    def integrand(u: Array) -> Array:
        power: Array = xp.where(order == 0, 1.0, xp.where(order == 1, u, u * u))
        height: Array = power * xp.exp(-exponent(u, side, slope, x))
        return height

    return _integral(xp, end, integrand)


def beta_tail_integral(
    xp: ModuleType, j: Array, k: Array, a: Array, b: Array, x: Array, y: Array, repeat: Repeat = repeated
) -> Any:
    """Integrate log(x / t)**j log((1 - t) / (1 - x))**k exp(-p(u)) over the lower tail of a beta density.

    Parameters
    ----------
    xp
        numpy, jax.numpy or torch.
    j, k
        The orders of the moment: 0, 1 or 2.
    a, b
        Shape parameters of at least about 1, float64.
    x, y
        The argument, at most about a / (a + b), and 1 - x.
    repeat
        As for `gamma_tail_integral`.
    """

    def cumulant(q: Array, p: Array, u: Array) -> Array:
        # log(1 + q expm1(u)) - q u
        c = q * p
        series = u * u * (
            c / 2 + u * (c * (p - q) / 6 + u * (c * (1 - 6 * c) / 24 + u * (
                c * (p - q) * (1 - 12 * c) / 120 + u * (c * (1 - 30 * c * (1 - 4 * c)) / 720))))
        )  # fmt: skip
        value: Array = xp.where(xp.abs(u) < NEAR_BETA, series, xp.log1p(q * xp.expm1(u)) - q * u)
        return value

    def exponent(u: Array, a: Array, b: Array, x: Array, y: Array) -> Array:
        return (a * y - b * x) * u + a * cumulant(y, x, u) + b * cumulant(x, y, -u)

    slope = a * y - b * x
    end = 2 * BOUND / (slope + xp.sqrt(slope * slope + 2 * BOUND * (a + b) * x * y))

    def step(end: Array, a: Array = a, b: Array = b, x: Array = x, y: Array = y) -> Array:
        growth: Array = xp.exp(end)
        steepness = (a * y * growth - b * x) / (x + y * growth)
        return end - (exponent(end, a, b, x, y) - BOUND) / steepness

    end = repeat(step, xp.where(end < 700, end, 700.0))
    j, k, a, b, x, y = (each[..., None] for each in (j, k, a, b, x, y))

    def integrand(u: Array) -> Array:
        product: Array = xp.exp(-exponent(u, a, b, x, y))
        for order, weight in ((j, xp.log1p(y * xp.expm1(u))), (k, -xp.log1p(x * xp.expm1(-u)))):
            product = product * xp.where(order == 0, 1.0, xp.where(order == 1, weight, weight * weight))
        return product

    return _integral(xp, end, integrand)
