"""Sums, differences and products of elements, of sparse matrices with each other and with dense ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import treadle.tensor as tt
from treadle.config import alias
from treadle.sparse.errors import SparseShapeError, SparseTypeError
from treadle.sparse.forms.dense import as_dense, cast
from treadle.sparse.forms.parts import Compressed, Lengths, compressed
from treadle.sparse.kernels.patterns import CombinedPattern
from treadle.sparse.operands import Operand
from treadle.sparse.types.conversion import (
    as_sparse_or_tensor_variable,
    as_sparse_variable,
    is_sparse,
    is_sparse_variable,
)
from treadle.sparse.types.sparse_type import RANK

if TYPE_CHECKING:
    from treadle.sparse.types.variable import SparseVariable
    from treadle.tensor import TensorVariable

__all__ = [
    "add", "add_s_d", "add_s_s", "add_s_s_data", "col_scale", "divide", "mul", "mul_s_d", "mul_s_s", "mul_s_v",
    "multiply", "neg", "row_scale", "structured_add_s_v", "sub", "subtract",
]  # fmt: skip


def _beside(x: Operand, other: Operand) -> Operand:
    """Return an operand as a variable; a plain number takes the dtype of a sparse operand beside it, as in NumPy."""
    if type(x) in {bool, int, float, complex} and (is_sparse(other) or is_sparse_variable(other)):
        return tt.as_tensor_variable(x, dtype=np.result_type(np.dtype(other.dtype), x))
    return as_sparse_or_tensor_variable(x)


def operands(what: str, x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """Return two operands as variables, of which one must be sparse.

    Raises
    ------
    SparseTypeError
        If neither is.
    """
    first, second = _beside(x, y), _beside(y, x)
    if not is_sparse_variable(first) and not is_sparse_variable(second):
        msg = (
            f"{what}: a sparse matrix is needed among the operands, got {first} of type {first.type} and {second} of "
            f"type {second.type}. Use the function of treadle.tensor."
        )
        raise SparseTypeError(msg)
    return first, second


def joined_lengths(what: str, first: Lengths, second: Lengths) -> Lengths:
    """Return what is known of the lengths that two matrices must share.

    Raises
    ------
    SparseShapeError
        If they are known to differ.
    """
    for a, b in zip(first, second, strict=True):
        if a is not None and b is not None and a != b:
            msg = (
                f"{what}: two matrices of one shape are needed, got {first} and {second}. Sparse ones do not broadcast."
            )
            raise SparseShapeError(msg)
    rows, columns = (a if b is None else b for a, b in zip(first, second, strict=True))
    return (rows, columns)


def common_dtype(*xs: Operand) -> str:
    """Return the dtype of results of operands."""
    return str(np.result_type(*(x.type.numpy_dtype for x in xs)))


def _same_shape(what: str, arrays: Compressed, shape: Operand) -> Operand:
    """Return the elements of a matrix, checked to be of another one's shape when the program runs."""
    if arrays.shape is shape:
        return arrays.data
    message = f"{what}: two matrices of one shape are needed. Sparse ones do not broadcast."
    return tt.Assert(message)(arrays.data, tt.all(tt.eq(arrays.shape, shape)))


def _pair(what: str, x: Operand, y: Operand) -> tuple[Compressed, Compressed]:
    """Return two sparse matrices of one dtype, shape and format, that of the first."""
    dtype = common_dtype(x, y)
    first, second = compressed(cast(x, dtype)), compressed(cast(y, dtype))
    lengths = joined_lengths(what, first.lengths, second.lengths)
    second = second.in_format(first.format)
    if None in lengths or None in first.lengths or None in second.lengths:
        second = second.with_data(_same_shape(what, second, first.shape))
    return (
        Compressed(first.format, first.data, first.indices, first.indptr, first.shape, lengths),
        Compressed(second.format, second.data, second.indices, second.indptr, first.shape, lengths),
    )


def _combined(first: Compressed, second: Compressed, both: bool) -> Compressed:
    """Return a matrix of the pattern that two combine to, with no elements of its own."""
    indices, indptr = CombinedPattern(both)(first.indices, first.indptr, second.indices, second.indptr, first.across)
    return Compressed(first.format, first.data, indices, indptr, first.shape, first.lengths)


def combined_elements(what: str, x: Operand, y: Operand) -> tuple[Compressed, Operand, Operand]:
    """Return the pattern of where one of two sparse matrices stores something, and the elements of both there."""
    first, second = _pair(what, x, y)
    pattern = _combined(first, second, both=False)
    return pattern, first.elements_at(pattern), second.elements_at(pattern)


