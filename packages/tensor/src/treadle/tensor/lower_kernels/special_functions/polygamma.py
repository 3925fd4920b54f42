"""Derivatives of digamma, in double."""

from __future__ import annotations

import math

from treadle.kernels import kernel
from treadle.kernels.language import ceil, floor, power, sin, special
from treadle.tensor.linking.scalar_table import SCALAR_KERNELS

# The coefficients of Euler and Maclaurin's sum: Bernoulli's numbers over factorials.
_SUMMED = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000, -174611 / 802857662698291200000,
)  # fmt: skip


@kernel
def tri_gamma(x: float) -> float:
    """Shift up by the recurrence, then sum the asymptotic series (DLMF 5.15.1 and 5.15.8); 5.15.6 below 0."""
    q = 1 - x if x <= 0 else x
    total = 0.0
    while q < 12:
        total += 1 / (q * q)
        q += 1
    r = 1 / (q * q)
    series = 1 / 30 - r * (5 / 66 - r * (691 / 2730 - r * 7 / 6))
    total += (1 + 0.5 / q + r * (1 / 6 - r * (1 / 30 - r * (1 / 42 - r * series)))) / q
    if not x <= 0:
        return total
    # Next to a pole the distance to it, which is exact.
    rest = x - floor(x)
    if rest > 0.5:
        rest = ceil(x) - x
    if rest == 0 or x == -math.inf:
        return math.inf
    sine = sin(math.pi * rest)
    return math.pi * math.pi / (sine * sine) - total


@kernel
def hurwitz_zeta(s: float, q: float) -> float:
    """Sum by Euler and Maclaurin from 12 on (DLMF 25.11.7 at a = 0)."""
    total = 0.0
    while q < 12:
        total += power(q, -s)
        q += 1
    if q == math.inf:
        return total
    last = power(q, -s)
    total += power(q, 1 - s) / (s - 1) + last * 0.5
    factor = s * last / q
    for k in range(10):
        total += _SUMMED[k] * factor
        factor *= (s + float(2 * k + 1)) * (s + float(2 * k + 2)) / (q * q)
    return total


@kernel
def polygamma(n: float, x: float) -> float:
    """Take Hurwitz's zeta function (DLMF 25.11.12); below 0 its sum over both sides, which has period 1."""
    if n == 0:
        return special.psi(x)
    if not (n >= 1 and n < math.inf) or n != floor(n) or x != x:
        return math.nan
    s = n + 1
    sign = power(-1.0, s)
    if x > 0:
        return sign * special.gamma(s) * hurwitz_zeta(s, x)
    # The distances to both poles, which are exact next to them; between them the largest terms may cancel.
    rest = x - floor(x)
    other = ceil(x) - x
    if rest == 0 or x == -math.inf:
        return sign * math.inf
    nearest = power(rest, -s) + sign * power(other, -s)
    further = (hurwitz_zeta(s, 1 + rest) + sign * hurwitz_zeta(s, 1 + other)) - sign * hurwitz_zeta(s, 1 - x)
    return sign * special.gamma(s) * (nearest + further)


SCALAR_KERNELS.register("tri_gamma", {"f": tri_gamma})
SCALAR_KERNELS.register("polygamma", {"f": polygamma})
