"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.arguments import as_integer
from treadle.tensor.broadcasting import zeros
from treadle.tensor.conversion import as_tensor_variable, constant
from treadle.tensor.dimshuffle import expand_dims
from treadle.tensor.errors import ShapeError
from treadle.tensor.filtering import convolve
from treadle.tensor.joining import arange, concatenate
from treadle.tensor.reduction import sum_
from treadle.tensor.scalar.arithmetic import add, maximum, mul, sub
from treadle.tensor.scalar.cast import cast
from treadle.tensor.scalar.exponential import power
from treadle.tensor.shape import shape_i

if TYPE_CHECKING:
    from treadle.tensor.variable import TensorLike, TensorVariable

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval"]


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
    """
    coefficients, var = _coefficients("polyval", p), as_tensor_variable(x)
    if coefficients.type.shape[0] is None:
        kind = np.result_type(coefficients.type.numpy_dtype, var.type.numpy_dtype)
        powers = arange(coefficients.shape[0])[::-1]
        terms = mul(cast(coefficients, kind), power(expand_dims(cast(var, kind), -1), powers))
        return cast(sum_(terms, axis=-1), kind)
    found = zeros(var.shape, var.dtype) if var.ndim else constant(0, dtype=var.dtype)
    for i in range(_length("polyval", coefficients)):
        found = found * var + coefficients[i]
    return found


def _aligned(what: str, a1: TensorLike, a2: TensorLike) -> tuple[TensorVariable, TensorVariable]:
    """Return two polynomials with as many coefficients, the shorter one filled up with zeros in front."""
    first, second = _coefficients(what, a1), _coefficients(what, a2)
    n, m = first.type.shape[0], second.type.shape[0]
    if n is not None and n == m:
        return first, second
    longest = max(n, m) if n is not None and m is not None else maximum(shape_i(first, 0), shape_i(second, 0))

    def filled(p: TensorVariable) -> TensorVariable:
        own = p.type.shape[0]
        if isinstance(longest, int) and own == longest:
            return p
        missing = longest - own if isinstance(longest, int) and own is not None else longest - shape_i(p, 0)
        return concatenate([zeros((missing,), p.dtype), p])

    return filled(first), filled(second)


def polyadd(a1: TensorLike, a2: TensorLike) -> TensorVariable:
    """Add two polynomials (as numpy.polyadd)."""
    return add(*_aligned("polyadd", a1, a2))


def polysub(a1: TensorLike, a2: TensorLike) -> TensorVariable:
    """Subtract a polynomial from another (as numpy.polysub)."""
    return sub(*_aligned("polysub", a1, a2))


def polymul(a1: TensorLike, a2: TensorLike) -> TensorVariable:
    """Multiply two polynomials (as numpy.polymul, but leading zeros stay)."""
    return convolve(_coefficients("polymul", a1), _coefficients("polymul", a2))


def polydiv(u: TensorLike, v: TensorLike) -> tuple[TensorVariable, TensorVariable]:
    """Divide a polynomial by another; return quotient and remainder (as numpy.polydiv).

    The remainder has one coefficient less than the divisor, of which the first may be zero; NumPy drops those.

    Raises
    ------
    ShapeError
        If a number of coefficients is not known.
    """
    rest, divisor = _coefficients("polydiv", u) + 0.0, _coefficients("polydiv", v) + 0.0
    n, m = _length("polydiv", rest), _length("polydiv", divisor)
    if n < m:
        return zeros((1,), np.result_type(rest.dtype, divisor.dtype)), rest
    found = []
    for i in range(n - m + 1):
        factor = rest[i] / divisor[0]
        found.append(factor.dimshuffle("x"))
        rest = concatenate([rest[:i], rest[i : i + m] - factor * divisor, rest[i + m :]])
    return concatenate(found), rest[n - m + 1 :] if m > 1 else zeros((1,), rest.dtype)


def polyder(p: TensorLike, m: int = 1) -> TensorVariable:
    """Return the m-th derivative of a polynomial (as numpy.polyder)."""
    found = _coefficients("polyder", p)
    for _ in range(as_integer("polyder: m", m, 0)):
        powers = arange(shape_i(found, 0) - 1, 0, -1)
        found = found[:-1] * (powers if found.type.shape[0] is None else np.arange(found.type.shape[0] - 1, 0, -1))
    return found


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
    """
    times = as_integer("polyint: m", m, 0)
    given = np.zeros(times) if k is None else k
    constants = _coefficients("polyint: k", given)
    if k is not None and constants.type.shape[0] == 1 and times > 1:
        constants = concatenate([constants] * times)
    if constants.type.shape[0] is None or constants.type.shape[0] < times:
        msg = f"polyint: k must be a scalar or a vector of {times} constants or more, got {k}. Give as many."
        raise ShapeError(msg)
    found = _coefficients("polyint", p)
    for i in range(times):
        n = found.type.shape[0]
        powers = arange(shape_i(found, 0), 0, -1) if n is None else np.arange(n, 0, -1)
        found = concatenate([found / powers, constants[i].dimshuffle("x")])
    return found


def poly(seq_of_zeros: TensorLike) -> TensorVariable:
    """Return the polynomial with given zeros (as numpy.poly of a sequence).

    Raises
    ------
    ShapeError
        If the number of zeros is not known.
    """
    given = _coefficients("poly", seq_of_zeros)
    count = _length("poly", given)
    kind = given.dtype if given.type.numpy_dtype.kind in "fc" else "float64"
    found: TensorVariable = constant(np.ones(1, kind))
    for i in range(count):
        factor = concatenate([np.ones(1, kind), -cast(given[i], kind).dimshuffle("x")])
        found = polymul(factor, found)
    return found
