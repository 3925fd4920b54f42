"""Arithmetic: sums, products, quotients, signs, extrema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Infix, Precedence, Prefix
from treadle.tensor.broadcasting import zeros_like
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.scalar.cast import as_float, switch
from treadle.tensor.scalar.comparison import eq, gt, lt
from treadle.tensor.scalar_op import ScalarOp, of_ufunc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable

    Terms = Sequence[Variable | None]


def _div_terms(ct: Any, out: Any, xs: Any) -> Terms:
    y = as_float(xs[1])
    return true_div(ct, y), neg(true_div(mul(ct, out), y))


def _mod_terms(ct: Any, out: Any, xs: Any) -> Terms:
    del out
    return ct, neg(mul(ct, floor_div(xs[0], xs[1])))


def _abs_terms(ct: Any, out: Any, xs: Any) -> Terms:
    del out
    return (mul(ct, sign(xs[0])),)


def _sign_terms(ct: Any, out: Any, xs: Any) -> Terms:
    """0 for real numbers and at 0; elsewhere z / |z| can only turn, so the cotangent's part along it is lost."""
    z = xs[0]
    if z.type.numpy_dtype.kind != "c":
        return (zeros_like(ct),)
    zero = eq(z, 0)
    across = sub(ct, mul(out, mul(out.conj(), ct).real))
    return (switch(zero, 0, true_div(across, switch(zero, 1, abs_(z)))),)


def _share(ct: Any, takes: Any, tie: Any) -> Any:
    """Give the cotangent to the operand that wins, half of it where the two are equal."""
    return switch(takes, ct, switch(tie, mul(ct, 0.5), zeros_like(ct)))


def _maximum_terms(ct: Any, out: Any, xs: Any) -> Terms:
    del out
    x, y = xs
    tie = eq(x, y)
    return _share(ct, gt(x, y), tie), _share(ct, lt(x, y), tie)


def _minimum_terms(ct: Any, out: Any, xs: Any) -> Terms:
    del out
    x, y = xs
    tie = eq(x, y)
    return _share(ct, lt(x, y), tie), _share(ct, gt(x, y), tie)


add: Elemwise = Elemwise(
    ScalarOp(
        "add",
        2,
        of_ufunc("add"),
        np.add,
        {"fiu": "{0} + {1}", "b": "{0} || {1}"},
        lambda ct, out, xs: (ct, ct),
        ufunc="add",
        commutative=True,
        associative=True,
        identity=0,
        form=Infix("+", Precedence.SUM).form,
    )
)
sub: Elemwise = Elemwise(
    ScalarOp(
        "sub",
        2,
        of_ufunc("subtract"),
        np.subtract,
        {"fiu": "{0} - {1}"},
        lambda ct, out, xs: (ct, neg(ct)),
        ufunc="subtract",
        form=Infix("-", Precedence.SUM).form,
    )
)
mul: Elemwise = Elemwise(
    ScalarOp(
        "mul",
        2,
        of_ufunc("multiply"),
        np.multiply,
        {"fiu": "{0} * {1}", "b": "{0} && {1}"},
        lambda ct, out, xs: (mul(ct, xs[1]), mul(ct, xs[0])),
        ufunc="multiply",
        commutative=True,
        associative=True,
        identity=1,
        form=Infix("*", Precedence.PRODUCT).form,
    )
)
true_div: Elemwise = Elemwise(
    ScalarOp(
        "true_div",
        2,
        of_ufunc("true_divide"),
        np.true_divide,
        {"f": "{0} / {1}"},
        _div_terms,
        ufunc="true_divide",
        cost=4,
        form=Infix("/", Precedence.PRODUCT).form,
    )
)
floor_div: Elemwise = Elemwise(
    ScalarOp(
        "floor_div",
        2,
        of_ufunc("floor_divide"),
        np.floor_divide,
        {"fiu": "tr_floor_div_{t}({0}, {1})"},
        lambda ct, out, xs: (zeros_like(ct), zeros_like(ct)),
        ufunc="floor_divide",
        discrete=True,
        cost=8,
        form=Infix("//", Precedence.PRODUCT).form,
    )
)
mod: Elemwise = Elemwise(
    ScalarOp(
        "mod",
        2,
        of_ufunc("remainder"),
        np.remainder,
        {"fiu": "tr_mod_{t}({0}, {1})"},
        _mod_terms,
        ufunc="remainder",
        cost=8,
        form=Infix("%", Precedence.PRODUCT).form,
    )
)
neg: Elemwise = Elemwise(
    ScalarOp(
        "neg",
        1,
        of_ufunc("negative"),
        np.negative,
        {"fiu": "-{0}"},
        lambda ct, out, xs: (neg(ct),),
        ufunc="negative",
        form=Prefix("-").form,
    )
)
sign: Elemwise = Elemwise(
    ScalarOp(
        "sign",
        1,
        of_ufunc("sign"),
        np.sign,
        {"f": "{0} > 0 ? 1 : {0} < 0 ? -1 : {0} == 0 ? 0 : {0}", "i": "({0} > 0) - ({0} < 0)", "u": "{0} > 0"},
        _sign_terms,
        ufunc="sign",
        idempotent=True,
        discrete=True,
        holomorphic=False,
    )
)
abs_: Elemwise = Elemwise(
    ScalarOp(
        "abs",
        1,
        of_ufunc("absolute"),
        np.absolute,
        {"f": "fabs{s}({0})", "i": "{0} < 0 ? -{0} : {0}", "ub": "{0}"},
        _abs_terms,
        ufunc="absolute",
        idempotent=True,
        holomorphic=False,
    )
)
# NumPy's maximum and minimum return a NaN if either operand is one.
maximum: Elemwise = Elemwise(
    ScalarOp(
        "maximum",
        2,
        of_ufunc("maximum"),
        np.maximum,
        {"f": "({0} > {1} || {0} != {0}) ? {0} : {1}", "iub": "{0} > {1} ? {0} : {1}"},
        _maximum_terms,
        ufunc="maximum",
        commutative=True,
        associative=True,
    )
)
minimum: Elemwise = Elemwise(
    ScalarOp(
        "minimum",
        2,
        of_ufunc("minimum"),
        np.minimum,
        {"f": "({0} < {1} || {0} != {0}) ? {0} : {1}", "iub": "{0} < {1} ? {0} : {1}"},
        _minimum_terms,
        ufunc="minimum",
        commutative=True,
        associative=True,
    )
)

int_div = floor_div
negative = neg


def clip(x: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """Limit a tensor's values to an interval (as numpy.clip); None leaves a side open.

    Where a value lies on a bound, half of the gradient flows to each.
    """
    low = x if a_min is None else maximum(x, a_min)
    return low if a_max is None else minimum(low, a_max)


def divmod_(x: Any, y: Any) -> tuple[Any, Any]:
    """Return quotient and remainder (as divmod)."""
    return floor_div(x, y), mod(x, y)
