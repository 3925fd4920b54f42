"""The inverses of erf, erfc and the normal distribution of many numbers at once, in double, as loops.

Of w = -log(1 - y²), erfinv(y) / y is smooth (Giles, "Approximating the erfinv function", 2010): up to 6.25 it is a
polynomial in w, beyond, where |y| is above 0.998, one in √w, or √w times one in 1 / √w. What is taken is
q = 1 - |y|, which is exact next to 1 or is the number given: 1 - y² is q (2 - q).

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
    convert,
    copysign,
    float64,
    fused,
    independent,
    local,
    select,
    sqrt,
    unrolled,
)
from treadle.tensor.linking.scalar_table import BLOCK_KERNELS
from treadle.tensor.lower_kernels.special_functions.gamma_blocks import logarithm

T = TypeVar("T", bound=Number)
_INF = math.inf

# erfinv(y) / y of w / 3.125 - 1 on [-1, 1], from the constant coefficient on, as all of these.
_NEAR = (
    1.6536545626831027, 0.7504943200799635, -0.0589225671037876, -0.022604447453444733, 0.0178083618187569,
    -0.004137314377547895, -0.0012716922769885114, 0.0012324855702994214, -0.00026439358646646055,
    -0.0001168888508125076, 9.336692787624058e-05, -1.5027665773117194e-05, -1.1255653983969421e-05,
    7.12993974314695e-06, -6.87655180725494e-07, -1.0591188098187532e-06, 5.456420572209782e-07,
    -1.0412692841159635e-08, -1.0514990713371436e-07, 3.931511157646558e-08, 9.07207594789291e-09,
    -8.627191009014394e-09, -8.577966939639941e-11, 7.801712199036253e-10,
)  # fmt: skip
# The same of (√w - 3.25) / 0.75, for √w from 2.5 to 4.
_MIDDLE = (
    3.0838856104922208, 0.7539442257706239, 0.00302113943638407, -0.0015825410894034398, 0.0007883078509981353,
    -0.0004006356984211825, 0.00016966502592018017, -4.739182677882865e-05, 2.4058391918338327e-06,
    5.127314470348767e-06, -2.6646983082852556e-06, 5.264680305425013e-07, 9.267642775523117e-08,
    -9.46984593753811e-08, 2.6703991718481456e-08, -3.6086983146965074e-10, -2.7195823537882847e-09,
    9.85047133124713e-10, 3.929056598182976e-12, -6.385846404875191e-11,
)  # fmt: skip
# The same of (√w - 5.125) / 1.125, for √w from 4 to 6.25.
_UPPER = (
    4.9761913900163, 1.136538310487248, -0.00026907124687057467, -0.00025620231248083295, 0.0001036220854358061,
    -2.989552717856327e-05, 7.597413160639545e-06, -1.816001959002361e-06, 4.345350698959379e-07,
    -1.198554126555917e-07, 4.699179286968535e-08, -2.5718269668830446e-08, 1.5051990482103263e-08,
    -7.803498646610852e-09, 3.731842200065345e-09, -1.7881742952614478e-09, 5.040789403663011e-10,
    1.0848391448369056e-10, -8.248809479767542e-11,
)  # fmt: skip
# erfinv(y) / (y √w) of 1 / √w, moved to [-1, 1], for √w from 6.25 to 12.
_FAR = (
    0.9852489499855984, -0.006980256993031923, -0.00037287712006222267, 7.527368072436773e-05,
    -6.240906417708069e-06, 7.376896687412513e-07, -1.196983753926849e-07, 2.181038505435958e-08,
    -4.293747384215488e-09, 9.01980338341889e-10, -1.988828681296016e-10, 4.4383323690895e-11,
    -1.0461351777842221e-11, 3.317715373662009e-12, -8.278896130465287e-13,
)  # fmt: skip
# The same for √w from 12 to 28: as far as there are numbers.
_END = (
    0.9952096581411035, -0.003126421412533367, -0.0003434464250385767, 3.7404640124849716e-05, -3.7678527914843e-06,
    6.024802645572246e-07, -1.2117293836662364e-07, 2.769840724427794e-08, -6.921341134254224e-09,
    1.8441858824552564e-09, -5.162003094575041e-10, 1.5183387370217414e-10, -4.560261344570468e-11,
    1.2208944064642772e-11, -3.800756827054761e-12, 2.2559611111509595e-12, -7.421765366980785e-13,
)  # fmt: skip


@kernel(inline=True)
def _near(x: float) -> float:
    """Even part and odd part: each step waits for the last, and these do not."""
    square = x * x
    odd = _NEAR[23]
    even = _NEAR[22]
    for k in unrolled(range(11)):
        odd = fused(odd, square, _NEAR[21 - 2 * k])
        even = fused(even, square, _NEAR[20 - 2 * k])
    return fused(odd, x, even)


@kernel(inline=True)
def _middle(x: float) -> float:
    r = _MIDDLE[19]
    for k in unrolled(range(19)):
        r = fused(r, x, _MIDDLE[18 - k])
    return r


@kernel(inline=True)
def _upper(x: float) -> float:
    r = _UPPER[18]
    for k in unrolled(range(18)):
        r = fused(r, x, _UPPER[17 - k])
    return r


@kernel(inline=True)
def _far(x: float) -> float:
    r = _FAR[14]
    for k in unrolled(range(14)):
        r = fused(r, x, _FAR[13 - k])
    return r


@kernel(inline=True)
def _end(x: float) -> float:
    r = _END[16]
    for k in unrolled(range(16)):
        r = fused(r, x, _END[15 - k])
    return r


@kernel
def erfinv_by(n: int, y: Pointer[float64], q: Pointer[float64], o: Pointer[float64]) -> int:
    """Compute erfinv(y) from y and q = 1 - |y| of up to 64 numbers: infinite where q is 0, NaN below."""
    w = local(float64, 64)
    some_tails = 0
    some_far = 0
    for i in independent(range(n)):
        w[i] = select(q[i] > 0.0, -logarithm(q[i] * (2.0 - q[i])), _INF)
    for i in independent(range(n)):
        v = w[i]
        o[i] = y[i] * _near(v * 0.32 - 1.0)
        some_tails = max(some_tails, select(v <= 6.25, 0, 1))
        some_far = max(some_far, select(v <= 39.0625, 0, 1))
    if some_tails != 0:
        for i in independent(range(n)):
            s = sqrt(w[i])
            upper = _upper((s - 5.125) * (1.0 / 1.125))
            result = y[i] * select(s < 4.0, _middle((s - 3.25) * (1.0 / 0.75)), upper)
            o[i] = select(w[i] > 6.25, result, o[i])
    if some_far != 0:
        for i in independent(range(n)):
            s = sqrt(w[i])
            r = 1.0 / s
            end = _end((r - 0.05952380952380952) * 42.0)
            result = y[i] * s * select(s < 12.0, _far((r - 0.12166666666666667) * 26.08695652173913), end)
            edge = select(q[i] == 0.0, copysign(_INF, y[i]), _INF - _INF)
            o[i] = select(w[i] <= 39.0625, o[i], select(q[i] > 0.0, result, edge))
    return OK


@kernel
def erfinv_block(n: int, x: Pointer[T], o: Pointer[T]) -> int:
    """Compute erfinv of numbers. Zeros are signed as SciPy's."""
    y = local(float64, 64)
    q = local(float64, 64)
    r = local(float64, 64)
    for i in range(0, n, 64):
        m = min(n - i, 64)
        for k in independent(range(m)):
            v = float(x[i + k])
            y[k] = v
            q[k] = 1.0 - abs(v)
        erfinv_by(m, y, q, r)
        for k in independent(range(m)):
            o[i + k] = convert(T, r[k] + 0.0)
    return OK


