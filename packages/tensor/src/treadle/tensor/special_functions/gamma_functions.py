"""The gamma function, its logarithm and that one's derivatives, and functions made of them."""

from __future__ import annotations

import math
from math import inf, nan
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import alias
from treadle.graph import as_count
from treadle.tensor.elementwise.arithmetic import abs_, add, maximum, minimum, mul, scaled_by, sub
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, le, lt, neq
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.exponential import exp, log, log1p
from treadle.tensor.elementwise.rounding import floor
from treadle.tensor.ops.undefined_gradients import grad_undefined
from treadle.tensor.special_functions.scipy_special import of_scipy
from treadle.tensor.special_functions.stirling import LARGE, in_double, stirling_error
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.dtype_rules import double_first, single_first

if TYPE_CHECKING:
    from treadle.tensor.elementwise.scalar_op import Inputs, Terms
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "beta", "betaln", "digamma", "factorial", "gamma", "gammaln", "loggamma", "multigammaln", "poch", "polygamma",
    "psi", "tri_gamma", "trigamma",
]  # fmt: skip

HALF_LOG_2_PI = math.log(2 * math.pi) / 2


def _polygamma_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    n, x = xs
    by_order = grad_undefined(polygamma, 0, n, "the order counts derivatives")
    return by_order, mul(ct, polygamma(add(n, 1), x))


def _beta_terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
    return _betaln_terms(mul(ct, out), out, xs)


def _betaln_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    a, b = xs
    of_sum = digamma(add(a, b))
    return mul(ct, sub(digamma(a), of_sum)), mul(ct, sub(digamma(b), of_sum))


def _poch_terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
    z, m = xs
    scaled, of_sum = mul(ct, out), digamma(add(z, m))
    return mul(scaled, sub(of_sum, digamma(z))), mul(scaled, of_sum)


def _betaln(a: TensorVariable, b: TensorVariable) -> TensorVariable:
    """The sum of three gammaln, with Stirling's formula divided out of those of large numbers."""
    p, q = minimum(a, b), maximum(a, b)
    # At a pole of Γ(p) the value is infinite, unless Γ(p + q) has one too: the reflection then moves p above 0.
    pole = le(p, 0) & eq(p, floor(p))
    moved = pole & eq(q, floor(q)) & gt(q, 0) & lt(q, 1 - p) & gt(p, -inf)
    first = switch(moved, 1 - p - q, p)
    p, q = minimum(first, q), maximum(first, q)
    large, both = maximum(q, LARGE), maximum(p, LARGE)
    less = stirling_error(large) - stirling_error(both + large)
    two = HALF_LOG_2_PI - log(both) / 2 + stirling_error(both) + less
    two = two - (large - 0.5) * log1p(both / large) - both * log1p(large / both)
    least = maximum(p + large, LARGE)
    less = stirling_error(large) - stirling_error(least)
    one = gammaln(p) + less + p - (large - 0.5) * log1p(p / large) - p * log(least)
    plain = gammaln(p) + gammaln(q) - gammaln(p + q)
    value = switch(ge(p, LARGE), two, switch(ge(q, LARGE) & ge(p + q, LARGE), one, plain))
    value = switch(eq(q, inf), switch(gt(p, 0), -inf, inf), value)
    return switch(pole & ~moved, inf, value)


def _is_pole(x: TensorVariable) -> TensorVariable:
    return le(x, 0) & eq(x, floor(x))


def _is_odd(x: TensorVariable) -> TensorVariable:
    """Whether a whole number is odd."""
    return neq(2 * floor(x / 2), x)


def _beta(a: TensorVariable, b: TensorVariable) -> TensorVariable:
    """By the logarithm, and by the gamma function where a number is below 0 and none is large.

    At a pole of one the value is infinite, as SciPy's is, beside NaN too, unless the reflection moves it above 0.
    """
    at_pole, total = _is_pole(a), a + b
    pole, other = switch(at_pole, a, b), switch(at_pole, b, a)
    moved = eq(other, floor(other)) & lt(other, 1 - pole) & gt(pole, -inf)
    size = exp(betaln(a, b))
    at_pole = switch(eq(other, other), switch(moved & _is_odd(other), -size, size), inf)
    negative = switch(lt(a, 0) & _is_odd(floor(a)), -1, 1) * switch(lt(b, 0) & _is_odd(floor(b)), -1, 1)
    negative = negative * switch(lt(total, 0) & _is_odd(floor(total)), -1, 1)
    small = lt(maximum(abs_(a), abs_(b)), 80) & ~_is_pole(total)
    below = switch(small, gamma(a) * gamma(b) / gamma(total), negative * size)
    value = switch(gt(a, 0) & gt(b, 0), size, below)
    value = switch(eq(a, inf) & eq(b, inf), nan, value)
    return switch(_is_pole(pole), at_pole, value)


def _gammaln(x: np.ndarray) -> np.ndarray:
    """Take the logarithm where the reciprocal overflows: SciPy's function is infinite there."""
    values = np.asarray(of_scipy("gammaln")(x))
    size = np.abs(x)
    small = (size < np.finfo("float64").tiny) & (size > 0)
    if small.any():
        values[small] = -np.log(size[small])
    return values


