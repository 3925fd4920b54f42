"""log Γ and digamma of many numbers at once, in double, as loops that compilers vectorize.

From 6 on both are Stirling's series (DLMF 5.11.1 and 5.11.2), its tail fitted in 1 / x². Numbers below are moved to
[1, 3] by the recurrence, where a factor that is exact at the function's zeros (1 and 2; 1.4616...) is split off and the
rest is fitted; numbers between 0 and 1 take one step up. Below 0 the reflection follows, one number at a time.

The polynomials interpolate at Chebyshev's nodes; they were computed with 220 bits.
"""

from __future__ import annotations

import math
from typing import TypeVar

from treadle.kernels import kernel
from treadle.kernels.language import (
    OK,
    Number,
    Pointer,
    bits,
    convert,
    copysign,
    float64,
    from_bits,
    fused,
    independent,
    lgamma,
    local,
    log,
    rint,
    select,
    sin,
    tan,
    unrolled,
)
from treadle.tensor.linking.scalar_table import BLOCK_KERNELS

T = TypeVar("T", bound=Number)
_INF = math.inf
_PI = math.pi
_LARGEST = 1.7976931348623157e308

# log Γ(t + 2) / (t (t + 1)) on [-1, 1], from the constant coefficient on, as all of these.
_LOG_GAMMA = (
    0.42278433509846713, -0.10031730167435421, 0.03296500062115597, -0.012384192193336403, 0.00499864116468036,
    -0.0021081308352055112, 0.0009153769228592748, -0.0004057073767183402, 0.00018255262896164608,
    -8.30953205143401e-05, 3.816898383928977e-05, -1.7660549436859962e-05, 8.221641184688299e-06,
    -3.851628024568635e-06, 1.8101965374589628e-06, -8.417878185566207e-07, 3.982919861909783e-07,
    -2.1160209415295267e-07, 1.0090082501517637e-07, -1.9155798912805917e-08, 8.980752930432223e-09,
    -2.9689377236178223e-08, 1.4354602538691462e-08, 7.546982106044216e-09, -3.670778197486026e-09,
    -3.045083104616406e-09, 1.4756784498205599e-09,
)  # fmt: skip
# ψ(t + 2) / (t + 2 - z) on [-1, 1], with ψ(z) = 0.
_DIGAMMA = (
    0.7853075386041053, -0.2607389546830014, 0.10899991701762841, -0.04955103291766767, 0.023447309597562315,
    -0.011338432553553088, 0.005552254176163854, -0.002739572878878444, 0.001358142115660262, -0.0006753134172771423,
    0.00033643307392409804, -0.00016781485745549608, 8.377541533754836e-05, -4.1847758637407615e-05,
    2.090944279433702e-05, -1.043615113408139e-05, 5.216485445131201e-06, -2.6450069563210817e-06,
    1.322327646207658e-06, -5.878282013270488e-07, 2.938946209899294e-07, -2.5162239592946485e-07,
    1.258090299216334e-07, 4.46741085718643e-08, -2.2337287908168016e-08, -6.628736705562654e-08,
    3.314365249205256e-08, 2.0501183895194647e-08, -1.0250592958849892e-08, -5.4669888399440215e-09,
    2.7334936115473567e-09,
)  # fmt: skip
# x (log Γ(x) - (x - 1/2) log x + x - log(2π) / 2) of 1 / x², for x from 6 on.
_LOG_GAMMA_TAIL = (
    0.08333333333333333, -0.0027777777777734623, 0.0007936507903643918, -0.0005952371351851134, 0.0008416117568838229,
    -0.0019064051561223957, 0.0059015492970323855, -0.016450184918542523,
)  # fmt: skip
# x² (log x - 1 / (2x) - ψ(x)) of 1 / x², for x from 6 on.
_DIGAMMA_TAIL = (
    0.08333333333333333, -0.008333333333329406, 0.0039682539644546435, -0.0041666652417935435, 0.007575487397643495,
    -0.021063611862127792, 0.0814363050587353, -0.3678576332158468, 1.2391679863993024,
)  # fmt: skip
# (2 artanh(s) / s - 2) / s² of s².
_LOG = (
    0.666666666666667, 0.39999999999899505, 0.28571428625975487, 0.2222221113479508, 0.18182889125261723,
    0.15331721600555998, 0.1461644968504386,
)  # fmt: skip


@kernel(inline=True)
def _log_gamma_near(x: float) -> float:
    r = _LOG_GAMMA[26]
    for k in unrolled(range(26)):
        r = fused(r, x, _LOG_GAMMA[25 - k])
    return r


