"""Functions whose plain formulas divide 0 by 0, or lose their digits on the way: logit, log_expit, exprel, sinc."""

from __future__ import annotations

from math import factorial, inf, pi
from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.elementwise.arithmetic import abs_, add, mul, neg, scaled_by, sub, true_div
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, lt
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.exponential import exp, expm1, log, sigmoid, softplus, sqr
from treadle.tensor.elementwise.trigonometric import arctanh, cos, sin
from treadle.tensor.special_functions.scipy_special import of_scipy
from treadle.tensor.types.dtype_rules import double_first, of_ufunc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor.types.dtype_rules import Operand, Signature
    from treadle.tensor.variables.variable import TensorVariable

    Formula = Callable[[TensorVariable], TensorVariable]

__all__ = ["exprel", "log_expit", "logit", "sinc"]


def _logit(p: TensorVariable) -> TensorVariable:
    """Compute log(p / (1 - p)), near 1/2 from the distance to it, which is exact."""
    near = lt(abs_(sub(p, 0.5)), 0.2)
    return switch(near, mul(2, arctanh(switch(near, sub(mul(2, p), 1), 0))), log(true_div(p, sub(1, p))))


def _power_series(x: TensorVariable, coefficients: Sequence[float]) -> TensorVariable:
    result = add(mul(x, 0), coefficients[-1])
    for c in coefficients[-2::-1]:
        result = add(mul(result, x), c)
    return result


def _near_zero(x: TensorVariable, series: Formula, formula: Formula) -> TensorVariable:
    """Return a series where |x| < 1, the formula elsewhere; neither sees the numbers of the other."""
    near = lt(abs_(x), 1)
    return switch(near, series(switch(near, x, 0)), formula(switch(near, 1, x)))


def _exprel_slope(x: TensorVariable) -> TensorVariable:
    """Compute the derivative of exprel."""
    coefficients = [(k + 1) / factorial(k + 2) for k in range(18)]

    def formula(x: TensorVariable) -> TensorVariable:
        # (exp(x) - exprel(x)) / x; where that is a difference of infinities exprel itself is infinite.
        quotient = exprel(x)
        # The quotient of negated parts is 0 at minus infinity, where the parts themselves would give -0.0.
        return switch(eq(quotient, inf), inf, true_div(sub(quotient, exp(x)), neg(x)))

    return _near_zero(x, lambda x: _power_series(x, coefficients), formula)


def _sinc(x: TensorVariable) -> TensorVariable:
    zero = eq(x, 0)
    u = mul(switch(zero, 1, x), pi)
    return switch(zero, 1, true_div(sin(u), u))


def _sinc_slope(x: TensorVariable) -> TensorVariable:
    """Compute the derivative of sinc."""
    u = mul(x, pi)
    # sin(u) / u is the sum of (-u^2)^k / (2k + 1)!.
    coefficients = [(-1) ** k * 2 * k / factorial(2 * k + 1) for k in range(1, 11)]
    return mul(
        pi,
        _near_zero(
            u,
            lambda u: mul(u, _power_series(sqr(u), coefficients)),
            lambda u: true_div(sub(cos(u), true_div(sin(u), u)), u),
        ),
    )


def _quotient_dtypes(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of numpy.sinc: that of a division."""
    (loop, _), out = of_ufunc("true_divide")((*operands, *operands))
    return (loop,), out


def _numpy_sinc(x: np.ndarray) -> np.ndarray:
    # numpy.sinc rounds pi x to half precision before it takes the sine, which is 0.0003 then at x = 1.
    wide = x.astype("float32") if x.dtype == np.float16 else x
    return np.asarray(np.sinc(wide)).astype(x.dtype)


logit = elementwise(
    name="logit", body=_logit, impl=of_scipy("logit"), dtypes=double_first, monotone="increasing", inverse="sigmoid",
    domain=(0, 1), pullback=scaled_by(lambda out, x: true_div(1, mul(x, sub(1, x)))),
)  # fmt: skip
# The logarithm of 1 / (1 + exp(-x)).
log_expit = elementwise(
    name="log_expit", body=lambda x: neg(softplus(neg(x))), impl=of_scipy("log_expit"), dtypes=double_first,
    monotone="increasing", image=(-inf, 0), pullback=scaled_by(lambda out, x: sigmoid(neg(x))),
)  # fmt: skip
# (exp(x) - 1) / x, and 1 at 0.
exprel: Elemwise = elementwise(
    name="exprel", impl=of_scipy("exprel"), dtypes=double_first, monotone="increasing", image=(0, inf),
    body=lambda x: switch(eq(x, 0), 1, switch(eq(x, inf), inf, true_div(expm1(x), x))),
    pullback=scaled_by(lambda out, x: exprel_slope(x)), nonzero=True,
)  # fmt: skip
exprel_slope: Elemwise = elementwise(
    name="exprel_slope", body=_exprel_slope, monotone="increasing", image=(0, inf), nonzero=True,
)  # fmt: skip
# sin(pi x) / (pi x), and 1 at 0.
sinc: Elemwise = elementwise(
    name="sinc", dtypes=_quotient_dtypes, body=_sinc, impl=_numpy_sinc, parity="even", image=(-0.25, 1),
    pullback=scaled_by(lambda out, x: sinc_slope(x)),
)  # fmt: skip
sinc_slope: Elemwise = elementwise(name="sinc_slope", dtypes=_quotient_dtypes, body=_sinc_slope, parity="odd")
