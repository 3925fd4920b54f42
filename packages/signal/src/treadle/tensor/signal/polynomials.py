"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import as_count, as_flag, composed
from treadle.tensor.arguments.values import as_integer
from treadle.tensor.arrangement.spaced_numbers import vander
from treadle.tensor.elementwise.arithmetic import add, maximum, mul, sub, true_div
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.exponential import power, sqrt
from treadle.tensor.errors import ShapeError
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.linalg.decompositions.eigenvalues import eigvals
from treadle.tensor.linalg.inverses import inv
from treadle.tensor.linalg.least_squares import lstsq
from treadle.tensor.linalg.structured.from_vectors import companion
from treadle.tensor.products.product import matmul, outer
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shapes.broadcasting import zeros
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.shapes.shape_specification import held
from treadle.tensor.signal.filtering import convolve
from treadle.tensor.types.conversion import as_tensor_variable, constant

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots"]


def _coefficients(what: str, p: TensorLike) -> TensorVariable:
    """Return coefficients as a vector; a number is a polynomial of degree 0."""
    var = as_tensor_variable(p)
    if var.ndim > 1:
        msg = f"{what}: coefficients are a vector, got {var} of type {var.type}. Pass one polynomial."
        raise ShapeError(msg)
    return var if var.ndim else var.dimshuffle("x")


def _length(what: str, p: TensorVariable) -> int:
    """Return the number of coefficients, which decides how many steps are taken."""
    n = p.type.shape[0]
    if n is None:
        msg = (
            f"{what}: the number of coefficients of {p} of type {p.type} must be known. Declare it with specify_shape."
        )
        raise ShapeError(msg)
    return n


def polyval(p: TensorLike, x: TensorLike) -> TensorVariable:
    """Return the values of a polynomial (as numpy.polyval).

    Parameters
    ----------
    p
        Coefficients, the highest power first.
    x
        Where to evaluate it, of any shape.

    Notes
    -----
    By Horner's scheme, as NumPy does; by powers where the number of coefficients is not known.

    Examples
    --------
    >>> tt.polyval([1, 2, 3], 2).eval()
    array(11)
    """
    coefficients, var = _coefficients("polyval", p), as_tensor_variable(x)
    if coefficients.type.shape[0] is None:
        kind = np.result_type(coefficients.type.numpy_dtype, var.type.numpy_dtype)
        powers = arange(coefficients.shape[0])[::-1]
        terms = mul(cast(coefficients, kind), power(expand_dims(cast(var, kind), -1), powers))
        return cast(sum_(terms, axis=-1), kind)
    result = zeros(var.shape, var.dtype) if var.ndim else constant(0, dtype=var.dtype)
    # As many steps as there are coefficients now.
    count, coefficients = _length("polyval", coefficients), held(coefficients, 0)
    for i in range(count):
        result = result * var + coefficients[i]
    return result


def _aligned(what: str, a1: TensorLike, a2: TensorLike) -> tuple[TensorVariable, TensorVariable]:
    """Return two polynomials with as many coefficients, the shorter one filled up with zeros in front."""
    first, second = _coefficients(what, a1), _coefficients(what, a2)
    longest = maximum(shape_i(first, 0), shape_i(second, 0))

    def filled(p: TensorVariable) -> TensorVariable:
        return concatenate([zeros((longest - shape_i(p, 0),), p.dtype), p])

    return filled(first), filled(second)


def polyadd(a1: TensorLike, a2: TensorLike) -> TensorVariable:
    """Add two polynomials (as numpy.polyadd).

    Examples
    --------
    >>> tt.polyadd([1, 2], [3]).eval()
    array([1, 5])
    """
    return add(*_aligned("polyadd", a1, a2))


def polysub(a1: TensorLike, a2: TensorLike) -> TensorVariable:
    """Subtract a polynomial from another (as numpy.polysub).

    Examples
    --------
    >>> tt.polysub([1, 2], [3]).eval()
    array([ 1, -1])
    """
    return sub(*_aligned("polysub", a1, a2))


def polymul(a1: TensorLike, a2: TensorLike) -> TensorVariable:
    """Multiply two polynomials (as numpy.polymul, but leading zeros stay).

    Examples
    --------
    >>> tt.polymul([1, 1], [1, 2]).eval()
    array([1, 3, 2])
    """
    return convolve(_coefficients("polymul", a1), _coefficients("polymul", a2))