@kernel(inline=True)
def _digamma_near(x: float) -> float:
    r = _DIGAMMA[30]
    for k in unrolled(range(30)):
        r = fused(r, x, _DIGAMMA[29 - k])
    return r


@kernel(inline=True)
def _log_gamma_tail(x: float) -> float:
    r = _LOG_GAMMA_TAIL[7]
    for k in unrolled(range(7)):
        r = fused(r, x, _LOG_GAMMA_TAIL[6 - k])
    return r


@kernel(inline=True)
def _digamma_tail(x: float) -> float:
    r = _DIGAMMA_TAIL[8]
    for k in unrolled(range(8)):
        r = fused(r, x, _DIGAMMA_TAIL[7 - k])
    return r


@kernel(inline=True)
def _moved(x: float) -> int:
    """Return the bits of a number above 0 over √½, made normal: those of the exponent are a whole number then."""
    return bits(select(x < 2.2250738585072014e-308, x * 18014398509481984.0, x)) + 0x95F619980C433


@kernel(inline=True)
def _exponent(x: float) -> float:
    """Return the exponent, by way of the last bits of 2**52."""
    small = select(x < 2.2250738585072014e-308, 54.0, 0.0)
    return from_bits((_moved(x) >> 52) | 0x4330000000000000) - 4503599627371519.0 - small


