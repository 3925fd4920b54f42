"""Sparse variables: their operators and methods, constants and shared variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from treadle.graph import Constant, SharedVariable, Variable
from treadle.sparse.errors import SparseTypeError
from treadle.sparse.operands import Operand
from treadle.sparse.types.sparse_type import SparseTensorType, check_format, scipy_sparse
from treadle.sparse.upward import upward

if TYPE_CHECKING:
    from treadle.tensor import TensorVariable

__all__ = ["SparseConstant", "SparseTensorSharedVariable", "SparseVariable"]

# What NumPy's functions and the methods of tensors are for stored elements alone.
_STRUCTURED = (
    *("sin", "sinh", "tan", "tanh", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "floor", "trunc", "rint", "sign"),
    *("sqrt", "sqr", "expm1", "log1p", "deg2rad", "rad2deg", "conj"),
)


class SparseVariable(Variable[SparseTensorType]):
    """A symbolic sparse matrix.

    Sums and differences, products of elements (``*``) and of matrices (``@``), comparisons and indexing are those of
    `treadle.sparse`. ``==`` and ``!=`` compare identity, so that variables can be keys; `eq` and `neq` compare
    elements.
    """

    __slots__ = ()
    __hash__ = Variable.__hash__
    # NumPy's arrays leave operators to the variable, and so do SciPy's matrices, which look at the priority.
    __array_ufunc__: ClassVar[None] = None
    __array_priority__: ClassVar[float] = 1000.0

    # What it is

    @property
    def format(self) -> str:
        """``csr`` or ``csc``."""
        return self.type.format

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """2."""
        return self.type.ndim

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """Which lengths are known to be 1."""
        return self.type.broadcastable

    @property
    def shape(self) -> tuple[TensorVariable, TensorVariable]:
        """The numbers of rows and columns, as int64 scalars."""
        result: tuple[TensorVariable, TensorVariable] = upward.function("sparse_shape")(self)
        return result

    @property
    def size(self) -> TensorVariable:
        """The number of stored elements."""
        count: TensorVariable = upward.function("csm_data")(self).shape[0]
        return count

    nnz = size

    # Arithmetic

    def __add__(self, other: Operand) -> Operand:
        return upward.function("add")(self, other)

    def __radd__(self, other: Operand) -> Operand:
        return upward.function("add")(other, self)

    def __sub__(self, other: Operand) -> Operand:
        return upward.function("subtract")(self, other)

    def __rsub__(self, other: Operand) -> Operand:
        return upward.function("subtract")(other, self)

    def __mul__(self, other: Operand) -> Operand:
        return upward.function("multiply")(self, other)

    def __rmul__(self, other: Operand) -> Operand:
        return upward.function("multiply")(other, self)

    def __truediv__(self, other: Operand) -> Operand:
        return upward.function("divide")(self, other)

    def __neg__(self) -> SparseVariable:
        return self._of("neg")

    def __pos__(self) -> SparseVariable:
        return self

    def __abs__(self) -> SparseVariable:
        return self._of("abs")

    def __ceil__(self) -> SparseVariable:
        return self._of("ceil")

    def __floor__(self) -> SparseVariable:
        return self._of("floor")

    def __trunc__(self) -> SparseVariable:
        return self._of("trunc")

    def __matmul__(self, other: Operand) -> Operand:
        """Multiply matrices: the result is dense, and gradients are regular (see `structured_dot`)."""
        return upward.function("dot")(self, other)

    def __rmatmul__(self, other: Operand) -> Operand:
        """Multiply matrices: the result is dense, and gradients are regular (see `structured_dot`)."""
        return upward.function("dot")(other, self)

    def dot(self, other: Operand) -> Operand:
        """Multiply matrices: the result is dense, and gradients are regular (see `structured_dot`)."""
        return upward.function("dot")(self, other)

    # Comparisons

    def __lt__(self, other: Operand) -> Operand:
        return upward.function("lt")(self, other)

    def __le__(self, other: Operand) -> Operand:
        return upward.function("le")(self, other)

    def __gt__(self, other: Operand) -> Operand:
        return upward.function("gt")(self, other)

    def __ge__(self, other: Operand) -> Operand:
        return upward.function("ge")(self, other)

    def eq(self, other: Operand) -> Operand:
        """Compare elements for equality."""
        return upward.function("eq")(self, other)

    def neq(self, other: Operand) -> Operand:
        """Compare elements for difference."""
        return upward.function("neq")(self, other)

    # Methods

    @property
    def T(self) -> SparseVariable:  # noqa: N802 - NumPy's name
        """The transpose, of the other format."""
        return self._of("transpose")

    def transpose(self) -> SparseVariable:
        """Return the transpose, of the other format."""
        return self._of("transpose")

    def astype(self, dtype: object) -> SparseVariable:
        """Convert the stored elements to another dtype."""
        result: SparseVariable = upward.function("cast")(self, dtype)
        return result

    def sum(self, axis: int | None = None, sparse_grad: bool = False) -> TensorVariable:
        """Sum all elements, or along an axis (see `sp_sum`)."""
        total: TensorVariable = upward.function("sp_sum")(self, axis, sparse_grad)
        return total

    def diagonal(self) -> TensorVariable:
        """Return the diagonal as a vector."""
        result: TensorVariable = upward.function("diag")(self)
        return result

    def toarray(self) -> TensorVariable:
        """Make it dense."""
        dense: TensorVariable = upward.function("dense_from_sparse")(self)
        return dense

    todense = toarray

    def asformat(self, format: str) -> SparseVariable:
        """Return it in a format, ``csr`` or ``csc``."""
        result: SparseVariable = upward.function("asformat")(self, format)
        return result

    def tocsr(self) -> SparseVariable:
        """Return it as a CSR matrix."""
        return self.asformat("csr")

    def tocsc(self) -> SparseVariable:
        """Return it as a CSC matrix."""
        return self.asformat("csc")

    def zeros_like(self) -> SparseVariable:
        """Return a matrix of its shape that stores nothing."""
        return self._of("sp_zeros_like")

    def ones_like(self) -> SparseVariable:
        """Return ones at the positions of the stored elements."""
        return self._of("sp_ones_like")

    def copy(self, name: str | None = None) -> SparseVariable:
        """Return a copy."""
        result: SparseVariable = upward.function("copy")(self)
        if name is not None:
            result.name = name
        return result

    def __getitem__(self, args: Operand) -> Operand:
        """Take rows and columns by slices, rows by a list, or single elements (see `getitem`)."""
        return upward.function("getitem")(self, args)

    def __iter__(self) -> Operand:
        msg = f"{self}: sparse matrices cannot be iterated over. Index rows, or make it dense with toarray()."
        raise SparseTypeError(msg)

    def _of(self, function: str) -> SparseVariable:
        result: SparseVariable = upward.function(function)(self)
        return result

    def __str__(self) -> str:
        return self._title()

    def __getattr__(self, name: str) -> Operand:
        """Return an elementwise function as a method."""
        if name not in _STRUCTURED:
            msg = (
                f"{type(self).__name__!r} object has no attribute {name!r}: a sparse matrix has the methods that keep "
                "what is not stored zero. Make it dense with toarray() for others."
            )
            raise AttributeError(msg)
        return lambda: self._of(name)


class SparseConstant(SparseVariable, Constant[SparseTensorType]):
    """A sparse matrix that is known when the graph is built."""

    __slots__ = ()
    __hash__ = Variable.__hash__

    def __str__(self) -> str:
        text = f"{self.type.format} matrix of {self.data.nnz} elements, shape {self.data.shape}"
        return f"{self.name}{{{text}}}" if self.name is not None else f"<{text}>"

    __repr__ = __str__


class SparseTensorSharedVariable(SparseVariable, SharedVariable[SparseTensorType]):
    """A sparse matrix that is kept from call to call."""

    __slots__ = ()
    __hash__ = Variable.__hash__


def sparse_type_of(value: Operand) -> SparseTensorType:
    """Return the type of a sparse matrix or array of SciPy's: its format and dtype, with no length fixed.

    Raises
    ------
    SparseFormatError
        If it is in another format than CSR or CSC.
    SparseTypeError
        If it is something else, or of a dtype that sparse matrices do not have.
    """
    if not scipy_sparse.issparse(value):
        msg = f"sparse matrix: a sparse matrix of SciPy's is needed, got {type(value).__name__}. Convert it first."
        raise SparseTypeError(msg)
    return SparseTensorType(check_format(f"{type(value).__name__}", value.format), str(value.dtype))
