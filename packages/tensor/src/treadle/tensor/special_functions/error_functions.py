"""Error functions and the normal distribution, with derivatives that hold far out in the tails.

Derivatives there are quotients and differences of numbers that are nearly equal, too large or too small; the repeated
integrals of erfc, scaled by exp(x^2), give them without loss.
"""

from __future__ import annotations

import math
from math import inf, pi
from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.elementwise.arithmetic import abs_, add, maximum, minimum, mul, neg, scaled_by, sign, sub, true_div
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, lt
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.exponential import exp, expm1, log, log1p, sqr, sqrt
from treadle.tensor.special_functions.scipy_special import of_scipy
from treadle.tensor.types.dtype_rules import double_first, single_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.elementwise.scalar_op import Inputs, Terms
    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["erf", "erfc", "erfcinv", "erfcx", "erfinv", "log_ndtr", "ndtr", "ndtri", "ndtri_exp", "owens_t"]

SQRT_2, SQRT_PI = math.sqrt(2), math.sqrt(pi)

# Chebyshev coefficients of (1 + x)^(n + 1) E_n(x) for x >= 0 in t = (x - k) / (x + k), where E_n is exp(x^2) times the
# n-th repeated integral of erfc (DLMF 7.18), after Shepherd and Laframboise, Math. Comp. 36 (1981); computed by mpmath
# with 60 digits. k is 3.5 for n = 0, otherwise 4.
# fmt: off
_E0 = (
    0.7451282665938894, -0.22123885399760876, 0.04223874385472936, 0.001088453069249399, -0.004658721621793558,
    0.002132644863730506, -0.0006024379221564502, 0.00011310946453702674, -1.1417648245002217e-05,
    -5.287151891565807e-07, 3.647655373976123e-07, -3.44721055714216e-08, -6.3173991613880886e-09,
    1.6161453930061555e-09, 6.888389254861625e-11, -5.6788165830023205e-11, 4.966816348272961e-13,
    1.9783592944103816e-12, -6.722772278030638e-14, -7.373277399428228e-14, 2.8220088445987294e-15,
    2.9812941686736105e-15, -6.567258490745324e-17, -1.2826685517285033e-16,
)
_E1 = (
    0.4252517393610409, -0.1629004828872442, 0.009905748228771152, 0.018024700056236045, -0.011351161159054204,
    0.0038707856860461056, -0.0007374851954433777, -1.5144922445907908e-05, 6.746475504105155e-05,
    -2.661042025602609e-05, 5.920893835101045e-06, -6.700436809805038e-07, -3.619011312923571e-08,
    2.7071997113136015e-08, -3.185344704593312e-09, -4.2584992348093084e-10, 1.572159799840684e-10,
    -2.2091773744541607e-12, -5.288598023476443e-12, 4.94181844245274e-13, 1.6193903766389146e-13,
    -2.750234777859659e-14, -5.049891322401182e-15, 1.258078714438266e-15, 1.738023910131736e-16,
    -5.4575160834047074e-17,
)
_E2 = (
    0.22403716598231493, -0.07974829749252646, -0.019267916022954284, 0.02397805046653221, -0.009739344803622384,
    0.001658329294602301, 0.000385758242620144, -0.0003525365178001935, 0.00011187800201625801,
    -1.3969388186066641e-05, -3.4012106826634277e-06, 2.102845588669324e-06, -4.556872789589429e-07,
    2.1734811030347985e-08, 1.3521557240324591e-08, -3.1269673467301116e-09, -6.975964487043438e-11,
    1.3153522746276563e-10, -1.1508022700617056e-11, -4.2403404608680425e-12, 8.059489432913803e-13,
    1.2401890705216714e-13, -4.085169896620777e-14, -3.628513882756135e-15, 1.9093322654572177e-15,
    1.206200994756021e-16, -8.819202499972338e-17, -5.274140037696112e-18,
)
# fmt: on


def chebyshev(t: TensorVariable, coefficients: Sequence[float]) -> TensorVariable:
    """Return a sum of Chebyshev polynomials (Clenshaw's recurrence)."""
    double = mul(t, 2)
    last, before = mul(t, 0), mul(t, 0)
    for c in coefficients[:0:-1]:
        last, before = add(sub(mul(double, last), before), c), last
    return add(sub(mul(t, last), before), coefficients[0])


def _scaled(x: TensorVariable, k: float, coefficients: Sequence[float], power: int) -> TensorVariable:
    """Return a scaled repeated integral of erfc for x >= 0 from its coefficients."""
    # (x - k) / (x + k), which is 1 at infinity too.
    t = sub(1, true_div(2 * k, add(x, k)))
    once = true_div(1, add(x, 1))
    result = chebyshev(t, coefficients)
    for _ in range(power):
        result = mul(result, once)
    return result


