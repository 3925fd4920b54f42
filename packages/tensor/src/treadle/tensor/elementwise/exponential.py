"""Powers, roots, exponentials and logarithms, and the stable functions built from them."""

from __future__ import annotations

import math
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import alias
from treadle.graph import Infix, Precedence
from treadle.tensor.elementwise.arithmetic import Scaling, add, maximum, mul, neg, sub, true_div
from treadle.tensor.elementwise.cast import as_float, cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, gt
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.types.conversion import uniform_value
from treadle.tensor.types.dtype_rules import quotient_of_one

if TYPE_CHECKING:
    from treadle.tensor.elementwise.scalar_op import Inputs, Terms
    from treadle.tensor.variables.variable import TensorVariable

__all__ = [
    "exp", "exp2", "expit", "expm1", "log", "log1mexp", "log1p", "log1pexp", "log2", "log10", "logaddexp", "power",
    "reciprocal", "sigmoid", "softplus", "sqr", "sqrt", "square",
]  # fmt: skip

LOG_2, LOG_10 = math.log(2), math.log(10)


def _power_terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
    """x**y by x is y x**(y-1); by y it is x**y log x, and 0 where x is 0, as the limit from above."""
    x, y = xs
    fx, fy = as_float(x), as_float(y)
    exponent = uniform_value(y)
    if exponent is not None:
        lower = exponent - 1
        if exponent == 0:
            return zeros_like(ct), None
        return mul(ct, mul(fy, fx if lower == 1 else power(fx, sub(fy, 1)))), None
    by_x = mul(ct, switch(eq(y, 0), zeros_like(out), mul(fy, power(fx, sub(fy, 1)))))
    if y.type.numpy_dtype.kind not in "fc":
        return by_x, None
    # A negative base has a logarithm among complex numbers only.
    base = fx if fx.type.numpy_dtype.kind == "c" else cast(fx, out.dtype)
    safe = switch(eq(fx, 0), base.ones_like(), base)
    by_y = mul(ct, switch(eq(fx, 0), zeros_like(out), mul(out, log(safe))))
    return by_x, by_y


def _sigmoid(x: TensorVariable) -> TensorVariable:
    """Compute 1 / (1 + exp(-x)) from the exponential of -|x|, which cannot overflow."""
    e = exp(-abs(x))
    return true_div(switch(ge(x, 0), 1, e), 1 + e)


# The stable functions in NumPy: their bodies step by step take twice the time on small arrays.


def _numpy_sigmoid(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        e = np.exp(-np.abs(x))
        result: np.ndarray = (np.where(x >= 0, 1, e) / (1 + e)).astype(x.dtype)
    return result


def _numpy_softplus(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        result: np.ndarray = (np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))).astype(x.dtype)
    return result


