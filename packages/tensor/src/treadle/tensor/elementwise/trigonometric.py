"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

from math import inf, pi
from typing import TYPE_CHECKING

from treadle.config import alias
from treadle.tensor.elementwise.arithmetic import add, mul, neg, scaled_by, sub, true_div
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.exponential import sqr, sqrt

if TYPE_CHECKING:
    from treadle.tensor.elementwise.scalar_op import Inputs, Terms
    from treadle.tensor.variables.variable import TensorVariable

__all__ = [
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh", "atan",
    "atan2", "atanh", "cos", "cosh", "deg2rad", "degrees", "rad2deg", "radians", "sin", "sinh", "tan", "tanh",
]  # fmt: skip

DEGREE = pi / 180


def _arctan2_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    y, x = xs
    size = add(sqr(y), sqr(x))
    return mul(ct, true_div(x, size)), neg(mul(ct, true_div(y, size)))


sin: Elemwise = elementwise(
    ufunc="sin", parity="odd", image=(-1, 1), pullback=scaled_by(lambda out, x: cos(x)), conjugates=True,
)  # fmt: skip
cos: Elemwise = elementwise(
    ufunc="cos", parity="even", image=(-1, 1), pullback=scaled_by(lambda out, x: neg(sin(x))), conjugates=True,
)  # fmt: skip
tan = elementwise(ufunc="tan", parity="odd", pullback=scaled_by(lambda out, x: add(1, sqr(out))), conjugates=True)
arcsin = elementwise(
    ufunc="arcsin", parity="odd", monotone="increasing", inverse="sin", domain=(-1, 1), image=(-pi / 2, pi / 2),
    pullback=scaled_by(lambda out, x: true_div(1, sqrt(sub(1, sqr(x))))),
)  # fmt: skip
arccos = elementwise(
    ufunc="arccos", monotone="decreasing", inverse="cos", domain=(-1, 1), image=(0, pi),
    pullback=scaled_by(lambda out, x: true_div(-1, sqrt(sub(1, sqr(x))))),
)  # fmt: skip
arctan = elementwise(
    ufunc="arctan", parity="odd", monotone="increasing", inverse="tan", image=(-pi / 2, pi / 2),
    pullback=scaled_by(lambda out, x: true_div(1, add(1, sqr(x)))), keeps_positive=True,
)  # fmt: skip
sinh: Elemwise = elementwise(
    ufunc="sinh", parity="odd", monotone="increasing", inverse="arcsinh", pullback=scaled_by(lambda out, x: cosh(x)),
    keeps_positive=True, conjugates=True,
)  # fmt: skip
cosh: Elemwise = elementwise(
    ufunc="cosh", parity="even", image=(1, inf), pullback=scaled_by(lambda out, x: sinh(x)), nonzero=True,
    conjugates=True,
)  # fmt: skip
tanh = elementwise(
    ufunc="tanh", parity="odd", monotone="increasing", inverse="arctanh", image=(-1, 1),
    pullback=scaled_by(lambda out, x: sub(1, sqr(out))), keeps_positive=True, conjugates=True,
)  # fmt: skip
arcsinh = elementwise(
    ufunc="arcsinh", parity="odd", monotone="increasing", inverse="sinh",
    pullback=scaled_by(lambda out, x: true_div(1, sqrt(add(sqr(x), 1)))), keeps_positive=True,
)  # fmt: skip
arccosh = elementwise(
    ufunc="arccosh", monotone="increasing", inverse="cosh", domain=(1, inf), image=(0, inf),
    pullback=scaled_by(lambda out, x: true_div(1, mul(sqrt(sub(x, 1)), sqrt(add(x, 1))))),
)  # fmt: skip
arctanh = elementwise(
    ufunc="arctanh", parity="odd", monotone="increasing", inverse="tanh", domain=(-1, 1),
    pullback=scaled_by(lambda out, x: true_div(1, sub(1, sqr(x)))),
)  # fmt: skip
deg2rad = elementwise(
    ufunc="deg2rad", cheap=True, parity="odd", monotone="increasing", inverse="rad2deg", body=lambda x: x * DEGREE,
    linear=(0,), keeps_positive=True,
)  # fmt: skip
rad2deg = elementwise(
    ufunc="rad2deg", cheap=True, parity="odd", monotone="increasing", inverse="deg2rad",
    body=lambda x: x * (1 / DEGREE), linear=(0,), keeps_positive=True,
)  # fmt: skip
arctan2 = elementwise(ufunc="arctan2", pullback=_arctan2_terms, keeps_positive=True)

acos = alias(arccos, "acos")
asin = alias(arcsin, "asin")
atan = alias(arctan, "atan")
atan2 = alias(arctan2, "atan2")
acosh = alias(arccosh, "acosh")
asinh = alias(arcsinh, "asinh")
atanh = alias(arctanh, "atanh")
degrees = alias(rad2deg, "degrees")
radians = alias(deg2rad, "radians")