def _polygamma(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Compute in double: in single the sum over the distances to poles leaves the range, which is then scaled.

    Below 0 the sum goes over both sides of the nearest poles, since SciPy's takes a step for each unit up to 0.
    No derivative has an infinite order.
    """
    dtype = "float32" if n.dtype == x.dtype == "float32" else "float64"
    finite = np.where(np.isinf(n), np.nan, n)
    order, wide = np.broadcast_arrays(finite.astype("float64"), x.astype("float64"))
    reflected = (wide < 0) & (order > 0) & (order == np.floor(order))
    values = np.array(of_scipy("polygamma")(order, np.where(reflected, 1.0, wide)))
    if reflected.any():
        s, y = order[reflected] + 1, wide[reflected]
        zeta = of_scipy("zeta")
        with np.errstate(all="ignore"):
            sign = np.where(s % 2 == 0, 1.0, -1.0)
            # The distances to both poles, which are exact next to them.
            below, above = y - np.floor(y), np.ceil(y) - y
            total = below**-s + sign * above**-s
            total += (zeta(s, 1 + below) + sign * zeta(s, 1 + above)) - sign * zeta(s, 1 - y)
            at_pole = (below == 0) | np.isinf(y)
            values[reflected] = sign * of_scipy("gamma")(s) * np.where(at_pole, np.inf, total)
    return values.astype(dtype)


def _trigamma(x: np.ndarray) -> np.ndarray:
    """Reflect negative numbers: SciPy adds a term for each unit on the way to 0, without end far out."""
    wide = x.astype("float64")
    negative = wide < 0
    with np.errstate(all="ignore"):
        right = of_scipy("polygamma")(1, np.where(negative, 1 - wide, wide))
        # The distance to the pole; minus infinity counts as one.
        away = np.where(np.isfinite(wide), wide - np.rint(wide), 0.0)
        return np.asarray(np.where(negative, (np.pi / np.sin(np.pi * away)) ** 2 - right, right)).astype(x.dtype)


gamma: Elemwise = elementwise(
    name="gamma", nin=1, latex=r"\Gamma\left(#1\right)", dtypes=double_first, impl=of_scipy("gamma"),
    pullback=lambda ct, out, xs: (mul(ct, mul(out, digamma(xs[0]))),),
)  # fmt: skip
# The logarithm of the absolute value.
gammaln: Elemwise = elementwise(
    name="gammaln", nin=1, latex=r"\log\left|\Gamma\left(#1\right)\right|", dtypes=double_first, impl=_gammaln,
    pullback=scaled_by(lambda out, x: digamma(x)),
)  # fmt: skip
digamma: Elemwise = elementwise(
    name="digamma", nin=1, latex=r"\psi\left(#1\right)", dtypes=double_first, impl=of_scipy("psi"),
    pullback=scaled_by(lambda out, x: tri_gamma(x)),
)  # fmt: skip
tri_gamma: Elemwise = elementwise(
    name="tri_gamma", dtypes=double_first, impl=_trigamma, image=(0, inf),
    pullback=scaled_by(lambda out, x: polygamma(2, x)), nonzero=True,
)  # fmt: skip
# The derivative of digamma of an order; the order comes first.
polygamma: Elemwise = elementwise(
    name="polygamma", nin=2, dtypes=double_first, impl=_polygamma, pullback=_polygamma_terms
)
beta: Elemwise = elementwise(
    name="beta", nin=2, dtypes=double_first, impl=of_scipy("beta"), body=in_double(_beta), commutative=True,
    latex=r"\mathrm{B}\left(#1,\, #2\right)",
    pullback=_beta_terms,
)  # fmt: skip
# SciPy's loses half of the digits for large numbers, and is infinite at integers of a large size below 0.
betaln: Elemwise = elementwise(
    name="betaln", nin=2, dtypes=double_first, body=in_double(_betaln), commutative=True, pullback=_betaln_terms
)
# Γ(z + m) / Γ(z).
poch = elementwise(name="poch", nin=2, dtypes=single_first, impl=of_scipy("poch"), pullback=_poch_terms)

psi = alias(digamma, "psi")
trigamma = alias(tri_gamma, "trigamma")


def loggamma(z: TensorLike) -> TensorVariable:
    """Return log Γ(z) of real numbers, and NaN where `z` is negative (as scipy.special.loggamma).

    `gammaln` is the logarithm of the absolute value, which negative numbers have too.

    Examples
    --------
    >>> tt.loggamma([3.0, -0.5]).eval().round(6)
    array([0.693147,      nan])
    """
    return switch(lt(z, 0), nan, gammaln(z))


def factorial(n: TensorLike) -> TensorVariable:
    """Return Γ(n + 1), and 0 where `n` is negative (as scipy.special.factorial, inexactly).

    Examples
    --------
    >>> tt.factorial([3.0, 4.0]).eval().round(6)
    array([ 6., 24.])
    """
    return switch(lt(n, 0), 0, gamma(add(n, 1.0)))


def multigammaln(a: TensorLike, d: int) -> TensorVariable:
    """Return the logarithm of the multivariate gamma function (as scipy.special.multigammaln).

    Parameters
    ----------
    a
        A tensor. The function is defined above (d - 1) / 2; its result is NaN or infinite below.
    d
        The dimension of the space that is integrated over.

    Examples
    --------
    >>> tt.multigammaln(3.0, 2).eval().round(6)
    np.float64(1.550195)
    """
    count = as_count("multigammaln: the dimension d", d, 1)
    var = as_tensor_variable(a)
    total: TensorVariable = gammaln(var)
    for k in range(1, count):
        total = add(total, gammaln(sub(var, k / 2)))
    return add(total, count * (count - 1) / 4 * math.log(math.pi))