def add_s_s(x: Operand, y: Operand) -> SparseVariable:
    """Add two sparse matrices of one shape; the sum has the format of the first.

    It stores an element where one of the two does, also where both cancel: which are stored depends on positions alone.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.add_s_s(A, A).eval().toarray()
    array([[ 0.,  8.],
           [18.,  0.]])
    """
    first, second = _pair("add", as_sparse_variable(x), as_sparse_variable(y))
    if first.has_pattern_of(second):
        return first.with_data(first.data + second.data).variable()
    pattern = _combined(first, second, both=False)
    return pattern.with_data(first.elements_at(pattern) + second.elements_at(pattern)).variable()


def add_s_s_data(x: Operand, y: Operand) -> SparseVariable:
    """Add two sparse matrices that store elements at the same positions, which is not checked but for their number.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.add_s_s_data(A, A).eval().toarray()
    array([[ 0.,  8.],
           [18.,  0.]])
    """
    first, second = _pair("add_s_s_data", as_sparse_variable(x), as_sparse_variable(y))
    message = "add_s_s_data: two matrices that store as many elements are needed. Use add for others."
    data = tt.Assert(message)(second.data, tt.eq(first.data.shape[0], second.data.shape[0]))
    return first.with_data(first.data + data).variable()


def _dense_operand(what: str, arrays: Compressed, y: TensorVariable, *ranks: int) -> None:
    if y.ndim not in ranks:
        needed = " or ".join(map(str, ranks))
        msg = f"{what}: the dense operand must have rank {needed}, got {y} of type {y.type}. Reshape it."
        raise SparseShapeError(msg)
    if y.ndim == RANK:
        shape = y.type.shape
        joined_lengths(what, arrays.lengths, (shape[0], shape[1]))


def add_s_d(x: Operand, y: Operand) -> TensorVariable:
    """Add a sparse and a dense matrix of one shape, which gives a dense one; gradients by the sparse are structured.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.add_s_d(A, np.ones((2, 2))).eval()
    array([[ 1.,  5.],
           [10.,  1.]])
    """
    var, dense = as_sparse_variable(x), tt.as_tensor_variable(y)
    dtype = common_dtype(var, dense)
    arrays = compressed(cast(var, dtype))
    _dense_operand("add", arrays, dense, RANK)
    data = arrays.data
    if None in (*arrays.lengths, *dense.type.shape):
        data = _same_shape("add", arrays, dense.shape.astype(arrays.shape.dtype))
    total: TensorVariable = dense.astype(dtype)[arrays.coordinates()].inc(data)
    return total


def structured_add_s_v(x: Operand, y: Operand) -> SparseVariable:
    """Add element j of a vector to the stored elements of column j; gradients are structured.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.structured_add_s_v(A, [1.0, 10.0]).eval().toarray()
    array([[ 0., 14.],
           [10.,  0.]])
    """
    var, vector = as_sparse_variable(x), tt.as_tensor_variable(y)
    dtype = common_dtype(var, vector)
    arrays = compressed(cast(var, dtype))
    spread = _along("structured_add_s_v", arrays, vector.astype(dtype), 1)
    return arrays.with_data(arrays.data + spread).variable()


def add(x: Operand, y: Operand) -> Operand:
    """Add two matrices of one shape, at least one of which is sparse.

    Returns
    -------
    A sparse matrix of the format of the first if both are sparse, else a dense one. Gradients by a sparse operand have
    its pattern.

    Raises
    ------
    SparseTypeError
        If neither is sparse.
    SparseShapeError
        If their shapes are known to differ.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.add(A, A).eval().toarray()
    array([[ 0.,  8.],
           [18.,  0.]])
    """
    first, second = operands("add", x, y)
    if is_sparse_variable(first):
        return add_s_s(first, second) if is_sparse_variable(second) else add_s_d(first, second)
    return add_s_d(second, first)


def neg(x: Operand) -> SparseVariable:
    """Change the sign of the elements of a sparse matrix.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.neg(A).eval().toarray()
    array([[ 0., -4.],
           [-9.,  0.]])
    """
    arrays = compressed(x)
    return arrays.with_data(-arrays.data).variable()


def subtract(x: Operand, y: Operand) -> Operand:
    """Subtract two matrices of one shape, at least one of which is sparse: as `add`.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.subtract(A, A).eval().toarray()
    array([[0., 0.],
           [0., 0.]])
    """
    first, second = operands("subtract", x, y)
    return add(first, neg(second) if is_sparse_variable(second) else -second)


sub = alias(subtract, "sub")


def _along(what: str, arrays: Compressed, vector: Operand, axis: int) -> Operand:
    """Return for each entry the element of a vector that belongs to its row (axis 0) or column (axis 1)."""
    if vector.ndim != 1:
        msg = f"{what}: a vector is needed, got {vector} of type {vector.type}. Flatten it."
        raise SparseShapeError(msg)
    known = (arrays.lengths[axis], vector.type.shape[0])
    if None not in known and known[0] != known[1]:
        msg = f"{what}: a vector of length {known[0]} is needed, got one of type {vector.type}."
        raise SparseShapeError(msg)
    if None in known:
        message = f"{what}: the vector needs one element for each {('row', 'column')[axis]} of the matrix."
        vector = tt.Assert(message)(vector, tt.eq(vector.shape[0], arrays.length(axis)))
    return vector[arrays.coordinates()[axis]]


