"""Products of matrices of which at least one is sparse."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

import treadle.tensor as tt
from treadle.graph import Apply, Variable, static_op
from treadle.sparse.elementwise.arithmetic import common_dtype, joined_lengths, operands
from treadle.sparse.errors import SparseShapeError, SparseTypeError
from treadle.sparse.forms.dense import SparseFromDense, as_dense, cast, dense_from_sparse
from treadle.sparse.forms.parts import Compressed, Lengths, compressed
from treadle.sparse.forms.sparse_op import SparseOp, is_absent
from treadle.sparse.kernels.patterns import ProductPattern, SampledSparseProduct
from treadle.sparse.kernels.products import LinesProduct, SampledProduct, TransposedLinesProduct
from treadle.sparse.operands import Operand
from treadle.sparse.types.conversion import as_sparse_variable, is_sparse, is_sparse_variable
from treadle.sparse.types.sparse_type import CLASSES, RANK, SparseTensorType, scipy_sparse
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Cell, Value
    from treadle.sparse.types.variable import SparseVariable
    from treadle.tensor import TensorVariable

    Variables = Sequence[Variable]
    Terms = Sequence[Variable | None]

__all__ = [
    "Dot", "TrueDot", "dot", "sampling_dot", "structured_dot", "structured_dot_grad", "true_dot", "usmm",
]  # fmt: skip


def _lengths(x: Operand) -> tuple[int | None, ...]:
    shape: tuple[int | None, ...] = x.type.shape
    return shape


def _check_inner(what: str, x: Operand, y: Operand) -> None:
    """Refuse factors whose ranks or inner lengths are known not to fit."""
    if not (1 <= x.ndim <= RANK and 1 <= y.ndim <= RANK):
        msg = f"{what}: matrices or vectors are needed, got {x} of type {x.type} and {y} of type {y.type}."
        raise SparseShapeError(msg)
    inner = (_lengths(x)[-1], _lengths(y)[0])
    if None not in inner and inner[0] != inner[1]:
        msg = f"{what}: the inner lengths must be equal, got shapes {_lengths(x)} and {_lengths(y)}. Transpose one."
        raise SparseShapeError(msg)


def _times_dense(x: Compressed, y: Operand) -> Operand:
    """Return the dense product of a sparse matrix with a dense one of its dtype; gradients are structured."""
    if x.format == "csr":
        return LinesProduct()(x.data, x.indices, x.indptr, y)
    return TransposedLinesProduct()(x.data, x.indices, x.indptr, y, x.across)


def _product(x: Operand, y: Operand) -> TensorVariable:
    """Return the dense product of two factors, one of them sparse, by kernels."""
    dtype = common_dtype(x, y)
    if is_sparse_variable(x) and is_sparse_variable(y):
        return as_dense(sparse_product(compressed(cast(x, dtype)), compressed(cast(y, dtype))).variable())
    if is_sparse_variable(x):
        dense = y.astype(dtype)
        column = dense[:, None] if dense.ndim == 1 else dense
        known = (x.type.shape[1], column.type.shape[0])
        if None in known and x.type.format == "csr":
            # Kernels take the number of positions across lines from the rows of the dense factor.
            message = "dot: the inner lengths must be equal. Check the shapes of the factors."
            column = tt.Assert(message)(column, tt.eq(column.shape[0], compressed(x).length(1)))
        result: TensorVariable = _times_dense(compressed(cast(x, dtype)), column)
        return result[:, 0] if dense.ndim == 1 else result
    transposed = compressed(y).transposed.variable()
    return _product(transposed, x if x.ndim == 1 else x.T).T


@static_op
class Dot(SparseOp):
    """The dense product of two factors of which at least one is sparse, the other a matrix or vector.

    Gradients are regular: that by a sparse factor is a dense matrix. Where this one is made of its arrays, only the
    elements that belong to these are computed.
    """

    linear_count: ClassVar[int | None] = 2

    def make_node(self, *inputs: Operand) -> Apply:
        """Return the node.

        Raises
        ------
        SparseTypeError
            If no factor is sparse.
        SparseShapeError
            If ranks or lengths are known not to fit.
        """
        if len(inputs) != 2:
            msg = f"{self}: two factors are needed, got {len(inputs)} arguments."
            raise SparseTypeError(msg)
        x, y = operands("dot", *inputs)
        _check_inner("dot", x, y)
        shape = (*_lengths(x)[:-1], *_lengths(y)[1:])
        return Apply(self, [x, y], [TensorType(common_dtype(x, y), shape).make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Multiply with SciPy."""
        x, y = inputs
        if x.shape[-1] != y.shape[0]:
            msg = f"dot: the inner lengths must be equal, got shapes {x.shape} and {y.shape}."
            raise SparseShapeError(msg)
        product = x @ y
        dense = product.toarray() if scipy_sparse.issparse(product) else product
        output_storage[0][0] = np.asarray(dense, node.outputs[0].type.dtype)  # type: ignore[attr-defined]  # a tensor

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return the outer lengths."""
        x, y = node.inputs
        return [(*_symbolic(x, shapes[0])[:-1], *_symbolic(y, shapes[1])[1:])]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        """Multiply the cotangents with the other factor's conjugate transpose."""
        x, y = (_conjugate(v) for v in inputs)
        (g,) = cotangents
        g2: Operand = g
        if x.ndim == 1:
            g2 = g2[None]
        elif y.ndim == 1:
            g2 = g2[:, None]
        by_x = matrix_product(g2, _as_matrix(y, 1).T)
        by_y = matrix_product(_as_matrix(x, 0).T, g2)
        return [by_x[0] if x.ndim == 1 else by_x, by_y[:, 0] if y.ndim == 1 else by_y]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Terms) -> Terms:
        """Return the sum of the products with one tangent after the other, of which one may be dense."""
        x, y = inputs
        terms = [
            None if is_absent(tangents[0]) else matrix_product(tangents[0], y),
            None if is_absent(tangents[1]) else matrix_product(x, tangents[1]),
        ]
        present = [t for t in terms if t is not None]
        return [sum(present[1:], present[0]) if present else None]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Multiply by kernels."""
        x, y = inputs
        product = _product(x, y)
        shape = (*_lengths(x)[:-1], *_lengths(y)[1:])
        return [product if set(shape) <= {None} else tt.specify_shape(product, shape)]


def _symbolic(x: Operand, shape: Operand) -> Operand:
    if not is_sparse_variable(x):
        return shape
    arrays = compressed(x)
    return (arrays.length(0), arrays.length(1))


def _as_matrix(x: Operand, at: int) -> Operand:
    """Return a vector as a row (0) or column (1), a matrix as it is."""
    if x.ndim == RANK:
        return x
    return x[None] if at == 0 else x[:, None]


def _conjugate(x: Operand) -> Operand:
    if x.type.numpy_dtype.kind != "c":
        return x
    if not is_sparse_variable(x):
        return x.conj()
    arrays = compressed(x)
    return arrays.with_data(arrays.data.conj()).variable()


def matrix_product(x: Operand, y: Operand) -> Operand:
    """Return the dense product of two factors, of which none needs to be sparse."""
    return Dot()(x, y) if is_sparse_variable(x) or is_sparse_variable(y) else tt.dot(x, y)


def dot(x: Operand, y: Operand) -> TensorVariable:
    """Return the product of two factors of which at least one is sparse, as a dense tensor.

    Parameters
    ----------
    x, y
        Sparse or dense matrices; a dense one may be a vector.

    Returns
    -------
    A dense matrix or vector. Gradients are regular: that by a sparse factor is a dense matrix of its shape.
    `structured_dot` is the product whose gradients have the pattern of the sparse factor.

    Raises
    ------
    SparseTypeError
        If neither factor is sparse.
    SparseShapeError
        If the inner lengths are known to differ.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.dot(A, np.eye(2)).eval()
    array([[0., 4.],
           [9., 0.]])
    """
    product: TensorVariable = Dot()(x, y)
    return product


def structured_dot(x: Operand, y: Operand) -> Operand:
    """Return the product of two matrices of which at least one is sparse; gradients are structured.

    The gradient by a sparse matrix is computed at its stored elements alone, and has its pattern.

    Returns
    -------
    A dense matrix, or a sparse one where both are sparse, in the format of the first.

    Raises
    ------
    SparseTypeError
        If neither factor is sparse.
    SparseShapeError
        If one is no matrix, or the inner lengths are known to differ.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.structured_dot(A, np.eye(2)).eval()
    array([[0., 4.],
           [9., 0.]])
    """
    first, second = operands("structured_dot", x, y)
    _check_inner("structured_dot", first, second)
    if not first.ndim == second.ndim == RANK:
        msg = f"structured_dot: matrices are needed, got types {first.type} and {second.type}. Use dot for vectors."
        raise SparseShapeError(msg)
    if is_sparse_variable(first) and is_sparse_variable(second):
        return true_dot(first, second)
    product = _product(first, second)
    shape = (_lengths(first)[0], _lengths(second)[1])
    return product if shape == (None, None) else tt.specify_shape(product, shape)


def structured_dot_grad(sparse_A: Operand, dense_B: Operand, ga: Operand) -> SparseVariable:  # noqa: N803 - documented names
    """Return the gradient of `structured_dot` by its sparse factor, for the gradient by the product.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.structured_dot_grad(A, np.eye(2), np.ones((2, 2))).eval().toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    arrays = compressed(sparse_A)
    dense, g = as_dense(dense_B), as_dense(ga)
    dtype = common_dtype(dense, g)
    left, right = (g, dense) if arrays.format == "csr" else (dense, g)
    data = SampledProduct()(arrays.indices, arrays.indptr, left.astype(dtype), right.astype(dtype))
    return arrays.with_data(data).variable()


