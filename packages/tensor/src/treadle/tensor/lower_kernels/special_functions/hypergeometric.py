"""Derivatives of Gauss's hypergeometric function by its parameters, in double."""

from __future__ import annotations

import math

from treadle.kernels import kernel
from treadle.tensor.linking.scalar_table import SCALAR_KERNELS
from treadle.tensor.special_functions.hypergeometric import FAR, MOST_TERMS, START


@kernel(inline=True)
def larger_of(a: float, b: float) -> float:
    """Return the larger number, the second one if either is NaN."""
    if a > b:
        return a
    return b


@kernel
def hyp2f1_series_slope(by: float, a: float, b: float, c: float, z: float, end: float) -> float:
    """Differentiate Gauss's series by a (by = 0) or c, term by term; near 1 continue as the scalar op says."""
    # Up to `turn` a factor may be next to 0, or a divisor, and terms that were small may grow again.
    turn = larger_of(-a, larger_of(-b, -c))
    if not (z >= 0 and end > 0 and turn < MOST_TERMS and a - a == 0 and b - b == 0 and c - c == 0):
        return math.nan
    w = START if z > FAR else z
    term = 1.0
    slope = 0.0
    f = 1.0
    df = 0.0
    s = 0.0
    ds = 0.0
    n = 0.0
    unsettled = True
    while unsettled:
        if n == MOST_TERMS:
            return math.nan
        rest = (b + n) / (c + n) * w / (n + 1)
        slope = (slope * (a + n) + term if by == 0 else (slope - term / (c + n)) * (a + n)) * rest
        term *= (a + n) * rest
        f += term
        df += (n + 1) * term
        s += slope
        ds += (n + 1) * slope
        # A slope may happen to be 0 while the terms go on.
        size = (n + 1) * larger_of(abs(slope), abs(term))
        grows = n < turn or abs((a + n) * rest) >= 1
        unsettled = size > 0 and size < math.inf and (grows or size > 1e-17 * abs(ds))
        n += 1
    if z <= FAR:
        return s
    df /= w
    ds /= w
    left = MOST_TERMS
    away = 1 - w
    while away > end:
        at = 1 - away
        h = away / 2
        if away - end < h:
            h = away - end
        f0 = f
        f1 = df * h
        s0 = s
        s1 = ds * h
        f += f1
        s += s1
        df = f1
        ds = s1
        k = 0.0
        small = 0
        while small < 2:
            if left == 0:
                return math.nan
            left -= 1
            scale = at * away * (k + 1) * (k + 2) / h
            drag = ((2 * away - 1) * k + c - (a + b + 1) * at) * (k + 1)
            pull = (k + a) * (k + b) * h
            own = (k + b) * h * f0 + at * (k + 1) * f1 if by == 0 else -(k + 1) * f1
            f2 = (pull * f0 - drag * f1) / scale
            s2 = (pull * s0 - drag * s1 + own) / scale
            f0 = f1
            f1 = f2
            s0 = s1
            s1 = s2
            f += f1
            df += (k + 2) * f1
            s += s1
            ds += (k + 2) * s1
            # One of them may happen to be 0 while the others go on.
            small = 0 if (k + 2) * larger_of(abs(f1), abs(s1)) > 1e-17 * abs(ds) else small + 1
            k += 1
        df /= h
        ds /= h
        away -= h
    return s


SCALAR_KERNELS.register("hyp2f1_series_slope", {"f": hyp2f1_series_slope})
