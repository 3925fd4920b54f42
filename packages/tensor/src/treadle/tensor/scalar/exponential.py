"""Powers, roots, exponentials and logarithms, and the stable functions built from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Infix, Precedence
from treadle.tensor.broadcasting import zeros_like
from treadle.tensor.conversion import uniform_value
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.scalar.arithmetic import add, mul, neg, sub, true_div
from treadle.tensor.scalar.cast import as_float, cast, switch
from treadle.tensor.scalar.comparison import eq
from treadle.tensor.scalar_op import ScalarOp, float_like, of_ufunc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable

    Terms = Sequence[Variable | None]

LOG_2 = float(np.log(2.0))
LOG_10 = float(np.log(10.0))
_LOGADDEXP = (
    "({0} == {1} ? {0} + 0.6931471805599453 : {0} - {1} != {0} - {1} ? {0} - {1} : "
    "({0} > {1} ? {0} : {1}) + log1p{s}(exp{s}(-fabs{s}({0} - {1}))))"
)


def _power_terms(ct: Any, out: Any, xs: Any) -> Terms:
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


def _sigmoid(x: Any) -> Any:
    """Compute 1 / (1 + exp(-x)) from the exponential of -|x|, which cannot overflow."""
    with np.errstate(all="ignore"):
        e = np.exp(-np.abs(x))
        return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(x.dtype)


def _softplus(x: Any) -> Any:
    """Compute log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|)), which cannot overflow."""
    with np.errstate(all="ignore"):
        return (np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))).astype(x.dtype)


def _log1mexp(x: Any) -> Any:
    """Compute log(1 - exp(x)) for x < 0: log(-expm1(x)) near zero, log1p(-exp(x)) below -log 2 (Maechler 2012)."""
    with np.errstate(all="ignore"):
        return np.where(x > -LOG_2, np.log(-np.expm1(x)), np.log1p(-np.exp(x))).astype(x.dtype)


exp: Elemwise = Elemwise(
    ScalarOp(
        "exp",
        1,
        of_ufunc("exp"),
        np.exp,
        {"f": "exp{s}({0})"},
        lambda ct, out, xs: (mul(ct, out),),
        ufunc="exp",
        cost=20,
    )
)
exp2: Elemwise = Elemwise(
    ScalarOp(
        "exp2",
        1,
        of_ufunc("exp2"),
        np.exp2,
        {"f": "exp2{s}({0})"},
        lambda ct, out, xs: (mul(ct, mul(out, LOG_2)),),
        ufunc="exp2",
        cost=20,
    )
)
expm1: Elemwise = Elemwise(
    ScalarOp(
        "expm1",
        1,
        of_ufunc("expm1"),
        np.expm1,
        {"f": "expm1{s}({0})"},
        lambda ct, out, xs: (mul(ct, add(out, 1)),),
        ufunc="expm1",
        cost=25,
    )
)
log: Elemwise = Elemwise(
    ScalarOp(
        "log",
        1,
        of_ufunc("log"),
        np.log,
        {"f": "log{s}({0})"},
        lambda ct, out, xs: (true_div(ct, xs[0]),),
        ufunc="log",
        cost=20,
    )
)
log2: Elemwise = Elemwise(
    ScalarOp(
        "log2",
        1,
        of_ufunc("log2"),
        np.log2,
        {"f": "log2{s}({0})"},
        lambda ct, out, xs: (true_div(ct, mul(xs[0], LOG_2)),),
        ufunc="log2",
        cost=20,
    )
)
log10: Elemwise = Elemwise(
    ScalarOp(
        "log10",
        1,
        of_ufunc("log10"),
        np.log10,
        {"f": "log10{s}({0})"},
        lambda ct, out, xs: (true_div(ct, mul(xs[0], LOG_10)),),
        ufunc="log10",
        cost=20,
    )
)
log1p: Elemwise = Elemwise(
    ScalarOp(
        "log1p",
        1,
        of_ufunc("log1p"),
        np.log1p,
        {"f": "log1p{s}({0})"},
        lambda ct, out, xs: (true_div(ct, add(xs[0], 1)),),
        ufunc="log1p",
        cost=25,
    )
)
sqrt: Elemwise = Elemwise(
    ScalarOp(
        "sqrt",
        1,
        of_ufunc("sqrt"),
        np.sqrt,
        {"f": "sqrt{s}({0})"},
        lambda ct, out, xs: (true_div(mul(ct, 0.5), out),),
        ufunc="sqrt",
        cost=6,
    )
)
sqr: Elemwise = Elemwise(
    ScalarOp(
        "sqr",
        1,
        of_ufunc("square"),
        np.square,
        {"fiu": "{0} * {0}", "b": "{0}"},
        lambda ct, out, xs: (mul(ct, mul(xs[0], 2)),),
        ufunc="square",
    )
)
reciprocal: Elemwise = Elemwise(
    ScalarOp(
        "reciprocal",
        1,
        of_ufunc("reciprocal"),
        np.reciprocal,
        {"f": "1 / {0}", "iu": "tr_reciprocal_{t}({0})"},
        lambda ct, out, xs: (neg(mul(ct, mul(out, out))),),
        ufunc="reciprocal",
        cost=4,
    )
)
power: Elemwise = Elemwise(
    ScalarOp(
        "pow",
        2,
        of_ufunc("power"),
        np.power,
        {"f": "pow{s}({0}, {1})", "iu": "tr_pow_{t}({0}, {1})"},
        _power_terms,
        ufunc="power",
        cost=40,
        form=Infix("**", Precedence.POWER, "right", right=Precedence.UNARY).form,
    )
)
sigmoid: Elemwise = Elemwise(
    ScalarOp(
        "sigmoid",
        1,
        float_like,
        _sigmoid,
        {"f": "({0} >= 0 ? 1 / (1 + exp{s}(-{0})) : exp{s}({0}) / (1 + exp{s}({0})))"},
        lambda ct, out, xs: (mul(ct, mul(out, sub(1, out))),),
        cost=25,
    )
)
softplus: Elemwise = Elemwise(
    ScalarOp(
        "softplus",
        1,
        float_like,
        _softplus,
        {"f": "(({0} > 0 ? {0} : 0) + log1p{s}(exp{s}(-fabs{s}({0}))))"},
        lambda ct, out, xs: (mul(ct, sigmoid(xs[0])),),
        cost=45,
    )
)
log1mexp: Elemwise = Elemwise(
    ScalarOp(
        "log1mexp",
        1,
        float_like,
        _log1mexp,
        {"f": "({0} > -0.6931471805599453 ? log{s}(-expm1{s}({0})) : log1p{s}(-exp{s}({0})))"},
        # -exp(x) / (1 - exp(x)), which is minus infinity at either zero: there the output is.
        lambda ct, out, xs: (neg(mul(ct, exp(sub(xs[0], out)))),),
        cost=45,
    )
)
logaddexp: Elemwise = Elemwise(
    ScalarOp(
        "logaddexp",
        2,
        of_ufunc("logaddexp"),
        np.logaddexp,
        {"f": _LOGADDEXP},
        lambda ct, out, xs: (mul(ct, sigmoid(sub(xs[0], xs[1]))), mul(ct, sigmoid(sub(xs[1], xs[0])))),
        ufunc="logaddexp",
        commutative=True,
        associative=True,
        cost=45,
    )
)

pow_, square, expit, log1pexp = power, sqr, sigmoid, softplus
