"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

from math import inf, pi
from typing import TYPE_CHECKING

from treadle.config import alias
from treadle.tensor.elementwise.arithmetic import add, mul, neg, scaled_by, sub, true_div
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.exponential import sqr, sqrt
from treadle.tensor.elementwise.scalar_op import ScalarOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorVariable

__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "rad2deg",
    "radians",
    "sin",
    "sinh",
    "tan",
    "tanh",
]

DEGREE = pi / 180


def _arctan2_terms(ct: TensorVariable, out: TensorVariable, xs: Sequence[TensorVariable]) -> Sequence[Variable]:
    del out
    y, x = xs
    size = add(sqr(y), sqr(x))
    return mul(ct, true_div(x, size)), neg(mul(ct, true_div(y, size)))


sin: Elemwise = Elemwise(
    ScalarOp(ufunc="sin", parity="odd", image=(-1, 1), conjugates=True, pullback=scaled_by(lambda out, x: cos(x)))
)
cos: Elemwise = Elemwise(
    ScalarOp(ufunc="cos", parity="even", image=(-1, 1), conjugates=True, pullback=scaled_by(lambda out, x: neg(sin(x))))
)
tan = Elemwise(
    ScalarOp(ufunc="tan", parity="odd", conjugates=True, pullback=scaled_by(lambda out, x: add(1, sqr(out))))
)
arcsin = Elemwise(
    ScalarOp(
        ufunc="arcsin", parity="odd", monotone="increasing", inverse="sin", domain=(-1, 1), image=(-pi / 2, pi / 2),
        pullback=scaled_by(lambda out, x: true_div(1, sqrt(sub(1, sqr(x))))),
    )
)  # fmt: skip
arccos = Elemwise(
    ScalarOp(
        ufunc="arccos", monotone="decreasing", inverse="cos", domain=(-1, 1), image=(0, pi),
        pullback=scaled_by(lambda out, x: true_div(-1, sqrt(sub(1, sqr(x))))),
    )
)  # fmt: skip
arctan = Elemwise(
    ScalarOp(
        ufunc="arctan", parity="odd", monotone="increasing", inverse="tan", image=(-pi / 2, pi / 2),
        keeps_positive=True,
        pullback=scaled_by(lambda out, x: true_div(1, add(1, sqr(x)))),
    )
)  # fmt: skip
sinh: Elemwise = Elemwise(
    ScalarOp(
        ufunc="sinh", parity="odd", monotone="increasing", inverse="arcsinh", keeps_positive=True, conjugates=True,
        pullback=scaled_by(lambda out, x: cosh(x)),
    )
)  # fmt: skip
cosh: Elemwise = Elemwise(
    ScalarOp(
        ufunc="cosh", parity="even", image=(1, inf), nonzero=True, conjugates=True,
        pullback=scaled_by(lambda out, x: sinh(x)),
    )
)  # fmt: skip
tanh = Elemwise(
    ScalarOp(
        ufunc="tanh", parity="odd", monotone="increasing", inverse="arctanh", image=(-1, 1), keeps_positive=True,
        conjugates=True,
        pullback=scaled_by(lambda out, x: sub(1, sqr(out))),
    )
)  # fmt: skip
arcsinh = Elemwise(
    ScalarOp(
        ufunc="arcsinh", parity="odd", monotone="increasing", inverse="sinh", keeps_positive=True,
        pullback=scaled_by(lambda out, x: true_div(1, sqrt(add(sqr(x), 1)))),
    )
)  # fmt: skip
arccosh = Elemwise(
    ScalarOp(
        ufunc="arccosh", monotone="increasing", inverse="cosh", domain=(1, inf), image=(0, inf),
        pullback=scaled_by(lambda out, x: true_div(1, mul(sqrt(sub(x, 1)), sqrt(add(x, 1))))),
    )
)  # fmt: skip
arctanh = Elemwise(
    ScalarOp(
        ufunc="arctanh", parity="odd", monotone="increasing", inverse="tanh", domain=(-1, 1),
        pullback=scaled_by(lambda out, x: true_div(1, sub(1, sqr(x)))),
    )
)  # fmt: skip
deg2rad = Elemwise(
    ScalarOp(
        cheap=True, ufunc="deg2rad", parity="odd", monotone="increasing", inverse="rad2deg", linear=(0,),
        keeps_positive=True, body=lambda x: x * DEGREE,
    )
)  # fmt: skip
rad2deg = Elemwise(
    ScalarOp(
        cheap=True,
        ufunc="rad2deg",
        parity="odd",
        monotone="increasing",
        inverse="deg2rad",
        linear=(0,),
        keeps_positive=True,
        body=lambda x: x * (1 / DEGREE),
    )
)
arctan2 = Elemwise(ScalarOp(ufunc="arctan2", keeps_positive=True, pullback=_arctan2_terms))

acos = alias(arccos, "acos")
asin = alias(arcsin, "asin")
atan = alias(arctan, "atan")
atan2 = alias(arctan2, "atan2")
acosh = alias(arccosh, "acosh")
asinh = alias(arcsinh, "asinh")
atanh = alias(arctanh, "atanh")
degrees = alias(rad2deg, "degrees")
radians = alias(deg2rad, "radians")