def polydiv(u: TensorLike, v: TensorLike) -> tuple[TensorVariable, TensorVariable]:
    """Divide a polynomial by another; return quotient and remainder (as numpy.polydiv).

    The remainder has one coefficient less than the divisor, of which the first may be zero; NumPy drops those.

    Raises
    ------
    ShapeError
        If a number of coefficients is not known.

    Examples
    --------
    >>> [x.eval() for x in tt.polydiv([1.0, 3.0, 2.0], [1.0, 1.0])]
    [array([1., 2.]), array([0.])]
    """
    remainder, divisor = _coefficients("polydiv", u) + 0.0, _coefficients("polydiv", v) + 0.0
    n, m = _length("polydiv", remainder), _length("polydiv", divisor)
    remainder, divisor = held(remainder, 0), held(divisor, 0)
    if n < m:
        return zeros((1,), np.result_type(remainder.dtype, divisor.dtype)), remainder
    quotient = []
    for i in range(n - m + 1):
        factor = remainder[i] / divisor[0]
        quotient.append(factor.dimshuffle("x"))
        remainder = concatenate([remainder[:i], remainder[i : i + m] - factor * divisor, remainder[i + m :]])
    return concatenate(quotient), remainder[n - m + 1 :] if m > 1 else zeros((1,), remainder.dtype)


def polyder(p: TensorLike, m: int = 1) -> TensorVariable:
    """Return the m-th derivative of a polynomial (as numpy.polyder).

    Examples
    --------
    >>> tt.polyder([1, 2, 3]).eval()
    array([2, 2])
    """
    coefficients = _coefficients("polyder", p)
    for _ in range(as_count("polyder: m", m)):
        coefficients = coefficients[:-1] * arange(shape_i(coefficients, 0) - 1, 0, -1)
    return coefficients


def polyint(p: TensorLike, m: int = 1, k: TensorLike | None = None) -> TensorVariable:
    """Return the m-th antiderivative of a polynomial (as numpy.polyint).

    Parameters
    ----------
    p
        Coefficients.
    m
        How often to integrate.
    k
        Constants of integration, one for each time, or one number if `m` is 1; zeros if None.

    Raises
    ------
    ShapeError
        If there are not as many constants.

    Examples
    --------
    >>> tt.polyint([2.0, 2.0]).eval()
    array([1., 2., 0.])
    """
    times = as_count("polyint: m", m)
    values = np.zeros(times) if k is None else k
    constants = _coefficients("polyint: k", values)
    if k is not None and constants.type.shape[0] == 1 and times > 1:
        constants = concatenate([held(constants, 0)] * times)
    if constants.type.shape[0] is None or constants.type.shape[0] < times:
        msg = f"polyint: k must be a scalar or a vector of {times} constants or more, got {k}. Give as many."
        raise ShapeError(msg)
    result = _coefficients("polyint", p)
    for i in range(times):
        result = concatenate([result / arange(shape_i(result, 0), 0, -1), constants[i].dimshuffle("x")])
    return result


def poly(seq_of_zeros: TensorLike) -> TensorVariable:
    """Return the polynomial with given zeros (as numpy.poly of a sequence).

    Raises
    ------
    ShapeError
        If the number of zeros is not known.

    Examples
    --------
    >>> tt.poly([1.0, 2.0]).eval()
    array([ 1., -3.,  2.])
    """
    roots = _coefficients("poly", seq_of_zeros)
    count = _length("poly", roots)
    kind = roots.dtype if roots.type.numpy_dtype.kind in "fc" else "float64"
    coefficients: TensorVariable = constant(np.ones(1, kind))
    for i in range(count):
        factor = concatenate([np.ones(1, kind), -cast(roots[i], kind).dimshuffle("x")])
        coefficients = polymul(factor, coefficients)
    return coefficients