def _erfcx(x: TensorVariable) -> TensorVariable:
    right = _scaled(abs_(x), 3.5, _E0, 1)
    return switch(ge(x, 0), right, sub(mul(2, exp(sqr(x))), right))


def _erfcx_1(x: TensorVariable) -> TensorVariable:
    left = sub(1 / SQRT_PI, mul(x, erfcx(x)))
    return switch(gt(x, 0), _scaled(maximum(x, 0), 4, _E1, 2), left)


def _erfcx_2(x: TensorVariable) -> TensorVariable:
    left = mul(0.25, sub(erfcx(x), mul(2, mul(x, erfcx_1(x)))))
    return switch(gt(x, 0), _scaled(maximum(x, 0), 4, _E2, 3), left)


def _log_ndtr(x: TensorVariable) -> TensorVariable:
    t = mul(x, 1 / SQRT_2)
    # Each side gets an operand that the other one's formula stands as well.
    far = sub(log(mul(0.5, erfcx(neg(minimum(t, 0))))), sqr(minimum(t, 0)))
    return switch(lt(x, -1), far, log1p(mul(-0.5, erfc(t))))


def _erfinv(y: TensorVariable) -> TensorVariable:
    """Invert erfc far from 0; near 0 take a step of Newton's method, which gives small numbers all their digits."""
    q = abs_(y)
    x = mul(1 / SQRT_2, ndtri(add(0.5, mul(0.5, minimum(q, 0.5)))))
    near = sub(x, mul(mul(SQRT_PI / 2, exp(sqr(x))), sub(erf(x), q)))
    far = mul(-1 / SQRT_2, ndtri(mul(0.5, sub(1, q))))
    return mul(sign(y), switch(lt(q, 0.5), near, far))


def _ndtri_exp(y: TensorVariable) -> TensorVariable:
    """Invert log_ndtr, for small probabilities by Newton's method from the leading terms of the tail's expansion."""
    tail = minimum(y, -2)
    x = mul(-SQRT_2, sqrt(neg(tail)))
    x = sub(x, true_div(log(mul(-SQRT_2 * SQRT_PI, x)), x))
    for _ in range(4):
        x = sub(x, true_div(sub(log_ndtr(x), tail), inverse_mills_ratio(x)))
    # The derivative is a quotient of infinities at -inf itself.
    x = switch(eq(y, -inf), -inf, x)
    near = maximum(y, -2)
    return switch(lt(y, -2), x, switch(gt(y, -0.01), neg(ndtri(neg(expm1(near)))), ndtri(exp(near))))


def _owens_t(h: TensorVariable, a: TensorVariable) -> TensorVariable:
    """Integrate Owen's formula, for |a| > 1 after the reflection that exchanges h and a h (Owen 1956)."""
    h, slope = abs_(h), abs_(a)
    steep = gt(slope, 1)
    # 0 times infinity counts as 0 here.
    ah = switch(eq(h, 0), 0, switch(eq(slope, 0), 0, mul(h, slope)))
    first = switch(steep, ah, h)
    upper = switch(steep, true_div(1, slope), slope)
    # What lies beyond 9 standard deviations is less than a rounding error of the integral.
    upper = minimum(upper, true_div(9, maximum(first, 1e-3)))
    half = mul(-0.5, sqr(minimum(first, 1e6)))
    total = mul(upper, 0)
    for node, weight in zip(*np.polynomial.legendre.leggauss(32), strict=True):
        squared = add(1, sqr(mul(upper, float(node + 1) / 2)))
        total = add(total, mul(float(weight), true_div(exp(mul(half, squared)), squared)))
    flat = mul(true_div(upper, 4 * pi), total)
    p, q = mul(0.5, erfc(mul(h, 1 / SQRT_2))), mul(0.5, erfc(mul(ah, 1 / SQRT_2)))
    # Of the numbers of one sign on either side this difference is the one that loses nothing.
    crossed = sub(mul(0.5, add(p, q)), add(mul(p, q), flat))
    return mul(sign(a), switch(steep, crossed, flat))


def _owens_t_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    h, a = xs
    by_h = mul(mul(-0.5 / (SQRT_2 * SQRT_PI), exp(mul(-0.5, sqr(h)))), erf(mul(mul(a, h), 1 / SQRT_2)))
    curve = add(1, sqr(a))
    by_a = true_div(exp(mul(-0.5, mul(sqr(h), curve))), mul(2 * pi, curve))
    return mul(ct, by_h), mul(ct, by_a)