def _numpy_log1mexp(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        result: np.ndarray = np.where(x > -LOG_2, np.log(-np.expm1(x)), np.log1p(-np.exp(x))).astype(x.dtype)
    return result


exp: Elemwise = elementwise(
    ufunc="exp", monotone="increasing", inverse="log", image=(0, inf),
    pullback=Scaling(lambda ct, out, xs: (mul(ct, out),)), nonzero=True, exponential=True, conjugates=True,
)  # fmt: skip
exp2 = elementwise(
    ufunc="exp2", latex=r"2^{#1}", monotone="increasing", inverse="log2", image=(0, inf),
    pullback=Scaling(lambda ct, out, xs: (mul(ct, mul(out, LOG_2)),)), nonzero=True, exponential=True, conjugates=True,
)  # fmt: skip
expm1 = elementwise(
    ufunc="expm1", monotone="increasing", inverse="log1p", image=(-1, inf),
    pullback=Scaling(lambda ct, out, xs: (mul(ct, add(out, 1)),)), keeps_positive=True, conjugates=True,
)  # fmt: skip
log: Elemwise = elementwise(
    ufunc="log", monotone="increasing", inverse="exp", domain=(0, inf),
    pullback=Scaling(lambda ct, out, xs: (true_div(ct, xs[0]),)),
)  # fmt: skip
log2 = elementwise(
    ufunc="log2", latex=r"\log_{2}\left(#1\right)", monotone="increasing", inverse="exp2", domain=(0, inf),
    pullback=Scaling(lambda ct, out, xs: (true_div(ct, mul(xs[0], LOG_2)),)),
)  # fmt: skip
log10 = elementwise(
    ufunc="log10", latex=r"\log_{10}\left(#1\right)", monotone="increasing", domain=(0, inf),
    pullback=Scaling(lambda ct, out, xs: (true_div(ct, mul(xs[0], LOG_10)),)),
)  # fmt: skip
log1p = elementwise(
    ufunc="log1p", monotone="increasing", inverse="expm1", domain=(-1, inf),
    pullback=Scaling(lambda ct, out, xs: (true_div(ct, add(xs[0], 1)),)), keeps_positive=True,
)  # fmt: skip
sqrt = elementwise(
    ufunc="sqrt", latex=r"\sqrt{#1}", monotone="increasing", inverse="sqr", domain=(0, inf), image=(-0.0, inf),
    pullback=Scaling(lambda ct, out, xs: (true_div(mul(ct, 0.5), out),)), exponent=0.5, keeps_positive=True,
)  # fmt: skip
sqr = elementwise(
    name="sqr", ufunc="square", latex="#1^{2}", cheap=True, parity="even", image=(0, inf), body=lambda x: mul(x, x),
    pullback=Scaling(lambda ct, out, xs: (mul(ct, mul(xs[0], 2)),)), exponent=2, keeps_positive=True, wraps=True,
    conjugates=True,
)  # fmt: skip
# The reciprocal of an integer is a float here: NumPy truncates it to an integer.
reciprocal = elementwise(
    ufunc="reciprocal", latex=r"\frac{1}{#1}", cheap=True, inverse="reciprocal", parity="odd", dtypes=quotient_of_one,
    pullback=Scaling(lambda ct, out, xs: (neg(mul(ct, mul(out, out))),)), exponent=-1, nonzero=True,
    keeps_positive=True, conjugates=True,
)  # fmt: skip
_form = Infix("**", Precedence.POWER, "right", right=Precedence.UNARY).form
power: Elemwise = alias(
    elementwise(name="pow", ufunc="power", form=_form, pullback=Scaling(_power_terms), keeps_positive=True), "power"
)
sigmoid: Elemwise = elementwise(
    name="sigmoid", body=_sigmoid, impl=_numpy_sigmoid, monotone="increasing", image=(0, 1),
    latex=r"\sigma\left(#1\right)",
    pullback=Scaling(lambda ct, out, xs: (mul(ct, mul(out, sub(1, out))),)), nonzero=True,
)  # fmt: skip
# log(1 + exp(x)) in a form that cannot overflow.
softplus = elementwise(
    name="softplus", body=lambda x: maximum(x, 0) + log1p(exp(-abs(x))), impl=_numpy_softplus, monotone="increasing",
    image=(0, inf), pullback=Scaling(lambda ct, out, xs: (mul(ct, sigmoid(xs[0])),)), nonzero=True,
)  # fmt: skip
# log(1 - exp(x)) for x < 0, each formula where it loses nothing (Maechler 2012).
log1mexp = elementwise(
    name="log1mexp", body=lambda x: switch(gt(x, -LOG_2), log(-expm1(x)), log1p(-exp(x))), impl=_numpy_log1mexp,
    monotone="decreasing", inverse="log1mexp", domain=(-inf, 0), image=(-inf, 0),
    # -exp(x) / (1 - exp(x)), which is minus infinity at either zero: there the output is.
    pullback=Scaling(lambda ct, out, xs: (neg(mul(ct, exp(sub(xs[0], out)))),)),
)  # fmt: skip
# Equal operands are computed apart: the difference of equal infinities is NaN.
logaddexp = elementwise(
    ufunc="logaddexp", commutative=True, associative=True, identity=-inf,
    body=lambda x, y: switch(eq(x, y), x + LOG_2, maximum(x, y) + log1p(exp(-abs(x - y)))),
    pullback=Scaling(lambda ct, out, xs: (mul(ct, sigmoid(sub(xs[0], xs[1]))), mul(ct, sigmoid(sub(xs[1], xs[0]))))),
    bound="upper", keeps_positive=True,
)  # fmt: skip

pow_ = alias(power, "pow")
square = alias(sqr, "square")
expit = alias(sigmoid, "expit")
log1pexp = alias(softplus, "log1pexp")
