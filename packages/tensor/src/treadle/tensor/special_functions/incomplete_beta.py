"""The regularised incomplete beta function and its inverse."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.elementwise.arithmetic import mul, neg, sub, true_div
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import gt, le, lt
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.exponential import log, log1p
from treadle.tensor.elementwise.logic import invert
from treadle.tensor.ops.undefined_gradients import grad_undefined
from treadle.tensor.special_functions.densities import beta_density
from treadle.tensor.special_functions.gamma_functions import digamma, tri_gamma
from treadle.tensor.special_functions.scipy_special import in_blocks, of_scipy
from treadle.tensor.special_functions.stirling import in_double
from treadle.tensor.special_functions.tail_moments import beta_tail_integral
from treadle.tensor.types.dtype_rules import double_first, single_first

if TYPE_CHECKING:
    from treadle.tensor.elementwise.scalar_op import Inputs, Terms
    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["betainc", "betaincinv"]


class _Tail:
    """The lighter tail of a beta density, whose moments derivatives by the shapes are made of.

    Shapes below 1 are moved up by 1, and what that adds stands apart (DLMF 8.17.20 and 8.17.21). `x` and `y`, 1 less
    `x`, are each exact to the last places where they are small.
    """

    def __init__(self, a: TensorVariable, b: TensorVariable, x: TensorVariable, y: TensorVariable) -> None:
        # The shape at the lighter tail's end is, and the other one where the density is flat up to where it is cut.
        lower = le(x * b, y * a)
        self.moved = lt(a, 1) & (lower | lt(b * x, 0.5))
        self.other_moved = lt(b, 1) & (invert(lower) | lt(a * y, 0.5))
        self.a, self.b = switch(self.moved, a + 1, a), switch(self.other_moved, b + 1, b)
        self.x, self.y = x, y
        self.lower = le(x * self.b, y * self.a)
        self.operands = (*_ordered(self.lower, self.a, self.b), *_ordered(self.lower, x, y))
        self.density = x * y * _density(self.a, self.b, x, y)
        self.log_x = _log(x, y)
        self.log_y = _log(y, x)
        # x**a y**b / (a B(a, b)), and the same with a moved and the other shape in front.
        self.step = y * _density(a + 1, b, x, y) / (a + b)
        self.other_step = x * _density(self.a, b + 1, x, y) / (self.a + b)

    def weight(self) -> TensorVariable:
        """Return the tail's probability, of the upper one its negative."""
        p, q, z, _ = self.operands
        return switch(self.lower, betainc(p, q, z), -betainc(p, q, z))

    def moment(self, of_x: float, of_y: float) -> TensorVariable:
        """Return the moment of powers of log x - log t and log(1 - t) - log y, in size."""
        j, k = switch(self.lower, of_x, of_y), switch(self.lower, of_y, of_x)
        return beta_tail_moment(j, k, *self.operands)


def _ordered(
    condition: TensorVariable, first: TensorVariable, second: TensorVariable
) -> tuple[TensorVariable, TensorVariable]:
    return switch(condition, first, second), switch(condition, second, first)


def _log(x: TensorVariable, y: TensorVariable) -> TensorVariable:
    return switch(lt(y, 0.5), log1p(-y), log(x))


def _density(a: TensorVariable, b: TensorVariable, x: TensorVariable, y: TensorVariable) -> TensorVariable:
    small = le(x, y)
    return beta_density(*_ordered(small, a, b), switch(small, x, y))


def _within(
    a: TensorVariable, b: TensorVariable, x: TensorVariable, y: TensorVariable, value: TensorVariable
) -> TensorVariable:
    """Return a derivative by a shape, which is 0 at both ends of the argument's range."""
    inside = gt(a, 0) & gt(b, 0) & le(0, x) & le(0, y)
    return switch(inside, switch(gt(x, 0) & gt(y, 0), value, 0.0), float("nan"))


def _by_quadrature(a: TensorVariable, b: TensorVariable, x: TensorVariable) -> TensorVariable:
    """Return betainc itself, for backends that lack it."""
    y = 1 - x
    tail = _Tail(a, b, x, y)
    weight = tail.density * tail.moment(0.0, 0.0)
    value = switch(tail.lower, weight, 1 - weight)
    value = value + switch(tail.moved, tail.step, 0.0) - switch(tail.other_moved, tail.other_step, 0.0)
    ends = switch(gt(x, 0), switch(gt(y, 0), value, 1.0), 0.0)
    return switch(gt(a, 0) & gt(b, 0) & le(0, x) & le(0, y), ends, float("nan"))


def _by_shape(a: TensorVariable, b: TensorVariable, x: TensorVariable, y: TensorVariable) -> TensorVariable:
    """Return the derivative of betainc(a, b, x) by a."""
    tail = _Tail(a, b, x, y)
    level = tail.log_x - digamma(tail.a) + digamma(tail.a + tail.b)
    value = level * tail.weight() - tail.density * tail.moment(1.0, 0.0)
    step = tail.step * (tail.log_x - digamma(a + 1) + digamma(a + b))
    other_step = tail.other_step * (tail.log_x - digamma(tail.a) + digamma(tail.a + b))
    value = value + switch(tail.moved, step, 0.0) - switch(tail.other_moved, other_step, 0.0)
    return _within(a, b, x, y, value)


