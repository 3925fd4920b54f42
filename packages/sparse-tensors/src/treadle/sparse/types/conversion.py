"""From plain values to sparse variables, and the functions that make inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import alias, text_of
from treadle.graph import Apply, Variable
from treadle.graph import shared as shared_variable
from treadle.sparse.errors import SparseTypeError
from treadle.sparse.operands import Operand
from treadle.sparse.types.sparse_type import SparseTensorType, scipy_sparse
from treadle.sparse.types.variable import SparseConstant, SparseTensorSharedVariable, SparseVariable, sparse_type_of
from treadle.tensor import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.tensor import TensorVariable

__all__ = [
    "as_sparse", "as_sparse_or_tensor_variable", "as_sparse_variable", "as_symbolic_sparse", "constant", "csc_dmatrix",
    "csc_fmatrix", "csc_matrix", "csr_dmatrix", "csr_fmatrix", "csr_matrix", "dcsc_matrix", "dcsr_matrix",
    "fcsc_matrix", "fcsr_matrix", "is_sparse", "is_sparse_variable", "matrix", "shared", "sparse_constructor",
]  # fmt: skip


def is_sparse(value: object) -> bool:
    """Whether a value is one of SciPy's sparse matrices or arrays.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.is_sparse(A), sparse.is_sparse([1.0])
    (True, False)
    """
    return bool(scipy_sparse.issparse(value))


def is_sparse_variable(value: object) -> bool:
    """Whether a value is a variable for sparse matrices.

    Examples
    --------
    >>> sparse.is_sparse_variable(sparse.csc_matrix("A"))
    True
    """
    return isinstance(value, Variable) and isinstance(value.type, SparseTensorType)


def constant(x: Operand, name: str | None = None) -> SparseConstant:
    """Return a sparse matrix or array of SciPy's as a constant, of which it holds a copy.

    Raises
    ------
    SparseTypeError
        If it is no sparse matrix in one of the formats CSR and CSC, of a dtype that these may have.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.constant(A).type
    SparseTensorType(format='csr', dtype='float64', shape=(2, 2))
    """
    kind = sparse_type_of(x).clone(shape=x.shape)
    return kind.make_constant(kind.filter(x.copy()), name)


def as_sparse_variable(x: Operand, name: str | None = None, ndim: int | None = None) -> SparseVariable:
    """Return a sparse variable, or a sparse matrix of SciPy's as a constant.

    Parameters
    ----------
    x
        The variable or matrix.
    name
        Name of the constant.
    ndim
        The rank that it must have: 2, or None.

    Raises
    ------
    SparseTypeError
        If it is something else.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.as_sparse_variable(A).type
    SparseTensorType(format='csr', dtype='float64', shape=(2, 2))
    """
    if ndim not in {None, 2}:
        msg = f"as_sparse_variable: a sparse matrix has rank 2, got ndim={text_of(ndim)}. Leave it out."
        raise SparseTypeError(msg)
    if isinstance(x, Apply):
        x = x.out
    if isinstance(x, SparseVariable):
        return x
    if isinstance(x, Variable):
        msg = (
            f"as_sparse_variable: a sparse matrix is needed, got {x} of type {x.type}. Make it sparse with "
            "csr_from_dense or csc_from_dense."
        )
        raise SparseTypeError(msg)
    if not is_sparse(x):
        msg = (
            f"as_sparse_variable: a sparse variable, or a sparse matrix of SciPy's, is needed, got {text_of(x)}. "
            "Convert it first, for instance with scipy.sparse.csr_matrix."
        )
        raise SparseTypeError(msg)
    return constant(x, name)


as_sparse = alias(as_sparse_variable, "as_sparse")
as_symbolic_sparse = alias(as_sparse_variable, "as_symbolic_sparse")


def as_sparse_or_tensor_variable(x: Operand, name: str | None = None) -> SparseVariable | TensorVariable:
    """Return a sparse variable for what is sparse, a tensor variable for anything else.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.as_sparse_or_tensor_variable(A).type
    SparseTensorType(format='csr', dtype='float64', shape=(2, 2))
    """
    if isinstance(x, Apply):
        x = x.out
    return as_sparse_variable(x, name) if is_sparse(x) or is_sparse_variable(x) else as_tensor_variable(x, name)


# Inputs


def matrix(
    format: str, name: str | None = None, dtype: object = None, shape: Iterable[int | None] | None = None
) -> SparseVariable:
    """Return a new sparse variable.

    Parameters
    ----------
    format
        ``csr`` or ``csc``.
    name
        Its name.
    dtype
        Its dtype, ``floatX`` if None.
    shape
        Numbers of rows and columns, None where one is unknown.

    Examples
    --------
    >>> sparse.matrix("csr", "A").type
    SparseTensorType(format='csr', dtype='float64', shape=(None, None))
    """
    return SparseTensorType(format, dtype, shape)(name)


def csr_matrix(
    name: str | None = None, dtype: object = None, shape: Iterable[int | None] | None = None
) -> SparseVariable:
    """Return a new variable for CSR matrices; parameters as of `matrix`.

    Examples
    --------
    >>> csr_matrix("x", dtype="float32", shape=(None, 3)).type
    SparseTensorType(format='csr', dtype='float32', shape=(None, 3))
    """
    return matrix("csr", name, dtype, shape)


def csc_matrix(
    name: str | None = None, dtype: object = None, shape: Iterable[int | None] | None = None
) -> SparseVariable:
    """Return a new variable for CSC matrices; parameters as of `matrix`.

    Examples
    --------
    >>> sparse.csc_matrix("A").type
    SparseTensorType(format='csc', dtype='float64', shape=(None, None))
    """
    return matrix("csc", name, dtype, shape)


# Types, which make variables when they are called with a name.
csr_dmatrix = dcsr_matrix = SparseTensorType("csr", "float64")
csc_dmatrix = dcsc_matrix = SparseTensorType("csc", "float64")
csr_fmatrix = fcsr_matrix = SparseTensorType("csr", "float32")
csc_fmatrix = fcsc_matrix = SparseTensorType("csc", "float32")


def shared(
    value: Operand, name: str | None = None, strict: bool = False, allow_downcast: bool | None = None,
    borrow: bool = False, format: str | None = None,
) -> SparseTensorSharedVariable:  # fmt: skip
    """Return a shared variable that holds a sparse matrix.

    Parameters
    ----------
    value
        The matrix or array of SciPy's.
    name, strict, allow_downcast
        As for `treadle.compile.shared`.
    borrow
        Whether to keep the matrix itself rather than a copy.
    format
        The format to convert it to; its own if None.

    Raises
    ------
    SparseTypeError
        If it is no sparse matrix.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.shared(A).get_value().toarray()
    array([[0., 4.],
           [9., 0.]])
    """
    kind = sparse_type_of(value if format is None or not is_sparse(value) else value.asformat(format))
    held = kind.filter(value) if borrow else kind.filter(value).copy()
    var: SparseTensorSharedVariable = shared_variable(
        held, name, strict=strict, allow_downcast=allow_downcast, borrow=True
    )
    return var


sparse_constructor = alias(shared, "sparse_constructor")