# Sparse products


def sparse_product(x: Compressed, y: Compressed) -> Compressed:
    """Return the sparse product of two matrices of one dtype, in the format of the first; positions are sorted."""
    y = y.in_format(x.format)
    rows, columns = x.lengths[0], y.lengths[1]
    lengths: Lengths = (rows, columns)
    shape = tt.stack([x.shape[0], y.shape[1]])
    # The lines of a CSC product are those of the transposes, in the other order.
    first, second = (x, y) if x.format == "csr" else (y, x)
    message = "true_dot: the inner lengths must be equal. Check the shapes of the factors."
    inner = first.data
    if None in {x.lengths[1], y.lengths[0]}:
        inner = tt.Assert(message)(inner, tt.eq(x.shape[1], y.shape[0]))
    indices, indptr = ProductPattern()(first.indices, first.indptr, second.indices, second.indptr, second.across)
    data = SampledSparseProduct()(
        inner, first.indices, first.indptr, second.data, second.indices, second.indptr, indices, indptr, second.across
    )  # fmt: skip
    return Compressed(x.format, data, indices, indptr, shape, lengths)


@static_op
class TrueDot(SparseOp):
    """The sparse product of a sparse matrix with another one, or with a dense one; gradients are regular.

    Parameters
    ----------
    grad_preserves_dense
        Whether the gradient by a dense factor is dense; else it is sparse. Nodes that differ in it alone are merged.
    """

    grad_preserves_dense: bool = field(default=True, compare=False)
    linear_count: ClassVar[int | None] = 2

    def make_node(self, *inputs: Operand) -> Apply:
        """Return the node.

        Raises
        ------
        SparseTypeError
            If the first factor is not sparse.
        SparseShapeError
            If one is no matrix, or lengths are known not to fit.
        """
        if len(inputs) != 2:
            msg = f"{self}: two factors are needed, got {len(inputs)} arguments."
            raise SparseTypeError(msg)
        x, y = operands("true_dot", *inputs)
        if not is_sparse_variable(x) or x.ndim != y.ndim:
            msg = f"{self}: a sparse matrix and another matrix are needed, got types {x.type} and {y.type}."
            raise SparseTypeError(msg)
        _check_inner("true_dot", x, y)
        kind = SparseTensorType(x.format, common_dtype(x, y), (_lengths(x)[0], _lengths(y)[1]))
        return Apply(self, [x, y], [kind.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Multiply with SciPy."""
        x, y = inputs
        if x.shape[1] != y.shape[0]:
            msg = f"true_dot: the inner lengths must be equal, got shapes {x.shape} and {y.shape}."
            raise SparseShapeError(msg)
        kind: Operand = node.outputs[0].type
        output_storage[0][0] = CLASSES[kind.format](x @ y).astype(kind.dtype, copy=False)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        """Multiply the cotangents with the other factor's conjugate transpose, as sparse matrices."""
        x, y = (_conjugate(v) for v in inputs)
        (g,) = cotangents
        if is_absent(g):
            return [None, None]
        if not is_sparse_variable(g):
            return [matrix_product(g, y.T), matrix_product(x.T, g)]
        by_x, by_y = true_dot(g, y.T), true_dot(x.T, g)
        keep = self.grad_preserves_dense and not is_sparse_variable(inputs[1])
        return [by_x, dense_from_sparse(by_y) if keep else by_y]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Terms) -> Terms:
        """Return the sum of the products with one tangent after the other."""
        x, y = inputs
        terms = [None if is_absent(tangents[0]) else true_dot(tangents[0], y)]
        terms.append(None if is_absent(tangents[1]) else true_dot(x, tangents[1]))
        present = [t for t in terms if t is not None]
        return [sum(present[1:], present[0]) if present else None]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Multiply by kernels; a dense factor gives a dense product first."""
        x, y = inputs
        dtype = common_dtype(x, y)
        kind: Operand = x.type
        if is_sparse_variable(y):
            return [sparse_product(compressed(cast(x, dtype)), compressed(cast(y, dtype))).variable()]
        return [SparseFromDense(kind.format)(_product(x, y))]


def true_dot(x: Operand, y: Operand, grad_preserves_dense: bool = True) -> SparseVariable:
    """Return the product of two matrices of which at least one is sparse, as a sparse matrix.

    Parameters
    ----------
    x, y
        Matrices, at least one of them sparse.
    grad_preserves_dense
        Whether the gradient by a dense factor is dense; else it is sparse.

    Returns
    -------
    A sparse matrix in the format of the first factor that is sparse. The product of two sparse ones stores each element
    that a term reaches, in ascending order, as SciPy's does after ``sort_indices()``. Gradients are regular: they need
    not have the pattern of a factor.

    Raises
    ------
    SparseTypeError
        If neither is sparse.
    SparseShapeError
        If one is no matrix, or the inner lengths are known to differ.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.true_dot(A, np.eye(2)).eval().toarray()
    array([[0., 4.],
           [9., 0.]])
    """
    first, second = operands("true_dot", x, y)
    if is_sparse_variable(first):
        product: SparseVariable = TrueDot(grad_preserves_dense)(first, second)
        return product
    return true_dot(second.T, first.T, grad_preserves_dense).T


# Further products


def sampling_dot(x: Operand, y: Operand, p: Operand) -> SparseVariable:
    """Return ``p * (x @ y.T)``, of which only the elements that the sparse matrix p stores are computed.

    Parameters
    ----------
    x, y
        Dense matrices with as many columns.
    p
        A sparse matrix, such as one of ones at the positions to compute.

    Returns
    -------
    A sparse matrix of the format and pattern of p; gradients by p have its pattern.

    Raises
    ------
    SparseTypeError
        If x or y is sparse, or p is not.
    SparseShapeError
        If they are no matrices, or lengths are known not to fit.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.sampling_dot(np.eye(2), np.eye(2), A).eval().toarray()
    array([[0., 0.],
           [0., 0.]])
    """
    var = as_sparse_variable(p)
    for name, factor in (("x", x), ("y", y)):
        if is_sparse(factor) or is_sparse_variable(factor):
            msg = f"sampling_dot: {name} must be dense, got {factor}. Make it dense with dense_from_sparse."
            raise SparseTypeError(msg)
    left, right = tt.as_tensor_variable(x), tt.as_tensor_variable(y)
    if left.ndim != RANK or right.ndim != RANK:
        msg = f"sampling_dot: x and y must be matrices, got types {left.type} and {right.type}."
        raise SparseShapeError(msg)
    dtype = common_dtype(left, right, var)
    arrays = compressed(cast(var, dtype))
    joined_lengths("sampling_dot", arrays.lengths, (left.type.shape[0], right.type.shape[0]))
    first, second = (left, right) if arrays.format == "csr" else (right, left)
    sampled = SampledProduct()(arrays.indices, arrays.indptr, first.astype(dtype), second.astype(dtype))
    return arrays.with_data(arrays.data * sampled).variable()


def usmm(alpha: Operand, x: Operand, y: Operand, z: Operand) -> TensorVariable:
    """Return ``alpha * x @ y + z``, where at least one of x and y is sparse.

    Parameters
    ----------
    alpha
        A scalar.
    x, y
        Matrices, at least one of them sparse.
    z
        A dense matrix.

    Raises
    ------
    SparseTypeError
        If neither x nor y is sparse.
    SparseShapeError
        If alpha is no scalar, or z no matrix.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.usmm(2.0, A, np.eye(2), np.ones((2, 2))).eval()
    array([[ 1.,  9.],
           [19.,  1.]])
    """
    scale, addend = tt.as_tensor_variable(alpha), tt.as_tensor_variable(z)
    if any(n != 1 for n in scale.type.shape) or addend.ndim != RANK:
        msg = f"usmm: a scalar alpha and a matrix z are needed, got types {scale.type} and {addend.type}."
        raise SparseShapeError(msg)
    first, second = operands("usmm", x, y)
    product: Operand = structured_dot(first, second)
    total: TensorVariable = scale.reshape(()) * as_dense(product) + addend
    return total
