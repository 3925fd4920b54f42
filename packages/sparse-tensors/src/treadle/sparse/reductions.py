"""Sums, and diagonals."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

import treadle.tensor as tt
from treadle.config import text_of
from treadle.graph import Apply, Variable, static_op
from treadle.sparse.errors import SparseShapeError
from treadle.sparse.forms.parts import Compressed, compressed
from treadle.sparse.forms.sparse_op import SparseOp, is_absent
from treadle.sparse.kernels.patterns import Sampled
from treadle.sparse.kernels.structure import INDEX
from treadle.sparse.operands import Operand
from treadle.sparse.types.conversion import as_sparse_variable
from treadle.tensor import ArgumentError, TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Cell, Type, Value
    from treadle.sparse.types.variable import SparseVariable
    from treadle.tensor import TensorVariable

    Variables = Sequence[Variable]
    Terms = Sequence[Variable | None]

__all__ = ["SpSum", "diag", "sp_sum", "square_diagonal"]


@static_op
class SpSum(SparseOp):
    """The sum of a sparse matrix, or along its rows or columns, as a dense tensor of its dtype.

    Parameters
    ----------
    axis
        0 for the sums of columns, 1 for those of rows, None for the sum of all.
    sparse_grad
        Whether gradients flow to stored elements alone, or to all. Nodes that differ in it alone are merged.
    """

    axis: int | None = None
    sparse_grad: bool = field(default=True, compare=False)
    linear_count: ClassVar[int | None] = 1

    def __post_init__(self) -> None:
        """Refuse other axes."""
        if self.axis is not None and (isinstance(self.axis, bool) or self.axis not in {0, 1}):
            msg = f"SpSum: the axis must be None, 0 or 1, got {text_of(self.axis)}."
            raise ArgumentError(msg)

    def as_input(self, value: object) -> Operand:
        """Take a sparse matrix."""
        return as_sparse_variable(value)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a scalar or vector type."""
        kind: Operand = types[0]
        return [TensorType(kind.dtype, () if self.axis is None else (kind.shape[1 - self.axis],))]

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Sum in the matrix's dtype, in which small integers wrap around."""
        (x,) = inputs
        if self.axis is None:
            total = x.data[: x.indptr[-1]].sum(dtype=x.dtype)
        else:
            # SciPy's own sums may sort the matrix in place, and so what shares its memory.
            total = (x if self.axis else x.T) @ np.ones(x.shape[self.axis], x.dtype)
        output_storage[0][0] = np.asarray(total, x.dtype)

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return the length of the other axis."""
        return [() if self.axis is None else (compressed(node.inputs[0]).length(1 - self.axis),)]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        """Spread the cotangents over the stored elements, or over all elements as a dense matrix."""
        x: Operand = inputs[0]
        g: Operand = cotangents[0]
        arrays = compressed(x)
        if self.sparse_grad:
            spread = tt.full_like(arrays.data, g) if self.axis is None else g[arrays.coordinates()[1 - self.axis]]
            return [arrays.with_data(spread).variable()]
        lengths = (arrays.length(0), arrays.length(1))
        by_axis = g if self.axis is None else (g[None, :] if self.axis == 0 else g[:, None])
        return [tt.alloc(by_axis, *lengths)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Terms) -> Terms:
        """Return the sum of the tangent, which may be dense."""
        tangent: Operand = tangents[0]
        if is_absent(tangent):
            return [None]
        return [tangent.sum(self.axis) if isinstance(tangent.type, TensorType) else self.make_node(tangent).outputs[0]]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Add the entries to zeros."""
        arrays = compressed(inputs[0])
        if self.axis is None:
            return [arrays.data.sum(dtype=arrays.data.dtype)]
        zeros = tt.zeros((arrays.length(1 - self.axis),), dtype=arrays.data.dtype)
        return [zeros[arrays.coordinates()[1 - self.axis]].inc(arrays.data)]


def sp_sum(x: Operand, axis: int | None = None, sparse_grad: bool = False) -> TensorVariable:
    """Return the sum of a sparse matrix, or its sums along an axis, as a dense tensor.

    Parameters
    ----------
    x
        The matrix.
    axis
        0 for the sums of columns, 1 for those of rows, None for the sum of all elements.
    sparse_grad
        Whether gradients are structured, at the stored elements alone, or regular, at all of them (the default).

    Raises
    ------
    ArgumentError
        If the axis is another one.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.sp_sum(sparse.as_sparse(A), axis=0).eval()
    array([9., 4.])
    """
    total: TensorVariable = SpSum(axis, sparse_grad)(x)
    return total


def diag(x: Operand) -> TensorVariable:
    """Return the diagonal of a square sparse matrix as a dense vector.

    Gradients have the pattern of the matrix.

    Raises
    ------
    SparseShapeError
        If the matrix is known not to be square.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.diag(A).eval()
    array([0., 0.])
    """
    arrays = compressed(x)
    rows, columns = arrays.lengths
    data = arrays.data
    message = "diag: a square matrix is needed. Take its part with equal lengths first."
    if rows is not None and columns is not None and rows != columns:
        msg = f"{message} The shape is {arrays.lengths}."
        raise SparseShapeError(msg)
    if None in arrays.lengths:
        data = tt.Assert(message)(data, tt.eq(arrays.shape[0], arrays.shape[1]))
    pointers = tt.arange(arrays.length(0) + 1, dtype=INDEX)
    picked: TensorVariable = Sampled()(data, arrays.indices, arrays.indptr, pointers[:-1], pointers, arrays.across)
    return picked if rows is None else tt.specify_shape(picked, (rows,))


def square_diagonal(diag: Operand) -> SparseVariable:
    """Return the square CSC matrix with a vector as its diagonal.

    Raises
    ------
    SparseShapeError
        If it is no vector.

    Examples
    --------
    >>> sparse.square_diagonal([1.0, 2.0]).eval().toarray()
    array([[1., 0.],
           [0., 2.]])
    """
    vector = tt.as_tensor_variable(diag)
    if vector.ndim != 1:
        msg = f"square_diagonal: a vector is needed, got {vector} of type {vector.type}. Flatten it."
        raise SparseShapeError(msg)
    length = vector.shape[0]
    pointers = tt.arange(length + 1, dtype=INDEX)
    shape = tt.stack([length, length]).astype(INDEX)
    known = vector.type.shape[0]
    return Compressed("csc", vector, pointers[:-1], pointers, shape, (known, known)).variable()
