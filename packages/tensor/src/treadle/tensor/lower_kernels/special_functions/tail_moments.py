"""Moments of the tails of gamma and beta densities, in double: see `treadle.tensor.special_functions.tail_moments`."""

from __future__ import annotations

from treadle.kernels import kernel
from treadle.kernels.language import exp, expm1, log1p, sqrt
from treadle.tensor.linking.scalar_table import SCALAR_KERNELS
from treadle.tensor.special_functions.tail_moments import BOUND, NEAR_BETA, NEAR_GAMMA, NEWTON_STEPS, NODES, QUADRATURE

_NODES, _WEIGHTS = QUADRATURE


@kernel(inline=True)
def gamma_tail_exponent(u: float, side: float, slope: float, x: float) -> float:
    """Return p(u)."""
    v = side * u
    if u >= NEAR_GAMMA:
        return slope * u + x * (v + expm1(-v))
    series = 1 / 120 - v * (1 / 720 - v * (1 / 5040 - v / 40320))
    return slope * u + x * (v * v * (1 / 2 - v * (1 / 6 - v * (1 / 24 - v * series))))


@kernel
def gamma_tail_moment(k: float, a: float, x: float) -> float:
    """Integrate u**k exp(-p(u)) over the tail that x is in."""
    side = 1.0 if x <= a else -1.0
    slope = abs(a - x)
    end = 2 * BOUND / (slope + sqrt(slope * slope + 2 * BOUND * x))
    for i in range(NEWTON_STEPS):  # noqa: B007 - kernels have no _
        end -= (gamma_tail_exponent(end, side, slope, x) - BOUND) / (slope - side * x * expm1(-side * end))
    total = 0.0
    for i in range(NODES):
        u = end * _NODES[i]
        weight = _WEIGHTS[i] * (1.0 if k == 0 else u if k == 1 else u * u)
        total += weight * exp(-gamma_tail_exponent(u, side, slope, x))
    return end * total


@kernel(inline=True)
def tail_cumulant(q: float, p: float, u: float) -> float:
    """Return log(1 + q expm1(u)) - q u."""
    if abs(u) >= NEAR_BETA:
        return log1p(q * expm1(u)) - q * u
    c = q * p
    series = c * (p - q) * (1 - 12 * c) / 120 + u * (c * (1 - 30 * c * (1 - 4 * c)) / 720)
    return u * u * (c / 2 + u * (c * (p - q) / 6 + u * (c * (1 - 6 * c) / 24 + u * series)))


@kernel(inline=True)
def beta_tail_exponent(u: float, a: float, b: float, x: float, y: float) -> float:
    """Return p(u)."""
    return (a * y - b * x) * u + a * tail_cumulant(y, x, u) + b * tail_cumulant(x, y, -u)


@kernel
def beta_tail_moment(j: float, k: float, a: float, b: float, x: float, y: float) -> float:
    """Integrate powers of log(x / t) and log((1 - t) / (1 - x)), times exp(-p(u)), over the lower tail."""
    slope = a * y - b * x
    end = 2 * BOUND / (slope + sqrt(slope * slope + 2 * BOUND * (a + b) * x * y))
    if not end < 700:
        end = 700.0
    for i in range(NEWTON_STEPS):  # noqa: B007 - kernels have no _
        growth = exp(end)
        steepness = (a * y * growth - b * x) / (x + y * growth)
        end -= (beta_tail_exponent(end, a, b, x, y) - BOUND) / steepness
    total = 0.0
    for i in range(NODES):
        u = end * _NODES[i]
        f = log1p(y * expm1(u))
        g = -log1p(x * expm1(-u))
        weight = (1.0 if j == 0 else f if j == 1 else f * f) * (1.0 if k == 0 else g if k == 1 else g * g)
        total += _WEIGHTS[i] * exp(-beta_tail_exponent(u, a, b, x, y)) * weight
    return end * total


SCALAR_KERNELS.register("gamma_tail_moment", {"f": gamma_tail_moment})
SCALAR_KERNELS.register("beta_tail_moment", {"f": beta_tail_moment})
