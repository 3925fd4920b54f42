"""Gauss's hypergeometric function."""

from __future__ import annotations

import math
from functools import partial
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.elementwise.arithmetic import mul, sign
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, gt, le, lt
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.exponential import exp, log1p
from treadle.tensor.elementwise.logic import and_, or_
from treadle.tensor.elementwise.rounding import floor
from treadle.tensor.elementwise.trigonometric import cos
from treadle.tensor.ops.undefined_gradients import grad_undefined
from treadle.tensor.special_functions.gamma_functions import digamma, gamma, gammaln
from treadle.tensor.special_functions.scipy_special import in_blocks, of_scipy
from treadle.tensor.special_functions.stirling import in_double
from treadle.tensor.types.dtype_rules import double_first

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treadle.tensor.elementwise.scalar_op import Inputs, Terms
    from treadle.tensor.variables.variable import TensorVariable

    Floats = NDArray[np.float64]

__all__ = ["hyp2f1"]

# The largest number of terms of a series.
MOST_TERMS = 100_000
# Beyond the second number the series converges too slowly: it is summed at the first one, and continued from there.
START, FAR = 0.9, 0.99


def _series_slope(by: Floats, a: Floats, b: Floats, c: Floats, z: Floats, away: Floats) -> Floats:
    """Return the derivative by a (by = 0) or c (by = 1) of the series in z, 0 <= z < 1 (DLMF 15.2.1).

    The last operand is 1 - z, which z itself may not resolve any more.
    """
    far = (z > FAR) & (away > 0)
    slope = _sums(by, a, b, c, np.where(far | (z >= 1), 0.0, z))[2]
    if far.any():
        slope[far] = _continued(*(x[far] for x in (by, a, b, c, away)))
    return np.where((z >= 0) & (away > 0), slope, np.nan)


def _sums(by: Floats, a: Floats, b: Floats, c: Floats, z: Floats) -> tuple[Floats, ...]:
    """Return the series, its derivative by z, and the derivatives of both by a parameter, term by term.

    Each term's derivative follows from the term's before and its own, so that no factor is divided by. A series of
    more terms than `MOST_TERMS`, and one of infinite parameters, is NaN.
    """
    term, slope = np.ones_like(z), np.zeros_like(z)
    sums = np.stack([term, slope, slope, slope])
    # Up to there a factor may be next to 0, or a divisor, and terms that were small may grow again.
    turn = np.maximum(np.maximum(-a, -b), -c)
    possible = (turn < MOST_TERMS) & np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    unsettled = possible.copy()
    for n in range(MOST_TERMS):
        if not unsettled.any():
            break
        factor = (b + n) / (c + n) * z / (n + 1)
        slope = np.where(by == 0, slope * (a + n) + term, (slope - term / (c + n)) * (a + n)) * factor
        term = term * (a + n) * factor
        # Each element's sum ends on its own.
        sums = np.where(unsettled, sums + np.stack([term, (n + 1) * term, slope, (n + 1) * slope]), sums)
        # A slope may happen to be 0 while the terms go on.
        size = (n + 1) * np.maximum(np.abs(slope), np.abs(term))
        grows = (n < turn) | (np.abs((a + n) * factor) >= 1)
        unsettled &= (size > 0) & (size < np.inf) & (grows | (size > 1e-17 * np.abs(sums[3])))
    f, df, s, ds = np.where(possible & ~unsettled, sums, np.nan)
    return f, df / z, s, ds / z


def _continued(by: Floats, a: Floats, b: Floats, c: Floats, end: Floats) -> Floats:
    """Return the derivative at a distance from 1, continued with the function in steps of half of it.

    Their Taylor coefficients follow from the differential equation (DLMF 15.10.1), and its derivative by the parameter.
    More of them than `MOST_TERMS` for all steps are NaN.
    """
    f, df, s, ds = _sums(by, a, b, c, np.full_like(end, START))
    away, left = np.full_like(end, 1 - START), np.full(end.shape, MOST_TERMS)
    for _ in range(1100):  # the number of times that a number can be halved
        going = (away > end) & (left > 0)
        if not going.any():
            break
        at = 1 - away
        h = np.where(going, np.minimum(away - end, away / 2), away / 2)
        f0, f1, s0, s1 = f, df * h, s, ds * h
        sums = np.stack([f0 + f1, f1, s0 + s1, s1])
        unsettled, was_small = going, np.zeros_like(going)
        for k in range(MOST_TERMS):
            if not unsettled.any():
                break
            left -= unsettled
            scale, drag = at * away * (k + 1) * (k + 2) / h, ((2 * away - 1) * k + c - (a + b + 1) * at) * (k + 1)
            pull = (k + a) * (k + b) * h
            own = np.where(by == 0, (k + b) * h * f0 + at * (k + 1) * f1, -(k + 1) * f1)
            f0, f1, s0, s1 = f1, (pull * f0 - drag * f1) / scale, s1, (pull * s0 - drag * s1 + own) / scale
            sums = np.where(unsettled, sums + np.stack([f1, (k + 2) * f1, s1, (k + 2) * s1]), sums)
            # One of them may happen to be 0 while the others go on.
            is_small = ~((k + 2) * np.maximum(np.abs(f1), np.abs(s1)) > 1e-17 * np.abs(sums[3]))
            unsettled, was_small = unsettled & ~(is_small & was_small) & (left > 0), is_small
        f, s = (np.where(going, new, old) for new, old in ((sums[0], f), (sums[2], s)))
        df, ds = (np.where(going, new / h, old) for new, old in ((sums[1], df), (sums[3], ds)))
        away = np.where(going, away - h, away)
    return np.where(left > 0, s, np.nan)