@kernel
def erfcinv_block(n: int, x: Pointer[T], o: Pointer[T]) -> int:
    """Compute erfcinv of numbers."""
    y = local(float64, 64)
    q = local(float64, 64)
    r = local(float64, 64)
    for i in range(0, n, 64):
        m = min(n - i, 64)
        for k in independent(range(m)):
            v = float(x[i + k])
            y[k] = -(v - 1.0)
            q[k] = select(v <= 1.0, v, 2.0 - v)
        erfinv_by(m, y, q, r)
        for k in independent(range(m)):
            o[i + k] = convert(T, r[k])
    return OK


@kernel
def ndtri_block(n: int, x: Pointer[T], o: Pointer[T]) -> int:
    """Compute the inverse of the normal distribution function of numbers."""
    y = local(float64, 64)
    q = local(float64, 64)
    r = local(float64, 64)
    for i in range(0, n, 64):
        m = min(n - i, 64)
        for k in independent(range(m)):
            v = float(x[i + k])
            y[k] = 2.0 * v - 1.0
            q[k] = 2.0 * select(v <= 0.5, v, 1.0 - v)
        erfinv_by(m, y, q, r)
        for k in independent(range(m)):
            o[i + k] = convert(T, 1.4142135623730951 * r[k])
    return OK


BLOCK_KERNELS.register("erfinv", {"f": erfinv_block})
BLOCK_KERNELS.register("erfcinv", {"f": erfcinv_block})
BLOCK_KERNELS.register("ndtri", {"f": ndtri_block})
