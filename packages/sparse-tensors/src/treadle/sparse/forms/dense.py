"""Between sparse and dense: DenseFromSparse and SparseFromDense, formats, dtypes, and matrices like others."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

import treadle.tensor as tt
from treadle.graph import Apply, Variable, static_op
from treadle.sparse.errors import SparseShapeError, SparseTypeError
from treadle.sparse.forms.parts import Compressed, compressed, elements_at
from treadle.sparse.forms.sparse_op import SparseOp, is_absent
from treadle.sparse.kernels.lines import Densified
from treadle.sparse.kernels.structure import INDEX
from treadle.sparse.operands import Operand
from treadle.sparse.types.conversion import as_sparse_variable, is_sparse, is_sparse_variable
from treadle.sparse.types.sparse_type import CLASSES, RANK, SparseTensorType, check_format
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Cell, Type, Value
    from treadle.sparse.types.variable import SparseVariable
    from treadle.tensor import TensorVariable

    Variables = Sequence[Variable]
    Terms = Sequence[Variable | None]

__all__ = [
    "DenseFromSparse", "SparseFromDense", "as_dense", "asformat", "bcast", "cast", "ccast", "compressed_from_dense",
    "copy", "csc_from_dense", "csr_from_dense", "dcast", "dense_from_sparse", "fcast", "icast", "lcast", "sp_ones_like",
    "sp_zeros_like", "transpose", "wcast", "zcast",
]  # fmt: skip


@static_op
class DenseFromSparse(SparseOp):
    """A sparse matrix as a dense one; entries of the same position add up.

    Parameters
    ----------
    structured
        Whether gradients flow to stored elements alone (the default), or to all elements: regular ones. The value is
        the same, so that nodes which differ in it alone are merged.
    """

    structured: bool = field(default=True, compare=False)
    linear_count: ClassVar[int | None] = 1

    def __call__(self, *inputs: Operand, **kwargs: Operand) -> Operand:
        """Return the dense matrix; a tensor as it is."""
        if len(inputs) == 1 and isinstance(inputs[0], Variable) and isinstance(inputs[0].type, TensorType):
            return inputs[0]
        return super().__call__(*inputs, **kwargs)

    def as_input(self, value: object) -> Operand:
        """Take a sparse matrix."""
        return as_sparse_variable(value)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the type of the dense matrix."""
        (kind,) = types
        return [TensorType(kind.dtype, kind.shape)]  # type: ignore[attr-defined]  # a sparse matrix

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Make it dense with SciPy."""
        output_storage[0][0] = inputs[0].toarray()

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return the lengths of the sparse matrix."""
        arrays = compressed(node.inputs[0])
        return [(arrays.length(0), arrays.length(1))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        """Return the gradient at the stored elements, or the whole of it as a sparse matrix."""
        if not self.structured:
            return [SparseFromDense(inputs[0].type.format)(cotangents[0])]  # type: ignore[attr-defined]  # sparse
        arrays = compressed(inputs[0])
        return [arrays.with_data(elements_at(cotangents[0], arrays)).variable()]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Terms) -> Terms:
        """Return the tangent, made dense."""
        return [None if is_absent(tangents[0]) else as_dense(tangents[0])]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Write the entries into zeros."""
        arrays = compressed(inputs[0])
        dense = Densified()(arrays.data, arrays.indices, arrays.indptr, arrays.across)
        dense = dense if arrays.format == "csr" else dense.T
        return [tt.specify_shape(dense, arrays.lengths) if arrays.lengths != (None, None) else dense]


dense_from_sparse = DenseFromSparse()


def as_dense(x: Operand) -> TensorVariable:
    """Return a sparse matrix made dense, or anything else as a tensor."""
    dense: TensorVariable = dense_from_sparse(x) if is_sparse(x) or is_sparse_variable(x) else tt.as_tensor_variable(x)
    return dense


@static_op
class SparseFromDense(SparseOp):
    """A dense matrix as a sparse one, which stores what is not zero; a vector becomes a row.

    Gradients are regular: they flow to all elements.

    Parameters
    ----------
    format
        ``csr`` or ``csc``.
    """

    format: str

    def __post_init__(self) -> None:
        """Refuse other formats."""
        check_format("SparseFromDense", self.format)

    def __call__(self, *inputs: Operand, **kwargs: Operand) -> Operand:
        """Return the sparse matrix; one that is sparse already as it is."""
        if len(inputs) == 1 and is_sparse_variable(inputs[0]):
            return inputs[0]
        return super().__call__(*inputs, **kwargs)

    def make_node(self, *inputs: Operand) -> Apply:
        """Return the node.

        Raises
        ------
        SparseShapeError
            If the tensor has more than two dimensions.
        SparseTypeError
            If sparse matrices do not have its dtype.
        """
        if len(inputs) != 1:
            msg = f"{self}: one tensor is needed, got {len(inputs)} arguments."
            raise SparseTypeError(msg)
        x = tt.as_tensor_variable(inputs[0])
        if x.ndim > RANK:
            msg = f"{self}: a matrix is needed, got {x} of type {x.type}. Sparse tensors have two dimensions."
            raise SparseShapeError(msg)
        x = tt.as_tensor_variable(x, ndim=RANK)
        return Apply(self, [x], [SparseTensorType(self.format, x.dtype, x.type.shape).make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Make it sparse with SciPy."""
        output_storage[0][0] = CLASSES[self.format](inputs[0])

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        """Return the gradient, made dense."""
        return [None if is_absent(cotangents[0]) else as_dense(cotangents[0])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Terms) -> Terms:
        """Return the tangent at the positions of the result."""
        if is_absent(tangents[0]):
            return [None]
        arrays = compressed(outputs[0])
        return [arrays.with_data(elements_at(tangents[0], arrays)).variable()]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Search for what is not zero."""
        return [compressed_from_dense(inputs[0], self.format).variable()]


csr_from_dense = SparseFromDense("csr")
csc_from_dense = SparseFromDense("csc")


def pointers_of(counts: Operand) -> Operand:
    """Return the pointers of lines with these numbers of entries."""
    return tt.concatenate([tt.zeros((1,), dtype=INDEX), tt.cumsum(counts).astype(INDEX)])


def compressed_from_dense(dense: Operand, name: str) -> Compressed:
    """Return the arrays of a dense matrix in a format."""
    by_line = dense if name == "csr" else dense.T
    mask = tt.neq(by_line, 0)
    lines, positions = tt.nonzero(mask)
    indptr = pointers_of(mask.sum(axis=1, dtype="int64"))
    data = by_line[lines, positions]
    return Compressed(name, data, positions.astype(INDEX), indptr, dense.shape.astype(INDEX), dense.type.shape)


def asformat(x: Operand, format: str) -> SparseVariable:
    """Return a sparse matrix in a format, ``csr`` or ``csc``; entries come sorted if the format changes.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.asformat(A, "csc").eval().format
    'csc'
    """
    var = as_sparse_variable(x)
    name = check_format("asformat", format)
    return var if var.format == name else compressed(var).in_format(name).variable()


def transpose(x: Operand) -> SparseVariable:
    """Return the transpose of a sparse matrix, of the other format: the same arrays, read the other way.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.transpose(A).eval().toarray()
    array([[0., 9.],
           [4., 0.]])
    """
    return compressed(x).transposed.variable()


def cast(variable: Operand, dtype: object) -> SparseVariable:
    """Convert the elements of a sparse matrix to another dtype; gradients are structured.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.cast(sparse.as_sparse(A), "float32").eval().dtype
    dtype('float32')
    """
    var = as_sparse_variable(variable)
    target = SparseTensorType(var.format, dtype).dtype
    if target == var.dtype:
        return var
    arrays = compressed(var)
    return arrays.with_data(tt.cast(arrays.data, target)).variable()


def bcast(variable: Operand) -> SparseVariable:
    """Convert the elements to int8.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.bcast(sparse.as_sparse(A)).dtype
    'int8'
    """
    return cast(variable, "int8")


def wcast(variable: Operand) -> SparseVariable:
    """Convert the elements to int16.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.wcast(sparse.as_sparse(A)).dtype
    'int16'
    """
    return cast(variable, "int16")


def icast(variable: Operand) -> SparseVariable:
    """Convert the elements to int32.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.icast(sparse.as_sparse(A)).dtype
    'int32'
    """
    return cast(variable, "int32")


def lcast(variable: Operand) -> SparseVariable:
    """Convert the elements to int64.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.lcast(sparse.as_sparse(A)).dtype
    'int64'
    """
    return cast(variable, "int64")


def fcast(variable: Operand) -> SparseVariable:
    """Convert the elements to float32.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.fcast(sparse.as_sparse(A)).dtype
    'float32'
    """
    return cast(variable, "float32")


def dcast(variable: Operand) -> SparseVariable:
    """Convert the elements to float64.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.dcast(sparse.as_sparse(A)).dtype
    'float64'
    """
    return cast(variable, "float64")


def ccast(variable: Operand) -> SparseVariable:
    """Convert the elements to complex64.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.ccast(sparse.as_sparse(A)).dtype
    'complex64'
    """
    return cast(variable, "complex64")


def zcast(variable: Operand) -> SparseVariable:
    """Convert the elements to complex128.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.zcast(sparse.as_sparse(A)).dtype
    'complex128'
    """
    return cast(variable, "complex128")


def copy(x: Operand) -> SparseVariable:
    """Return a copy of a sparse matrix.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.copy(A).eval().toarray()
    array([[0., 4.],
           [9., 0.]])
    """
    arrays = compressed(x)
    return arrays.with_data(arrays.data.copy()).variable()


def sp_ones_like(x: Operand) -> SparseVariable:
    """Return ones at the positions where a sparse matrix stores elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.sp_ones_like(A).eval().toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    arrays = compressed(x)
    return arrays.with_data(tt.ones_like(arrays.data)).variable()


def sp_zeros_like(x: Operand) -> SparseVariable:
    """Return a matrix of the shape, format and dtype of a sparse one that stores nothing.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.sp_zeros_like(A).eval().toarray()
    array([[0., 0.],
           [0., 0.]])
    """
    arrays = compressed(x)
    empty = Compressed(
        arrays.format,
        tt.constant(np.zeros(0, arrays.data.dtype)),
        tt.constant(np.zeros(0, INDEX)),
        tt.zeros_like(arrays.indptr),
        arrays.shape,
        arrays.lengths,
    )
    return empty.variable()