erf: Elemwise = elementwise(
    name="erf", nin=1, impl=of_scipy("erf"), dtypes=double_first, monotone="increasing", parity="odd", inverse="erfinv",
    image=(-1, 1), pullback=scaled_by(lambda out, x: mul(2 / SQRT_PI, exp(neg(sqr(x))))), keeps_positive=True,
)  # fmt: skip
erfc: Elemwise = elementwise(
    name="erfc", nin=1, impl=of_scipy("erfc"), dtypes=double_first, monotone="decreasing", inverse="erfcinv",
    image=(0, 2), pullback=scaled_by(lambda out, x: mul(-2 / SQRT_PI, exp(neg(sqr(x))))), nonzero=True,
)  # fmt: skip
# exp(x^2) erfc(x)
erfcx: Elemwise = elementwise(
    name="erfcx", body=_erfcx, impl=of_scipy("erfcx"), dtypes=double_first, monotone="decreasing", image=(0, inf),
    pullback=scaled_by(lambda out, x: mul(-2, erfcx_1(x))), nonzero=True,
)  # fmt: skip
# exp(x^2) times the first and the second repeated integral of erfc, from which derivatives of erfcx are made:
# E_n' = -2 (n + 1) E_(n+1).
erfcx_1: Elemwise = elementwise(
    name="erfcx_1", body=_erfcx_1, monotone="decreasing", image=(0, inf),
    pullback=scaled_by(lambda out, x: mul(-4, erfcx_2(x))), nonzero=True,
)  # fmt: skip
erfcx_2: Elemwise = elementwise(
    name="erfcx_2", body=_erfcx_2, monotone="decreasing", image=(0, inf),
    pullback=scaled_by(lambda out, x: sub(mul(2, mul(x, out)), erfcx_1(x))), nonzero=True,
)  # fmt: skip
erfinv: Elemwise = elementwise(
    name="erfinv", body=_erfinv, impl=of_scipy("erfinv"), dtypes=single_first, monotone="increasing", parity="odd",
    inverse="erf", domain=(-1, 1), pullback=scaled_by(lambda out, x: mul(SQRT_PI / 2, exp(sqr(out)))),
)  # fmt: skip
erfcinv: Elemwise = elementwise(
    name="erfcinv", body=lambda x: mul(-1 / SQRT_2, ndtri(mul(x, 0.5))), impl=of_scipy("erfcinv"), dtypes=single_first,
    monotone="decreasing", inverse="erfc", domain=(0, 2),
    pullback=scaled_by(lambda out, x: mul(-SQRT_PI / 2, exp(sqr(out)))),
)  # fmt: skip
ndtr: Elemwise = elementwise(
    name="ndtr", body=lambda x: mul(0.5, erfc(mul(x, -1 / SQRT_2))), impl=of_scipy("ndtr"), dtypes=double_first,
    monotone="increasing", inverse="ndtri", image=(0, 1),
    pullback=scaled_by(lambda out, x: mul(1 / (SQRT_2 * SQRT_PI), exp(mul(-0.5, sqr(x))))), nonzero=True,
)  # fmt: skip
log_ndtr: Elemwise = elementwise(
    name="log_ndtr", body=_log_ndtr, impl=of_scipy("log_ndtr"), dtypes=double_first, monotone="increasing",
    inverse="ndtri_exp", image=(-inf, 0), pullback=scaled_by(lambda out, x: inverse_mills_ratio(x)),
)  # fmt: skip
# The derivative of log_ndtr: density over distribution function of the normal distribution, r. Its own is -r (x + r).
inverse_mills_ratio: Elemwise = elementwise(
    name="inverse_mills_ratio", body=lambda x: true_div(SQRT_2 / SQRT_PI, erfcx(mul(x, -1 / SQRT_2))),
    monotone="decreasing", image=(0, inf),
    pullback=scaled_by(lambda out, x: neg(mul(out, switch(gt(x, 0), add(x, out), _sum_with_ratio(minimum(x, 0)))))),
    nonzero=True,
)  # fmt: skip
ndtri: Elemwise = elementwise(
    name="ndtri", nin=1, impl=of_scipy("ndtri"), dtypes=single_first, monotone="increasing", inverse="ndtr",
    domain=(0, 1), pullback=scaled_by(lambda out, x: mul(SQRT_2 * SQRT_PI, exp(mul(0.5, sqr(out))))),
)  # fmt: skip
ndtri_exp: Elemwise = elementwise(
    name="ndtri_exp", body=_ndtri_exp, impl=of_scipy("ndtri_exp"), dtypes=single_first, monotone="increasing",
    inverse="log_ndtr", domain=(-inf, 0),
    pullback=scaled_by(lambda out, x: mul(SQRT_PI / SQRT_2, erfcx(mul(out, -1 / SQRT_2)))),
)  # fmt: skip
owens_t = elementwise(
    name="owens_t", body=_owens_t, impl=of_scipy("owens_t"), dtypes=single_first, image=(-0.25, 0.25),
    pullback=_owens_t_terms,
)  # fmt: skip


def _sum_with_ratio(x: TensorVariable) -> TensorVariable:
    """Return x + r for x <= 0, where it is a small difference."""
    t = mul(x, -1 / SQRT_2)
    return mul(SQRT_2, true_div(erfcx_1(t), erfcx(t)))
