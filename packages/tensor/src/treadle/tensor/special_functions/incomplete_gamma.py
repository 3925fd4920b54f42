"""The regularised incomplete gamma functions, their inverses, and functions made of them."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.elementwise.arithmetic import maximum, mul, neg, sub, true_div
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, le, lt
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.exponential import exp, log
from treadle.tensor.ops.undefined_gradients import grad_undefined
from treadle.tensor.special_functions.densities import gamma_density
from treadle.tensor.special_functions.gamma_functions import digamma, gamma, gammaln, tri_gamma
from treadle.tensor.special_functions.scipy_special import in_blocks, of_scipy
from treadle.tensor.special_functions.stirling import in_double
from treadle.tensor.special_functions.tail_moments import gamma_tail_integral
from treadle.tensor.types.dtype_rules import double_first

if TYPE_CHECKING:
    from treadle.tensor.elementwise.scalar_op import Inputs, Terms
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["chi2sf", "gammainc", "gammaincc", "gammainccinv", "gammaincinv", "gammal", "gammau"]


def _split(a: TensorVariable, x: TensorVariable) -> tuple[TensorVariable, TensorVariable, TensorVariable]:
    """Return a shape from 1 on, whether it is a + 1, and the lower tail or minus the upper one: the lighter of them."""
    moved = lt(a, 1)
    wide = switch(moved, a + 1, a)
    return wide, moved, switch(le(x, wide), gammainc(wide, x), -gammaincc(wide, x))


def _within(a: TensorVariable, x: TensorVariable, value: TensorVariable) -> TensorVariable:
    """Return a derivative by the shape, which is 0 at both ends of the argument's range."""
    return switch(ge(a, 0) & ge(x, 0), switch(eq(x, 0) | eq(x, inf), 0.0, value), float("nan"))


def _by_shape(a: TensorVariable, x: TensorVariable) -> TensorVariable:
    """Return the derivative of gammainc by a: a moment of a tail; from a below 1, go up by 1 (DLMF 8.8.5)."""
    wide, moved, tail = _split(a, x)
    density = gamma_density(wide, x)
    level = log(x) - digamma(wide)
    value = level * tail - x * density * gamma_tail_moment(1.0, wide, x)
    return _within(a, x, value + switch(moved, density * level, 0.0))


def _by_shape_twice(a: TensorVariable, x: TensorVariable) -> TensorVariable:
    """Return the second derivative of gammainc by a."""
    wide, moved, tail = _split(a, x)
    density = gamma_density(wide, x)
    level = log(x) - digamma(wide)
    spread = level * level - tri_gamma(wide)
    first, second = (gamma_tail_moment(order, wide, x) for order in (1.0, 2.0))
    value = spread * tail + x * density * (switch(le(x, wide), second, -second) - 2 * level * first)
    return _within(a, x, value + switch(moved, density * spread, 0.0))


def _terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    a, x = xs
    return mul(ct, gammainc_by_shape(a, x)), mul(ct, gamma_density(a, x))


def _negative_terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
    return _terms(neg(ct), out, xs)


def _inverse_terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
    """The inverse function rule: where gammainc(a, x) = p, dx/dp is 1 over the density at x."""
    scaled = true_div(ct, gamma_density(xs[0], out))
    return neg(mul(scaled, gammainc_by_shape(xs[0], out))), scaled


def _upper_inverse_terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
    scaled = true_div(ct, gamma_density(xs[0], out))
    return neg(mul(scaled, gammainc_by_shape(xs[0], out))), neg(scaled)


def _shape_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    a, x = xs
    return mul(ct, _gammainc_by_shape_twice(a, x)), mul(ct, mul(gamma_density(a, x), sub(log(x), digamma(a))))


def _second_shape_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    a, x = xs
    level = sub(log(x), digamma(a))
    by_shape = grad_undefined(_gammainc_by_shape_twice, 0, a, "there is no third derivative by the shape")
    return by_shape, mul(ct, mul(gamma_density(a, x), sub(mul(level, level), tri_gamma(a))))


# The lower function, from 0 to x, over the whole.
gammainc: Elemwise = elementwise(
    name="gammainc", nin=2, dtypes=double_first, impl=of_scipy("gammainc"), image=(0, 1), pullback=_terms
)
gammaincc: Elemwise = elementwise(
    name="gammaincc", nin=2, dtypes=double_first, impl=of_scipy("gammaincc"), image=(0, 1), pullback=_negative_terms
)
gammaincinv = elementwise(
    name="gammaincinv", nin=2, dtypes=double_first, impl=of_scipy("gammaincinv"), image=(0, inf),
    pullback=_inverse_terms,
)  # fmt: skip
gammainccinv = elementwise(
    name="gammainccinv", nin=2, dtypes=double_first, impl=of_scipy("gammainccinv"), image=(0, inf),
    pullback=_upper_inverse_terms,
)  # fmt: skip
gammainc_by_shape: Elemwise = elementwise(
    name="gammainc_by_shape", nin=2, dtypes=double_first, body=in_double(_by_shape), image=(-inf, 0),
    pullback=_shape_terms,
)  # fmt: skip
_gammainc_by_shape_twice = elementwise(
    name="gammainc_by_shape_twice", nin=2, dtypes=double_first, body=in_double(_by_shape_twice),
    pullback=_second_shape_terms,
)  # fmt: skip
gamma_tail_moment = elementwise(
    name="gamma_tail_moment", nin=3, dtypes=double_first, impl=in_blocks(partial(gamma_tail_integral, np))
)


def gammal(k: TensorLike, x: TensorLike) -> TensorVariable:
    """Return the lower incomplete gamma function, gammainc(k, x) Γ(k).

    Examples
    --------
    >>> tt.gammal(1.0, 0.0).eval()
    array(0.)
    """
    return _times_gamma(gammainc, k, x)


def gammau(k: TensorLike, x: TensorLike) -> TensorVariable:
    """Return the upper incomplete gamma function, gammaincc(k, x) Γ(k).

    Examples
    --------
    >>> tt.gammau(1.0, 0.0).eval()
    array(1.)
    """
    return _times_gamma(gammaincc, k, x)


def _times_gamma(share: Elemwise, k: TensorLike, x: TensorLike) -> TensorVariable:
    """Return a fraction of Γ(k), in double, and by its logarithm where Γ(k) overflows."""
    dtype = share(k, x).dtype
    shape, at = cast(k, "float64"), cast(x, "float64")
    part = share(shape, at)
    large = gt(shape, 170)
    by_logarithm = exp(log(switch(large, part, 1)) + gammaln(switch(large, shape, 1)))
    return cast(switch(large, by_logarithm, mul(part, gamma(switch(large, 1, shape)))), dtype)


def chi2sf(x: TensorLike, k: TensorLike) -> TensorVariable:
    """Return the probability that a chi-squared number of k degrees of freedom is above x (scipy.stats.chi2.sf).

    Examples
    --------
    >>> tt.chi2sf(0.0, 2.0).eval()
    array(1.)
    """
    return gammaincc(true_div(k, 2), true_div(maximum(x, 0), 2))