def _by_parameter(
    which: int, a: TensorVariable, b: TensorVariable, c: TensorVariable, z: TensorVariable
) -> TensorVariable:
    """Return the derivative by a, b or c: that of the series, below 0 after Pfaff's transformation (DLMF 15.8.1).

    At 1 it is that of Gauss's sum (DLMF 15.4.20).
    """
    return switch(eq(z, 1), _at_one(which, a, b, c), _inside(which, a, b, c, switch(eq(z, 1), 0, z)))


def _whole_below(x: TensorVariable) -> TensorVariable:
    """Whether a number is a pole of the gamma function."""
    return and_(le(x, 0), eq(x, floor(x)))


def _at_one(which: int, a: TensorVariable, b: TensorVariable, c: TensorVariable) -> TensorVariable:
    """Return the derivative by a, b or c of Γ(c) Γ(s) / Γ(c - a) / Γ(c - b), s = c - a - b; NaN where it diverges."""
    s, first, second = c - a - b, c - a, c - b
    value = hyp2f1(a, b, c, 1.0)

    def of_quotient(x: TensorVariable, other: TensorVariable) -> TensorVariable:
        """Return the slope of 1 / Γ(x) times the rest, also at the poles of Γ, where it is (-1)^n n!."""
        pole = _whole_below(x)
        size = switch(pole, 1 - x, 1.0)
        slope = cos(math.pi * (size - 1)) * exp(gammaln(size) + gammaln(c) + gammaln(s) - gammaln(other))
        signs = sign(gamma(c)) * sign(gamma(s)) * sign(gamma(other))
        at_pole = switch(_whole_below(other), 0.0, signs * slope)
        return switch(pole, at_pole, -value * digamma(switch(pole, 1.0, x)))

    by_sum = value * digamma(switch(_whole_below(s), nan, s))
    slopes = (
        -of_quotient(first, second) - by_sum,
        -of_quotient(second, first) - by_sum,
        value * digamma(c) + by_sum + of_quotient(first, second) + of_quotient(second, first),
    )
    # The sum is finite where a or b is such a whole number too, as long as that one stays.
    finite = (_whole_below(b), _whole_below(a), or_(_whole_below(a), _whole_below(b)))[which]
    return switch(or_(gt(s, 0), finite), slopes[which], nan)


def _inside(which: int, a: TensorVariable, b: TensorVariable, c: TensorVariable, z: TensorVariable) -> TensorVariable:
    below = lt(z, 0)
    w, q = switch(below, z / (z - 1), z), switch(below, c - b, b)
    away = switch(below, 1 / (1 - z), 1 - z)
    slopes = {0: (0.0, a, q), 1: (0.0, q, a), 2: (1.0, a, q)}
    by, first, second = slopes[which]
    slope = hyp2f1_series_slope(by, first, second, c, w, away)
    log_factor = log1p(-switch(below, z, 0.0))
    if which == 0:
        return switch(below, exp(-a * log_factor) * slope - log_factor * hyp2f1(a, b, c, z), slope)
    if which == 1:
        return switch(below, -exp(-a * log_factor) * slope, slope)
    other = hyp2f1_series_slope(0.0, q, a, c, w, away)
    return switch(below, exp(-a * log_factor) * (slope + other), slope)


def _terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    a, b, c, z = xs
    by_z = a * b / c * hyp2f1(a + 1, b + 1, c + 1, z)
    return *(mul(ct, by(*xs)) for by in BY_PARAMETER), mul(ct, by_z)


def _slope_terms(which: int, ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    a, b, c, z = xs
    moved = a + 1, b + 1, c + 1, z
    inner = (b / c, a / c, -(a * b) / (c * c))[which]
    by_z = inner * hyp2f1(*moved) + a * b / c * BY_PARAMETER[which](*moved)
    no_second = "there is no second derivative by parameters"
    return *(grad_undefined(BY_PARAMETER[which], k, p, no_second) for k, p in enumerate((a, b, c))), mul(ct, by_z)


hyp2f1: Elemwise = elementwise(name="hyp2f1", nin=4, dtypes=double_first, impl=of_scipy("hyp2f1"), pullback=_terms)
BY_PARAMETER: tuple[Elemwise, ...] = tuple(
    elementwise(
        name=f"hyp2f1_by_{name}", nin=4, dtypes=double_first, body=in_double(partial(_by_parameter, which)),
        pullback=partial(_slope_terms, which),
    )
    for which, name in enumerate("abc")
)  # fmt: skip
hyp2f1_series_slope = elementwise(name="hyp2f1_series_slope", nin=6, dtypes=double_first, impl=in_blocks(_series_slope))
