"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor.elemwise import Elemwise
from treadle.tensor.scalar.arithmetic import add, mul, neg, sub, true_div
from treadle.tensor.scalar.exponential import sqr, sqrt
from treadle.tensor.scalar_op import ScalarOp, of_ufunc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable

    Terms = Sequence[Variable | None]

DEGREE = float(np.pi / 180)


def _row(name: str, derivative: Callable[[Any, Any], Any], c: str | None = None, cost: int = 25) -> Elemwise:
    """Return the scalar op of a NumPy function of one operand; `derivative` takes output and operand."""
    return Elemwise(
        ScalarOp(
            name,
            1,
            of_ufunc(name),
            getattr(np, name),
            {"f": c or f"{name}{{s}}({{0}})"},
            lambda ct, out, xs: (mul(ct, derivative(out, xs[0])),),
            ufunc=name,
            cost=cost,
        )
    )


def _arctan2_terms(ct: Any, out: Any, xs: Any) -> Terms:
    del out
    y, x = xs
    size = add(sqr(y), sqr(x))
    return mul(ct, true_div(x, size)), neg(mul(ct, true_div(y, size)))


sin: Elemwise = _row("sin", lambda out, x: cos(x))
cos: Elemwise = _row("cos", lambda out, x: neg(sin(x)))
tan: Elemwise = _row("tan", lambda out, x: add(1, sqr(out)))
arcsin: Elemwise = _row("arcsin", lambda out, x: true_div(1, sqrt(sub(1, sqr(x)))), "asin{s}({0})")
arccos: Elemwise = _row("arccos", lambda out, x: true_div(-1, sqrt(sub(1, sqr(x)))), "acos{s}({0})")
arctan: Elemwise = _row("arctan", lambda out, x: true_div(1, add(1, sqr(x))), "atan{s}({0})")
sinh: Elemwise = _row("sinh", lambda out, x: cosh(x))
cosh: Elemwise = _row("cosh", lambda out, x: sinh(x))
tanh: Elemwise = _row("tanh", lambda out, x: sub(1, sqr(out)))
arcsinh: Elemwise = _row("arcsinh", lambda out, x: true_div(1, sqrt(add(sqr(x), 1))), "asinh{s}({0})")
arccosh: Elemwise = _row("arccosh", lambda out, x: true_div(1, mul(sqrt(sub(x, 1)), sqrt(add(x, 1)))), "acosh{s}({0})")
arctanh: Elemwise = _row("arctanh", lambda out, x: true_div(1, sub(1, sqr(x))), "atanh{s}({0})")
deg2rad: Elemwise = _row("deg2rad", lambda out, x: DEGREE, f"{{0}} * {DEGREE!r}", cost=1)
rad2deg: Elemwise = _row("rad2deg", lambda out, x: 1 / DEGREE, f"{{0}} * {1 / DEGREE!r}", cost=1)
arctan2: Elemwise = Elemwise(
    ScalarOp(
        "arctan2",
        2,
        of_ufunc("arctan2"),
        np.arctan2,
        {"f": "atan2{s}({0}, {1})"},
        _arctan2_terms,
        ufunc="arctan2",
        cost=40,
    )
)
