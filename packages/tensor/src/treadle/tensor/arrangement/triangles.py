"""Triangles of matrices, and the positions of their elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import composed
from treadle.tensor.arguments.values import known_integer
from treadle.tensor.arrangement.repetition import RepeatedPositions
from treadle.tensor.elementwise.arithmetic import add, maximum, minimum
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import ge, gt
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.reductions.accumulation import cumsum
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import LENGTH, as_lengths, lengths, shape_i
from treadle.tensor.types.conversion import as_tensor_variable, constant

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Positions = tuple[TensorVariable, TensorVariable]

__all__ = ["tri", "tril", "tril_indices", "tril_indices_from", "triu", "triu_indices", "triu_indices_from"]


def _diagonal(k: TensorLike, n: TensorLike, m: TensorLike) -> TensorVariable:
    """Return which diagonal is meant; one outside of an n x m matrix as one next to it: sums do not overflow."""
    diagonal = as_tensor_variable(k)
    known = known_integer(k)
    if diagonal.type.numpy_dtype.kind not in "biu" or (known is not None and abs(known) < 2**62):
        return diagonal
    rows, columns = (cast(as_tensor_variable(x), LENGTH) for x in (n, m))
    if diagonal.type.numpy_dtype.kind == "u":
        diagonal = minimum(cast(diagonal, "uint64"), cast(columns, "uint64"))
    return maximum(minimum(cast(diagonal, LENGTH), columns), -rows)


def _below(n: TensorLike, m: TensorLike, k: TensorLike, compare: Elemwise = ge) -> TensorVariable:
    """Return where an n x m matrix lies on or below the k-th diagonal, or with `gt` below it."""
    return compare(add(expand_dims(arange(n), 1), _diagonal(k, n, m)), expand_dims(arange(m), 0))


@composed
def tri(
    N: TensorLike,  # noqa: N803 - NumPy's name
    M: TensorLike | None = None,  # noqa: N803 - NumPy's name
    k: TensorLike = 0,
    dtype: DTypeLike | None = None,
) -> TensorVariable:
    """Return a matrix with ones on and below the k-th diagonal and zeros above it (as numpy.tri; dtype floatX).

    Examples
    --------
    >>> tt.tri(2).eval()
    array([[1., 0.],
           [1., 1.]])
    """
    return cast(_below(N, N if M is None else M, k), "floatX" if dtype is None else dtype)


@composed
def tril(m: TensorLike, k: TensorLike = 0) -> TensorVariable:
    """Return matrices, in the last two dimensions, with zeros above the k-th diagonal (as numpy.tril).

    Examples
    --------
    >>> tt.tril([[1, 2], [3, 4]]).eval()
    array([[1, 0],
           [3, 4]])
    """
    var = _matrices("tril", m)
    return switch(_below(shape_i(var, max(-2, -var.ndim)), shape_i(var, -1), k), var, np.zeros((), var.dtype))


@composed
def triu(m: TensorLike, k: TensorLike = 0) -> TensorVariable:
    """Return matrices, in the last two dimensions, with zeros below the k-th diagonal (as numpy.triu).

    Examples
    --------
    >>> tt.triu([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [0, 4]])
    """
    var = _matrices("triu", m)
    lower = _below(shape_i(var, max(-2, -var.ndim)), shape_i(var, -1), k, gt)
    return switch(lower, np.zeros((), var.dtype), var)


def _matrices(what: str, m: TensorLike) -> TensorVariable:
    var = as_tensor_variable(m)
    if var.ndim == 0:
        msg = f"{what}: a matrix is needed, got the scalar {var} of type {var.type}. Add dimensions."
        raise TensorTypeError(msg)
    return var


# Of larger matrices, the positions are computed when the program runs, and not kept in the graph.
_MOST_ROWS = 5000


@composed
def _positions(what: str, upper: bool, n: TensorLike, k: TensorLike, m: TensorLike | None) -> Positions:
    """Return the rows and the columns of the elements of a triangle, in C order."""
    rows, columns = as_lengths(what, [n, n if m is None else m])
    known = [known_integer(x) for x in (n, k, n if m is None else m)]
    if None not in known and all(n is not None and n <= _MOST_ROWS for n in (known[0], known[2])):
        height, offset, width = (int(x) for x in known if x is not None)
        indices = (np.triu_indices if upper else np.tril_indices)(height, max(min(offset, width), -height), width)
        return constant(indices[0], dtype=LENGTH), constant(indices[1], dtype=LENGTH)
    rows, columns = maximum(rows, 0), maximum(columns, 0)  # as in NumPy, there is nothing in what has no length
    # The first column of each row that is outside, or inside, of the triangle.
    first = add(arange(rows), cast(_diagonal(k, rows, columns), LENGTH) + (0 if upper else 1))
    first = minimum(maximum(first, 0), columns)
    counts = columns - first if upper else first
    row = RepeatedPositions()(counts, rows)
    before = cumsum(counts) - counts
    shift = first - before if upper else -before
    return row, arange(shape_i(row, 0)) + shift[row]


def tril_indices(n: TensorLike, k: TensorLike = 0, m: TensorLike | None = None) -> Positions:
    """Return the positions of the elements on and below the k-th diagonal of an n x m matrix (as numpy.tril_indices).

    They are constants where all three are known. Otherwise values decide their number, which tracing backends refuse.

    Examples
    --------
    >>> [at.eval() for at in tt.tril_indices(2)]
    [array([0, 1, 1]), array([0, 0, 1])]
    """
    return _positions("tril_indices", False, n, k, m)


def triu_indices(n: TensorLike, k: TensorLike = 0, m: TensorLike | None = None) -> Positions:
    """Return the positions of the elements on and above the k-th diagonal of an n x m matrix (as numpy.triu_indices).

    See `tril_indices`.

    Examples
    --------
    >>> [at.eval() for at in tt.triu_indices(2)]
    [array([0, 0, 1]), array([0, 1, 1])]
    """
    return _positions("triu_indices", True, n, k, m)


def tril_indices_from(a: TensorLike, k: TensorLike = 0) -> Positions:
    """Return `tril_indices` for the shape of a matrix (as numpy.tril_indices_from).

    Examples
    --------
    >>> [at.eval() for at in tt.tril_indices_from(np.ones((2, 2)))]
    [array([0, 1, 1]), array([0, 0, 1])]
    """
    n, m = _matrix_shape("tril_indices_from", a)
    return tril_indices(n, k, m)


def triu_indices_from(a: TensorLike, k: TensorLike = 0) -> Positions:
    """Return `triu_indices` for the shape of a matrix (as numpy.triu_indices_from).

    Examples
    --------
    >>> [at.eval() for at in tt.triu_indices_from(np.ones((2, 2)))]
    [array([0, 0, 1]), array([0, 1, 1])]
    """
    n, m = _matrix_shape("triu_indices_from", a)
    return triu_indices(n, k, m)


def _matrix_shape(what: str, a: TensorLike) -> list[TensorVariable]:
    var = as_tensor_variable(a)
    if var.ndim != 2:
        msg = f"{what}: a matrix is needed, got {var} of type {var.type}. Use {what.removesuffix('_from')}."
        raise ShapeError(msg)
    return lengths(var)