def _by_shape_twice(a: TensorVariable, b: TensorVariable, x: TensorVariable, y: TensorVariable) -> TensorVariable:
    """Return the second derivative of betainc(a, b, x) by a."""
    tail = _Tail(a, b, x, y)

    def squared(log_x: TensorVariable, p: TensorVariable, n: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
        level = log_x - digamma(p) + digamma(n)
        return level, level * level - tri_gamma(p) + tri_gamma(n)

    level, spread = squared(tail.log_x, tail.a, tail.a + tail.b)
    second = tail.moment(2.0, 0.0)
    inner = switch(tail.lower, second, -second) - 2 * level * tail.moment(1.0, 0.0)
    step = tail.step * squared(tail.log_x, a + 1, a + b)[1]
    other_step = tail.other_step * squared(tail.log_x, tail.a, tail.a + b)[1]
    value = spread * tail.weight() + tail.density * inner
    value = value + switch(tail.moved, step, 0.0) - switch(tail.other_moved, other_step, 0.0)
    return _within(a, b, x, y, value)


def _by_both_shapes(a: TensorVariable, b: TensorVariable, x: TensorVariable, y: TensorVariable) -> TensorVariable:
    """Return the derivative of betainc(a, b, x) by a and b."""
    tail = _Tail(a, b, x, y)

    def levels(p: TensorVariable, q: TensorVariable, n: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
        return tail.log_x - digamma(p) + digamma(n), tail.log_y - digamma(q) + digamma(n)

    n = tail.a + tail.b
    of_x, of_y = levels(tail.a, tail.b, n)
    mixed = tail.moment(1.0, 1.0)
    inner = of_x * tail.moment(0.0, 1.0) - of_y * tail.moment(1.0, 0.0) - switch(tail.lower, mixed, -mixed)
    value = (of_x * of_y + tri_gamma(n)) * tail.weight() + tail.density * inner
    by_x, by_y = levels(a + 1, b, a + b)
    step = tail.step * (by_x * by_y + tri_gamma(a + b))
    by_x, by_y = levels(tail.a, b + 1, tail.a + b)
    other_step = tail.other_step * (by_x * by_y + tri_gamma(tail.a + b))
    value = value + switch(tail.moved, step, 0.0) - switch(tail.other_moved, other_step, 0.0)
    return _within(a, b, x, y, value)


def _terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    a, b, x = xs
    y = sub(1, x)
    return (
        mul(ct, betainc_by_shape(a, b, x, y)),
        neg(mul(ct, betainc_by_shape(b, a, y, x))),
        mul(ct, beta_density(a, b, x)),
    )


def _inverse_terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
    """The inverse function rule: where betainc(a, b, x) = p, dx/dp is 1 over the density at x."""
    a, b, _ = xs
    scaled = true_div(ct, beta_density(a, b, out))
    y = sub(1, out)
    return neg(mul(scaled, betainc_by_shape(a, b, out, y))), mul(scaled, betainc_by_shape(b, a, y, out)), scaled


def _shape_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    """Whatever depends on the argument is in the third term."""
    a, b, x, y = xs
    level = sub(_log(x, y), sub(digamma(a), digamma(a + b)))
    by_x = mul(_density(a, b, x, y), level)
    return mul(ct, _betainc_by_shape_twice(*xs)), mul(ct, _betainc_by_both_shapes(*xs)), mul(ct, by_x), None


def _twice_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    a, b, x, y = xs
    level = sub(_log(x, y), sub(digamma(a), digamma(a + b)))
    spread = sub(mul(level, level), sub(tri_gamma(a), tri_gamma(a + b)))
    no_third = "there is no third derivative by shapes"
    by_shapes = [grad_undefined(_betainc_by_shape_twice, k, s, no_third) for k, s in enumerate((a, b))]
    return *by_shapes, mul(ct, mul(_density(a, b, x, y), spread)), None


def _both_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    a, b, x, y = xs
    of_sum = digamma(a + b)
    levels = mul(sub(_log(x, y), sub(digamma(a), of_sum)), sub(_log(y, x), sub(digamma(b), of_sum)))
    no_third = "there is no third derivative by shapes"
    by_shapes = [grad_undefined(_betainc_by_both_shapes, k, s, no_third) for k, s in enumerate((a, b))]
    return *by_shapes, mul(ct, mul(_density(a, b, x, y), levels + tri_gamma(a + b))), None


betainc: Elemwise = elementwise(
    name="betainc", nin=3, dtypes=single_first, impl=of_scipy("betainc"), body=in_double(_by_quadrature), image=(0, 1),
    pullback=_terms,
)  # fmt: skip
betaincinv = elementwise(
    name="betaincinv", nin=3, dtypes=single_first, impl=of_scipy("betaincinv"), image=(0, 1), pullback=_inverse_terms
)
betainc_by_shape: Elemwise = elementwise(
    name="betainc_by_shape", nin=4, dtypes=single_first, body=in_double(_by_shape), pullback=_shape_terms
)
_betainc_by_shape_twice = elementwise(
    name="betainc_by_shape_twice", nin=4, dtypes=single_first, body=in_double(_by_shape_twice), pullback=_twice_terms
)
_betainc_by_both_shapes = elementwise(
    name="betainc_by_both_shapes", nin=4, dtypes=single_first, body=in_double(_by_both_shapes), pullback=_both_terms
)
beta_tail_moment = elementwise(
    name="beta_tail_moment", nin=6, dtypes=double_first, impl=in_blocks(partial(beta_tail_integral, np))
)