def row_scale(x: Operand, s: Operand) -> SparseVariable:
    """Multiply row i of a sparse matrix by element i of a vector; gradients are structured.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.row_scale(A, [1.0, 10.0]).eval().toarray()
    array([[ 0.,  4.],
           [90.,  0.]])
    """
    return _scaled("row_scale", x, s, 0)


def col_scale(x: Operand, s: Operand) -> SparseVariable:
    """Multiply column j of a sparse matrix by element j of a vector; gradients are structured.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.col_scale(A, [1.0, 10.0]).eval().toarray()
    array([[ 0., 40.],
           [ 9.,  0.]])
    """
    return _scaled("col_scale", x, s, 1)


def _scaled(what: str, x: Operand, s: Operand, axis: int) -> SparseVariable:
    var, vector = as_sparse_variable(x), tt.as_tensor_variable(s)
    dtype = common_dtype(var, vector)
    arrays = compressed(cast(var, dtype))
    return arrays.with_data(arrays.data * _along(what, arrays, vector.astype(dtype), axis)).variable()


def mul_s_s(x: Operand, y: Operand) -> SparseVariable:
    """Multiply the elements of two sparse matrices; the product stores one where both do.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.mul_s_s(A, A).eval().toarray()
    array([[ 0., 16.],
           [81.,  0.]])
    """
    first, second = _pair("multiply", as_sparse_variable(x), as_sparse_variable(y))
    pattern = _combined(first, second, both=True)
    return pattern.with_data(first.elements_at(pattern) * second.elements_at(pattern)).variable()


def mul_s_d(x: Operand, y: Operand) -> SparseVariable:
    """Multiply a sparse matrix by a scalar, or its elements by those of a dense matrix of its shape.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.mul_s_d(A, 2 * np.ones((2, 2))).eval().toarray()
    array([[ 0.,  8.],
           [18.,  0.]])
    """
    var, dense = as_sparse_variable(x), tt.as_tensor_variable(y)
    dtype = common_dtype(var, dense)
    arrays = compressed(cast(var, dtype))
    _dense_operand("multiply", arrays, dense, 0, RANK)
    factor = dense.astype(dtype)
    if dense.ndim:
        if None in (*arrays.lengths, *dense.type.shape):
            checked = _same_shape("multiply", arrays, dense.shape.astype(arrays.shape.dtype))
            return arrays.with_data(checked * factor[arrays.coordinates()]).variable()
        factor = factor[arrays.coordinates()]
    return arrays.with_data(arrays.data * factor).variable()


def mul_s_v(x: Operand, y: Operand) -> SparseVariable:
    """Multiply the elements of a sparse matrix by those of a vector, as a row: column j by element j.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.mul_s_v(A, [1.0, 10.0]).eval().toarray()
    array([[ 0., 40.],
           [ 9.,  0.]])
    """
    return _scaled("mul_s_v", x, y, 1)


def multiply(x: Operand, y: Operand) -> SparseVariable:
    """Multiply elements of two operands, at least one of which is a sparse matrix.

    Parameters
    ----------
    x, y
        Sparse matrices, and at most one scalar, dense matrix of the same shape, or vector, which stands for a row.

    Returns
    -------
    A sparse matrix, in the format of the first one; gradients by sparse operands have their pattern.

    Raises
    ------
    SparseTypeError
        If neither is sparse.
    SparseShapeError
        If their shapes are known not to fit.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.multiply(A, A).eval().toarray()
    array([[ 0., 16.],
           [81.,  0.]])
    """
    first, second = operands("multiply", x, y)
    if not is_sparse_variable(first):
        first, second = second, first
    if is_sparse_variable(second):
        return mul_s_s(first, second)
    return mul_s_v(first, second) if second.ndim == 1 else mul_s_d(first, second)


mul = alias(multiply, "mul")


def divide(x: Operand, y: Operand) -> SparseVariable:
    """Divide the elements of a sparse matrix by a scalar, a dense matrix of its shape, or a vector, as a row.

    What is not stored stays 0, whatever it is divided by.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.divide(A, 2.0).eval().toarray()
    array([[0. , 2. ],
           [4.5, 0. ]])
    """
    var = as_sparse_variable(x)
    divisor = _beside(y, var)
    if is_sparse_variable(divisor):
        msg = f"divide: a dense divisor is needed, got the sparse matrix {divisor}. Most of its elements are 0."
        raise SparseTypeError(msg)
    return multiply(var, 1 / as_dense(divisor))