@kernel(inline=True)
def _fraction(x: float) -> float:
    """Return the number over its power of two, less 1."""
    return from_bits((_moved(x) & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD) - 1.0


@kernel(inline=True)
def _log_rest(f: float) -> float:
    """Return f - log(1 + f)."""
    s = f / (2.0 + f)
    z = s * s
    r = _LOG[6]
    for k in unrolled(range(6)):
        r = fused(r, z, _LOG[5 - k])
    square = 0.5 * f * f
    return square - s * (square + z * r)


@kernel(inline=True)
def logarithm(x: float) -> float:
    """Return log x, for x above 0."""
    e = _exponent(x)
    f = _fraction(x)
    return e * 0.6931471803691238 + (f + (e * 1.9082149292705877e-10 - _log_rest(f)))


@kernel(inline=True)
def _log_high(x: float) -> float:
    """Return the first of two numbers whose sum is log x: its difference to 1 is exact where x is 6 or more."""
    # The product has zeros at its end: those with exponents are exact.
    return _exponent(x) * 0.6931471803691238 + _fraction(x)


@kernel(inline=True)
def _log_low(x: float) -> float:
    """Return the second of the two numbers."""
    e = _exponent(x)
    f = _fraction(x)
    top = e * 0.6931471803691238
    return (top - (top + f) + f) + (e * 1.9082149292705877e-10 - _log_rest(f))


@kernel
def above_gammaln(n: int, x: Pointer[float64], o: Pointer[float64]) -> int:
    """Compute log Γ of up to 64 numbers that are not below 0."""
    near = local(float64, 64)
    high = local(float64, 64)
    low = local(float64, 64)
    some_near = 0
    some_far = 0
    for i in independent(range(n)):
        some_near = max(some_near, select(x[i] >= 6.0, 0, 1))
        some_far = max(some_far, select(x[i] >= 6.0, 1, 0))
    if some_near != 0:
        for i in independent(range(n)):
            v = x[i]
            v1 = v - 1.0
            v2 = v - 2.0
            product = select(v >= 3.0, v1, 1.0)
            y = select(v >= 3.0, v1, v)
            product = select(v >= 4.0, product * v2, product)
            y = select(v >= 4.0, v2, y)
            product = select(v >= 5.0, product * (v - 3.0), product)
            y = select(v >= 5.0, v - 3.0, y)
            t = select(v < 1.0, v1, y - 2.0)
            near[i] = select(v < 1.0, v, y - 1.0) * t * _log_gamma_near(t)
            high[i] = select(v >= 6.0, v, select(v < 1.0, v, product))
    else:
        for i in independent(range(n)):
            high[i] = x[i]
    for i in independent(range(n)):
        v = high[i]
        high[i] = _log_high(v)
        low[i] = _log_low(v)
    if some_near != 0:
        for i in independent(range(n)):
            side = select(x[i] < 1.0, -1.0, 1.0)
            o[i] = select(x[i] == 0.0, _INF, near[i] + side * low[i] + side * high[i])
    if some_far != 0:
        for i in independent(range(n)):
            # Half of it: the whole may overflow on the way.
            half = 0.5 * x[i]
            r = 1.0 / x[i]
            rest = 0.45946926660233636 - 0.25 * (high[i] + low[i]) + 0.5 * r * _log_gamma_tail(r * r)
            value = half * (high[i] - 1.0) + (half * low[i] + rest)
            o[i] = select(x[i] >= 6.0, value + value, o[i])
    return OK


@kernel
def below_gammaln(x: float, above: float) -> float:
    """Return log |Γ(x)| below 0 by reflection (DLMF 5.5.3) where its terms do not cancel. -inf stays, as in SciPy."""
    part = x - rint(x)
    if x == -_INF:
        return x
    if x > -1e-17:
        return above
    if part == 0.0:
        return _INF
    value = log(_PI / abs(x * sin(_PI * part))) - above
    if abs(value) < 0.5 + 0.5 * above:
        return lgamma(x)
    return value


@kernel
def gammaln_block(n: int, x: Pointer[T], o: Pointer[T]) -> int:
    """Compute log |Γ| of numbers."""
    moved = local(float64, 64)
    results = local(float64, 64)
    for i in range(0, n, 64):
        m = min(n - i, 64)
        below = 0
        for k in independent(range(m)):
            v = float(x[i + k])
            moved[k] = select(v < 0.0, -v, v)
            below = max(below, select(v < 0.0, 1, 0))
        above_gammaln(m, moved, results)
        if below != 0:
            for k in range(m):
                if x[i + k] < 0.0:
                    results[k] = below_gammaln(float(x[i + k]), results[k])
        for k in independent(range(m)):
            o[i + k] = convert(T, results[k])
    return OK


@kernel
def above_digamma(n: int, x: Pointer[float64], o: Pointer[float64]) -> int:
    """Compute digamma of up to 64 numbers that are not below 0."""
    some_near = 0
    some_far = 0
    for i in independent(range(n)):
        some_near = max(some_near, select(x[i] >= 6.0, 0, 1))
        some_far = max(some_far, select(x[i] >= 6.0, 1, 0))
    if some_near != 0:
        for i in independent(range(n)):
            v = x[i]
            v1 = v - 1.0
            v2 = v - 2.0
            v3 = v - 3.0
            # The sum of reciprocals that the recurrence adds, as one quotient.
            above = select(v >= 3.0, 1.0, 0.0)
            below = select(v >= 3.0, v1, 1.0)
            y = select(v >= 3.0, v1, v)
            above = select(v >= 4.0, v1 + v2, above)
            below = select(v >= 4.0, v1 * v2, below)
            y = select(v >= 4.0, v2, y)
            above = select(v >= 5.0, above * v3 + below, above)
            below = select(v >= 5.0, below * v3, below)
            y = select(v >= 5.0, v3, y)
            above = select(v < 1.0, -1.0, above)
            below = select(v < 1.0, v, below)
            t = select(v < 1.0, v1, y - 2.0)
            # Less the zero, in two parts.
            first = (v - 0.46163214496836236) + 1.5522348162858677e-17
            factor = select(v < 1.0, first, (y - 1.4616321449683622) - 9.549995429965697e-17)
            o[i] = factor * _digamma_near(t) + above / below
    if some_far != 0:
        for i in independent(range(n)):
            r = 1.0 / x[i]
            square = r * r
            value = _log_high(x[i]) + (_log_low(x[i]) - (0.5 * r + square * _digamma_tail(square)))
            value = select(x[i] > _LARGEST, x[i], value)
            o[i] = select(x[i] >= 6.0, value, o[i])
    return OK


@kernel
def below_digamma(x: float, above: float) -> float:
    """Return digamma below 0 by reflection (DLMF 5.5.4); the cotangent has period 1."""
    part = x - rint(x)
    size = abs(part)
    if part == 0.0 or part != part:
        return _INF - _INF
    cotangent = 1.0 / tan(_PI * size)
    if size > 0.25:
        cotangent = tan(_PI * (0.5 - size))
    return above - copysign(_PI * cotangent, part)


@kernel
def digamma_block(n: int, x: Pointer[T], o: Pointer[T]) -> int:
    """Compute digamma of numbers."""
    moved = local(float64, 64)
    results = local(float64, 64)
    for i in range(0, n, 64):
        m = min(n - i, 64)
        below = 0
        for k in independent(range(m)):
            v = float(x[i + k])
            moved[k] = select(v < 0.0, 1.0 - v, v)
            below = max(below, select(v < 0.0, 1, 0))
        above_digamma(m, moved, results)
        if below != 0:
            for k in range(m):
                if x[i + k] < 0.0:
                    results[k] = below_digamma(float(x[i + k]), results[k])
        for k in independent(range(m)):
            o[i + k] = convert(T, results[k])
    return OK


BLOCK_KERNELS.register("gammaln", {"f": gammaln_block})
BLOCK_KERNELS.register("digamma", {"f": digamma_block})