@composed
def polyfit(
    x: TensorLike,
    y: TensorLike,
    deg: int,
    rcond: TensorLike | None = None,
    full: bool = False,
    w: TensorLike | None = None,
    cov: bool | str = False,
) -> TensorVariable | tuple[TensorVariable, ...]:
    """Return the polynomial that comes nearest to points, by least squares (as numpy.polyfit).

    Parameters
    ----------
    x, y
        The points: vectors; y may be a matrix, of which each column is fitted on its own.
    deg
        Degree of the polynomial.
    rcond
        As for `linalg.lstsq`; by default the machine precision times the number of points. A rank that is too low is
        not warned of.
    full
        Whether to return what `linalg.lstsq` does, and `rcond`, too.
    w
        Weights of the distances: a vector.
    cov
        Whether to return the covariance matrix of the coefficients too, scaled so that the distances have the variance
        that is found; ``"unscaled"`` takes the weights for the reciprocals of standard deviations.

    Raises
    ------
    ShapeError
        If the points are not vectors, or known not to be as many.

    Examples
    --------
    >>> tt.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).eval().round(6)
    array([2., 1.])
    """
    degree, has_all = as_integer("polyfit: deg", deg, 0), as_flag("polyfit: full", full)
    xs, ys = (v + 0.0 for v in map(as_tensor_variable, (x, y)))
    n, m = xs.type.shape[0] if xs.ndim == 1 else None, ys.type.shape[0] if ys.ndim in {1, 2} else None
    if xs.ndim != 1 or ys.ndim not in {1, 2} or 0 in {n, m} or (n is not None and m is not None and n != m):
        msg = f"polyfit: as many x as y are needed, one or more, in vectors, got {xs.type} and {ys.type}. Check them."
        raise ShapeError(msg)
    powers = vander(xs, degree + 1)
    if w is not None:
        weights = as_tensor_variable(w) + 0.0
        if weights.ndim != 1:
            msg = f"polyfit: the weights are a vector, got {weights} of type {weights.type}. Pass one for each point."
            raise ShapeError(msg)
        powers = mul(powers, expand_dims(weights, -1))
        ys = mul(ys, weights if ys.ndim == 1 else expand_dims(weights, -1))
    # Columns of one size are better conditioned.
    scale = sqrt(sum_(mul(powers, powers), axis=0))
    columns = true_div(powers, scale)
    kind = np.finfo(columns.dtype).dtype
    least = mul(cast(shape_i(xs, 0), kind), np.finfo(kind).eps) if rcond is None else as_tensor_variable(rcond)
    solution, residuals, rank, s = lstsq(columns, ys, cast(least, kind))
    by_row = scale if ys.ndim == 1 else expand_dims(scale, -1)
    coefficients = true_div(solution, by_row)
    if has_all:
        return coefficients, residuals, rank, s, least
    is_unscaled = isinstance(cov, str) and cov == "unscaled"
    if not is_unscaled and not as_flag("polyfit: cov", cov):
        return coefficients
    base = true_div(inv(matmul(columns.T, columns)), outer(scale, scale))
    if is_unscaled:
        return coefficients, base if ys.ndim == 1 else expand_dims(base, -1)
    if n is not None and n <= degree + 1:
        msg = (
            f"polyfit: the number of data points must exceed order to scale the covariance matrix, got {n}. Pass more."
        )
        raise ShapeError(msg)
    residual = ys - matmul(columns, solution)
    variance = true_div(sum_(mul(residual, residual), axis=0), shape_i(xs, 0) - (degree + 1))
    return coefficients, mul(base, variance) if ys.ndim == 1 else mul(expand_dims(base, -1), variance)


@composed
def roots(p: TensorLike) -> TensorVariable:
    """Return the zeros of a polynomial, complex, as eigenvalues of its companion matrix (as numpy.roots).

    Parameters
    ----------
    p
        Coefficients, the highest power first, which must not be 0: NumPy leaves out leading zeros; here zeros are NaN
        or infinite then.

    Notes
    -----
    Derivatives hold for zeros that are not multiple ones.

    Examples
    --------
    >>> tt.roots([1.0, -3.0, 2.0]).eval().round(6)
    array([2.+0.j, 1.+0.j])
    """
    coefficients = _coefficients("roots", p)
    n = coefficients.type.shape[0]
    real = coefficients + 0.0
    if n is not None and n < 2:
        return cast(held(real, 0)[1:], np.result_type(real.dtype, "complex64"))
    return eigvals(companion(real))
