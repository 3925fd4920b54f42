"""Matrices that vectors give: Toeplitz, Hankel, companion and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import composed
from treadle.tensor.arguments.values import as_choice, as_integer
from treadle.tensor.elementwise.arithmetic import abs_, add, maximum, minimum, mod, neg, sub, true_div
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, lt
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.errors import ShapeError
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.lengths.numbers import least, minus, number, plus, whole_quotient
from treadle.tensor.shapes.dimshuffle import atleast_1d, expand_dims
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import as_tensor_variable, constant

if TYPE_CHECKING:
    from treadle.tensor.lengths.numbers import Number
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "circulant", "companion", "convolution_matrix", "fiedler", "fiedler_companion", "hankel", "leslie", "toeplitz",
]  # fmt: skip


def _grid(rows: TensorLike, columns: TensorLike) -> tuple[TensorVariable, TensorVariable]:
    """Return the numbers of the rows and of the columns, which broadcast to a matrix."""
    return expand_dims(arange(rows), 1), expand_dims(arange(columns), 0)


def _at(x: TensorVariable, place: TensorVariable) -> TensorVariable:
    """Return the elements of vectors at positions, which are clipped to the length of the vectors."""
    return x[..., minimum(maximum(place, 0), shape_i(x, -1) - 1)]


def _vectors(what: str, *values: TensorLike) -> list[TensorVariable]:
    """Return vectors, or stacks of them, of one dtype."""
    vectors = [as_tensor_variable(x) for x in values]
    for x in vectors:
        if x.ndim == 0:
            msg = f"{what}: a vector is needed, got the scalar {x} of type {x.type}. Give it a dimension."
            raise ShapeError(msg)
    dtype = np.result_type(*(x.type.numpy_dtype for x in vectors))
    return [cast(x, dtype) for x in vectors]


@composed
def toeplitz(c: TensorLike, r: TensorLike | None = None) -> TensorVariable:
    """Return matrices that are constant along each diagonal (as scipy.linalg.toeplitz).

    Parameters
    ----------
    c
        The first column, or a stack of such.
    r
        The first row, of which the first element is not read; the conjugate of `c` by default.

    Examples
    --------
    >>> toeplitz([1, 2, 3], [1, 4, 5]).eval()
    array([[1, 4, 5],
           [2, 1, 4],
           [3, 2, 1]])
    """
    column = atleast_1d(c)
    column, row = _vectors("toeplitz", column, column.conj() if r is None else atleast_1d(r))
    i, j = _grid(shape_i(column, -1), shape_i(row, -1))
    matrix: TensorVariable = switch(ge(i, j), _at(column, sub(i, j)), _at(row, sub(j, i)))
    return matrix


@composed
def circulant(c: TensorLike) -> TensorVariable:
    """Return matrices of which each column is the one before it, moved down in a circle (as scipy.linalg.circulant).

    Parameters
    ----------
    c
        The first column, or a stack of such.

    Examples
    --------
    >>> circulant([1, 2, 3]).eval()
    array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]])
    """
    column = atleast_1d(c)
    n = shape_i(column, -1)
    i, j = _grid(n, n)
    return column[..., mod(sub(i, j), n)]


@composed
def hankel(c: TensorLike, r: TensorLike | None = None) -> TensorVariable:
    """Return matrices that are constant along each antidiagonal (as scipy.linalg.hankel).

    Parameters
    ----------
    c
        The first column, or a stack of such.
    r
        The last row, of which the first element is not read; zeros by default.

    Examples
    --------
    >>> hankel([1, 2, 3], [0, 4, 5]).eval()
    array([[1, 2, 3],
           [2, 3, 4],
           [3, 4, 5]])
    """
    column, row = _vectors("hankel", c, as_tensor_variable(c).zeros_like() if r is None else r)
    n = shape_i(column, -1)
    i, j = _grid(n, shape_i(row, -1))
    matrix: TensorVariable = switch(lt(add(i, j), n), _at(column, add(i, j)), _at(row, add(sub(add(i, j), n), 1)))
    return matrix


@composed
def companion(a: TensorLike) -> TensorVariable:
    """Return the companion matrices of polynomials (as scipy.linalg.companion).

    Parameters
    ----------
    a
        Coefficients of a polynomial, that of the highest power first, or a stack of such. Where that is 0, which SciPy
        refuses, the result is not finite.

    Raises
    ------
    ShapeError
        If there are known to be fewer than two coefficients.

    Examples
    --------
    >>> companion([1.0, -6.0, 8.0]).eval()
    array([[ 6., -8.],
           [ 1.,  0.]])
    """
    (x,) = _vectors("companion", a)
    if x.type.shape[-1] in {0, 1}:
        msg = f"companion: the length of a along the last axis must be at least 2, got {x} of type {x.type}."
        raise ShapeError(msg)
    first = neg(true_div(x[..., 1:], x[..., :1]))
    n = shape_i(first, -1)
    i, j = _grid(n, n)
    one = constant(1, dtype=first.dtype)
    matrix: TensorVariable = switch(eq(i, 0), expand_dims(first, -2), switch(eq(i, add(j, 1)), one, 0 * one))
    return matrix


@composed
def fiedler(a: TensorLike) -> TensorVariable:
    """Return the distances between all pairs of numbers (as scipy.linalg.fiedler).

    Parameters
    ----------
    a
        A vector, or a stack of such.

    Examples
    --------
    >>> fiedler([1, 4, 6]).eval()
    array([[0, 3, 5],
           [3, 0, 2],
           [5, 2, 0]])
    """
    x = atleast_1d(a)
    distances: TensorVariable = abs_(sub(expand_dims(x, -1), expand_dims(x, -2)))
    return distances


@composed
def fiedler_companion(a: TensorLike) -> TensorVariable:
    """Return the Fiedler companion matrices of polynomials, with five diagonals (as scipy.linalg.fiedler_companion).

    Parameters
    ----------
    a
        Coefficients of a polynomial, that of the highest power first, or a stack of such. Where that is 0, which SciPy
        refuses, the result is not finite.

    Examples
    --------
    >>> fiedler_companion([1.0, -16.0, 86.0, -176.0]).eval()
    array([[ 16., -86.,   1.],
           [  1.,   0.,   0.],
           [  0., 176.,   0.]])
    """
    x = atleast_1d(a)
    scaled = true_div(x, x[..., :1])
    n = maximum(shape_i(x, -1) - 1, 0)
    i, j = _grid(n, n)
    is_even = eq(mod(i, 2), 0)
    # The next coefficient stands right of the diagonal in even rows, and below it in even rows but the first.
    at = switch(eq(j, add(i, 1)), add(i, 2), add(i, 1))
    is_taken = bitwise_and(is_even, eq(abs_(sub(i, j)), 1)) | bitwise_and(eq(i, 0), eq(j, 0))
    is_one = switch(
        is_even, eq(j, add(i, 2)), bitwise_and(ge(i, 3), eq(j, sub(i, 2))) | bitwise_and(eq(i, 1), eq(j, 0))
    )
    one = constant(1, dtype=scaled.dtype)
    matrix: TensorVariable = switch(is_taken, neg(_at(scaled, at)), switch(is_one, one, 0 * one))
    return matrix


@composed
def leslie(f: TensorLike, s: TensorLike) -> TensorVariable:
    """Return Leslie matrices: fecundities in the first row, survivals below the diagonal (as scipy.linalg.leslie).

    Parameters
    ----------
    f
        The fecundities, a vector or a stack of such.
    s
        The survivals, one fewer.

    Raises
    ------
    ShapeError
        If lengths are known and do not fit.

    Examples
    --------
    >>> leslie([0.1, 2.0, 1.0], [0.2, 0.8]).eval()
    array([[0.1, 2. , 1. ],
           [0.2, 0. , 0. ],
           [0. , 0.8, 0. ]])
    """
    row, below = _vectors("leslie", atleast_1d(f), atleast_1d(s))
    n, m = row.type.shape[-1], below.type.shape[-1]
    if m == 0 or (n is not None and m is not None and n != m + 1):
        msg = f"leslie: s must have one element or more, and one less than f, got {n} for f and {m} for s."
        raise ShapeError(msg)
    i, j = _grid(shape_i(row, -1), shape_i(row, -1))
    zero = constant(0, dtype=row.dtype)
    matrix: TensorVariable = switch(eq(i, 0), expand_dims(row, -2), switch(eq(i, add(j, 1)), _at(below, j), zero))
    return matrix


@composed
def convolution_matrix(a: TensorLike, n: int, mode: str = "full") -> TensorVariable:
    """Return matrices whose product with a vector of length n is a convolution (as scipy.linalg.convolution_matrix).

    Parameters
    ----------
    a
        What to convolve with, a vector or a stack of such.
    n
        The number of columns.
    mode
        Which part of the convolution: ``"full"``, ``"valid"`` or ``"same"``, as in numpy.convolve.

    Raises
    ------
    ArgumentError
        If `mode` is something else.

    Examples
    --------
    >>> convolution_matrix([1, 2], 3).eval()
    array([[1, 0, 0],
           [2, 1, 0],
           [0, 2, 1],
           [0, 0, 2]])
    """
    (x,) = _vectors("convolution_matrix", a)
    columns = as_integer("convolution_matrix: n", n, 1)
    as_choice("convolution_matrix: mode", mode, ("full", "valid", "same"))
    m = number(shape_i(x, -1))
    cut = minus(least(m, columns), 1)
    before: Number = {"full": 0, "same": whole_quotient(cut, 2), "valid": cut}[mode]
    trimmed: Number = {"full": 0, "same": cut, "valid": plus(cut, cut)}[mode]
    i, j = _grid(minus(plus(m, columns - 1), trimmed), columns)
    at = sub(add(i, before), j)
    matrix: TensorVariable = switch(bitwise_and(ge(at, 0), lt(at, m)), _at(x, at), constant(0, dtype=x.dtype))
    return matrix
