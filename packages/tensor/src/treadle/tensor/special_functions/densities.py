"""The densities of the gamma and beta distributions, to the last places where their plain formulas cancel.

Loader, Fast and accurate computation of binomial probabilities, 2000: Stirling's formula is divided out of the gamma
functions, so that what is left of large numbers is the small deviance of x from the mean.
"""

from __future__ import annotations

from math import inf, pi
from typing import TYPE_CHECKING

from treadle.tensor.elementwise.arithmetic import maximum, minimum, mul, sub, true_div
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, lt
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.exponential import exp, log, log1p, sqrt
from treadle.tensor.special_functions.gamma_functions import betaln, digamma, gammaln
from treadle.tensor.special_functions.stirling import LARGE, in_double, log1p_less, stirling_error
from treadle.tensor.types.dtype_rules import double_first

if TYPE_CHECKING:
    from treadle.tensor.elementwise.scalar_op import Inputs, Terms
    from treadle.tensor.variables.variable import TensorVariable


def _powered(x: TensorVariable, y: TensorVariable) -> TensorVariable:
    """Return x y where y is the logarithm of a number: 0 where x is."""
    return switch(eq(x, 0), 0.0, mul(x, y))


def _gamma_density(a: TensorVariable, x: TensorVariable) -> TensorVariable:
    wide = maximum(a, LARGE)
    off = (x - wide) / wide
    deviance = wide * switch(lt(off, -0.4), log(x / wide) - off, log1p_less(off))
    large = sqrt(wide / (2 * pi)) * exp(deviance - stirling_error(wide)) / x
    small = exp(_powered(a - 1, log(x)) - x - gammaln(a))
    inside = gt(a, 0) & ge(x, 0)
    ends = eq(x, inf) | (eq(x, 0) & gt(a, 1))
    return switch(inside, switch(ends, 0.0, switch(ge(a, LARGE), large, small)), float("nan"))


def _beta_density(a: TensorVariable, b: TensorVariable, x: TensorVariable) -> TensorVariable:
    y = 1 - x
    p, q = maximum(a, LARGE), maximum(b, LARGE)
    n = p + q
    excess = x * q - y * p
    by_a = switch(lt(excess, -0.4 * p), log(x * n / p) - excess / p, log1p_less(excess / p))
    by_b = switch(gt(excess, 0.4 * q), log(y * n / q) + excess / q, log1p_less(-excess / q))
    stirling = stirling_error(n) - stirling_error(p) - stirling_error(q)
    large = sqrt(p / n * q / (2 * pi)) * exp(p * by_a + q * by_b + stirling) / (x * y)
    small = exp(_powered(a - 1, log(x)) + _powered(b - 1, log1p(-x)) - betaln(a, b))
    inside = gt(a, 0) & gt(b, 0) & ge(x, 0) & ge(y, 0)
    ends = (eq(x, 0) & gt(a, 1)) | (eq(y, 0) & gt(b, 1))
    return switch(inside, switch(ends, 0.0, switch(ge(minimum(a, b), LARGE), large, small)), float("nan"))


def _gamma_terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
    a, x = xs
    scaled = mul(ct, out)
    return mul(scaled, sub(log(x), digamma(a))), mul(scaled, sub(true_div(sub(a, 1), x), 1))


def _beta_terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
    a, b, x = xs
    scaled, of_sum = mul(ct, out), digamma(a + b)
    by_x = sub(true_div(sub(a, 1), x), true_div(sub(b, 1), sub(1, x)))
    return (
        mul(scaled, sub(log(x), sub(digamma(a), of_sum))),
        mul(scaled, sub(log1p(-x), sub(digamma(b), of_sum))),
        mul(scaled, by_x),
    )


gamma_density: Elemwise = elementwise(
    name="gamma_density", dtypes=double_first, body=in_double(_gamma_density), nin=2, image=(0, inf),
    pullback=_gamma_terms,
)  # fmt: skip
beta_density: Elemwise = elementwise(
    name="beta_density", dtypes=double_first, body=in_double(_beta_density), nin=3, image=(0, inf), domain=(0, 1),
    pullback=_beta_terms,
)  # fmt: skip
