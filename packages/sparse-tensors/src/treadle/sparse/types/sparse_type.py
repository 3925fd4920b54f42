"""SparseTensorType: the type of SciPy's matrices in compressed formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.config import config, lazy_module, new_lock, text_of
from treadle.graph import ENCODERS, Type, encode, tagged
from treadle.sparse.errors import SparseFormatError, SparseShapeError, SparseTypeError
from treadle.sparse.upward import FromAbove, upward
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import NoReturn

    from treadle.graph import Value, Variable
    from treadle.sparse.types.variable import SparseConstant, SparseVariable
    from treadle.tensor import TensorVariable

__all__ = ["SparseTensorType"]

scipy_sparse: Any = lazy_module("scipy.sparse")

# The dtypes that sparse matrices may have: SciPy computes with no float16, and its booleans add up to booleans.
DTYPES = (
    *("float32", "float64", "complex64", "complex128"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
# The classes of SciPy that values have, by format: the results of its sparse arrays are converted.
CLASSES: Mapping[str, Any]
# Rows and columns.
RANK = 2


def check_format(what: str, name: object) -> str:
    """Return the name of a format, or refuse what is none."""
    if not isinstance(name, str) or name not in CLASSES:
        msg = (
            f"{what}: the format must be 'csr' or 'csc', got {text_of(name)}. Convert other formats of SciPy with "
            "tocsr() or tocsc()."
        )
        raise SparseFormatError(msg)
    return name


def _as_dtype(dtype: object) -> str:
    """Return the name of a dtype that sparse matrices may have."""
    name: str = TensorType(config.floatX if dtype is None else dtype).dtype
    if name not in DTYPES:
        msg = f"SparseTensorType: the dtype must be one of {', '.join(DTYPES)}, got {name}. Convert the matrix first."
        raise SparseTypeError(msg)
    return name


def _as_shape(shape: Iterable[object] | None) -> tuple[int | None, int | None]:
    lengths = TensorType("int8", (None, None) if shape is None else tuple(shape)).shape
    if len(lengths) != RANK:
        msg = f"SparseTensorType: a shape of two lengths is needed, got {lengths}. Sparse tensors are matrices."
        raise SparseShapeError(msg)
    return (lengths[0], lengths[1])


class SparseTensorType(Type):
    """The type of SciPy's CSR or CSC matrices of one dtype.

    Parameters
    ----------
    format
        ``csr`` or ``csc``.
    dtype
        Name of the dtype: a real or complex float of 32 bits or more, or an integer. ``floatX`` if None.
    shape
        Numbers of rows and columns, None where one is unknown.
    broadcastable
        The older spelling of a shape: which of the two lengths are 1, the others being unknown.

    Examples
    --------
    >>> SparseTensorType("csr", "float64", (None, 3))
    SparseTensorType(format='csr', dtype='float64', shape=(None, 3))
    """

    __props__ = ("format", "dtype", "shape")
    ndim: ClassVar[int] = RANK
    # Classes of SciPy's matrices by format.
    format_cls: ClassVar[Mapping[str, Any]]
    variable_type: ClassVar[Any] = FromAbove("SparseVariable")
    constant_type: ClassVar[Any] = FromAbove("SparseConstant")
    shared_type: ClassVar[Any] = FromAbove("SparseTensorSharedVariable")
    # How slopes by a matrix are summed over the steps of a loop; set by treadle.sparse.forms.parts, which makes them.
    summand: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        format: str,
        dtype: object = None,
        shape: Iterable[object] | None = None,
        name: str | None = None,
        broadcastable: Sequence[bool] | None = None,
    ) -> None:
        del name  # the documented parameter; types are told apart by format, dtype and shape
        if broadcastable is not None:
            if shape is not None:
                msg = "SparseTensorType: one of shape and broadcastable is needed, got both. Leave one out."
                raise SparseShapeError(msg)
            shape = tuple(1 if b else None for b in broadcastable)
        self.format = check_format("SparseTensorType", format)
        self.dtype = _as_dtype(dtype)
        self.shape = _as_shape(shape)
        self.numpy_dtype = np.dtype(self.dtype)

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """Which lengths are known to be 1."""
        return tuple(n == 1 for n in self.shape)

    @property
    def major(self) -> int:
        """The axis along which the matrix is compressed: 0, its rows, or 1, its columns."""
        return 0 if self.format == "csr" else 1

    def clone(
        self,
        dtype: object = None,
        shape: Iterable[object] | None = None,
        broadcastable: Sequence[bool] | None = None,
        format: str | None = None,
        **changes: object,
    ) -> SparseTensorType:
        """Return the type with another format, dtype or shape."""
        if changes:
            msg = f"SparseTensorType.clone: format, dtype and shape can be changed, got {', '.join(changes)}."
            raise SparseTypeError(msg)
        known = self.shape if shape is None and broadcastable is None else shape
        return SparseTensorType(
            self.format if format is None else format, dtype or self.dtype, known, broadcastable=broadcastable
        )

    @property
    def transposed(self) -> SparseTensorType:
        """The type of the transpose: the same three arrays, read in the other format."""
        other = "csc" if self.format == "csr" else "csr"
        return SparseTensorType(other, self.dtype, self.shape[::-1])

    if TYPE_CHECKING:
        # The classes are set by treadle.sparse.types.variable, which needs this one.

        def make_variable(self, name: str | None = None) -> SparseVariable:
            """Return a new variable of this type."""

        def make_constant(self, value: object, name: str | None = None) -> SparseConstant:
            """Return a constant of this type with the value."""

        def __call__(self, name: str | None = None) -> SparseVariable:
            """Return a new variable of this type."""

    # Relations

    def in_same_class(self, other: Type) -> bool:
        """Whether format and dtype agree."""
        return isinstance(other, SparseTensorType) and (other.format, other.dtype) == (self.format, self.dtype)

    def is_super(self, other: Type) -> bool:
        """Whether format and dtype agree, and every length known here is known and the same there."""
        return (
            isinstance(other, SparseTensorType)
            and (other.format, other.dtype) == (self.format, self.dtype)
            and all(a is None or a == b for a, b in zip(self.shape, other.shape, strict=True))
        )

    def as_tensor(self, var: Variable) -> NoReturn:
        """Refuse to take a sparse matrix for a tensor: making it dense may need a lot of memory.

        Raises
        ------
        SparseTypeError
            Always.
        """
        msg = (
            f"as_tensor_variable: a tensor is needed, got the sparse matrix {var} of type {self}. Use the function of "
            "treadle.sparse, or make it dense with treadle.sparse.dense_from_sparse."
        )
        raise SparseTypeError(msg)

    def lengths_of(self, var: Variable) -> Sequence[TensorVariable]:
        """Return the numbers of rows and columns of a variable, as int64 scalars: what shapes are inferred from."""
        both: Sequence[TensorVariable] = upward.function("sparse_shape")(var)
        return both

    # Values

    def filter(self, data: Value, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return the data as one of SciPy's matrices of this format, dtype and shape.

        Sparse arrays and other formats are converted, and so are dense arrays and nested lists of rank 2.

        Raises
        ------
        SparseTypeError
            If `strict` and it is not one already, if it is no matrix, or if conversion would lose precision and
            `allow_downcast` does not allow that.
        SparseShapeError
            If the shape does not fit.
        """
        wanted = CLASSES[self.format]
        if type(data) is not wanted or data.dtype != self.numpy_dtype:
            if strict:
                msg = (
                    f"{self}: exactly a {wanted.__name__} of dtype {self.dtype} is needed (strict), got "
                    f"{_described(data)}. Convert it first."
                )
                raise SparseTypeError(msg)
            data = self._converted(data, allow_downcast)
        if any(n is not None and n != m for n, m in zip(self.shape, data.shape, strict=True)):
            msg = f"{self}: a matrix of this shape is needed, got shape {data.shape}. Declare it with another shape."
            raise SparseShapeError(msg)
        return data

    def _converted(self, data: Value, allow_downcast: bool | None) -> Any:
        if not scipy_sparse.issparse(data):
            dense = TensorType(self.dtype, (None, None))
            return CLASSES[self.format](dense.filter(data, allow_downcast=allow_downcast))
        if data.ndim != RANK:
            msg = f"{self}: a sparse matrix is needed, got {_described(data)}. Reshape it."
            raise SparseTypeError(msg)
        if data.dtype != self.numpy_dtype:
            safe = np.can_cast(data.dtype, self.numpy_dtype, "safe")
            real = data.dtype.kind == "c" and self.numpy_dtype.kind != "c"
            if not (safe or allow_downcast) or real:
                msg = (
                    f"{self}: a sparse matrix of dtype {self.dtype} is needed, got {_described(data)}, which would "
                    f"lose precision. Convert it with astype({self.dtype!r})."
                )
                raise SparseTypeError(msg)
            data = data.astype(self.numpy_dtype)
        # Sparse arrays share their arrays with the matrix.
        return CLASSES[self.format](data)

    def is_valid_value(self, data: object, strict: bool = True) -> bool:
        """Whether the data are a sparse matrix of this format and dtype; with `strict` of SciPy's class too."""
        return super().is_valid_value(data, strict)

    @staticmethod
    def values_eq(a: Value, b: Value) -> bool:
        """Whether two matrices have the same class, dtype, shape and elements."""
        return _alike(a, b) and (a != b).nnz == 0

    @classmethod
    def values_eq_approx(cls, a: Value, b: Value) -> bool:
        """Whether two matrices have the same class, dtype and shape, and elements that agree up to rounding."""
        return _alike(a, b) and TensorType.values_eq_approx(*_aligned(a, b))

    @classmethod
    def agree(cls, a: Value, b: Value, scale: float = 0.0, where_finite: bool = False) -> bool:
        """Whether class, dtype and shape agree, and every element up to rounding (see `Type.agree`)."""
        return _alike(a, b) and TensorType.agree(*_aligned(a, b), scale, where_finite)

    @staticmethod
    def describe_difference(a: Value, b: Value) -> str:
        """Return the largest differences of the stored elements of two matrices."""
        return TensorType.describe_difference(*_aligned(a, b)) if _alike(a, b) else f"{a!r} against {b!r}"

    @staticmethod
    def may_share_memory(a: Value, b: Value) -> bool:
        """Whether arrays of the two values, which may be arrays themselves, overlap."""
        return any(np.may_share_memory(x, y) for x in _arrays(a) for y in _arrays(b))

    def copy_value(self, value: Value) -> Any:
        """Return a copy."""
        return value.copy()

    def nbytes(self, value: Value) -> int:
        """Return the size of the three arrays in bytes."""
        return sum(int(x.nbytes) for x in _arrays(value))

    def non_finite(self, value: Value) -> tuple[bool, bool]:
        """Return whether a stored element is NaN, and whether one is an infinity."""
        return TensorType(self.dtype, (None,)).non_finite(value.data)

    def exceeds(self, value: Value, bound: float) -> bool:
        """Return whether a stored element is a finite number beyond a bound."""
        return TensorType(self.dtype, (None,)).exceeds(value.data, bound)

    def magnitude(self, value: Value) -> float:
        """Return the largest absolute value of the finite numbers stored."""
        return TensorType(self.dtype, (None,)).magnitude(value.data)

    def narrowed(self, value: Value) -> SparseTensorType:
        """Return the type with the matrix's own lengths."""
        return self.clone(shape=value.shape)

    def sample(self, seed: int) -> Any:
        """Return a matrix with a third of its elements stored, of the known lengths, 3 and 4 where they are unknown."""
        rows, columns = (m if n is None else n for n, m in zip(self.shape, (3, 4), strict=True))
        rng = np.random.default_rng(seed)
        dense = np.where(rng.random((rows, columns)) < 1 / 3, rng.integers(1, 5, (rows, columns)), 0)
        return CLASSES[self.format](dense.astype(self.numpy_dtype))

    def guard(self, name: str) -> tuple[str, dict[str, Any]] | None:
        """Return a test for class, dtype and known lengths."""
        tests = [f"type({name}) is {name}_class", f"{name}.dtype is {name}_dtype"]
        tests += [f"{name}.shape[{axis}] == {n}" for axis, n in enumerate(self.shape) if n is not None]
        return " and ".join(tests), {f"{name}_class": CLASSES[self.format], f"{name}_dtype": self.numpy_dtype}

    def __str__(self) -> str:
        """Show as ``Sparse(float64, shape=(?, 3), csr)``."""
        lengths = ", ".join("?" if n is None else str(n) for n in self.shape)
        return f"Sparse({self.dtype}, shape=({lengths}), {self.format})"


def _described(data: object) -> str:
    if scipy_sparse.issparse(data):
        matrix: Any = data
        return f"a {type(matrix).__name__} of dtype {matrix.dtype} and shape {matrix.shape}"
    return f"{type(data).__name__} {text_of(data, longest=60)}"


def _alike(a: Any, b: Any) -> bool:
    return type(a) is type(b) and scipy_sparse.issparse(a) and a.dtype == b.dtype and a.shape == b.shape


def _aligned(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the elements of two matrices of one shape wherever one of them stores something."""
    # Each with zeros where the other alone stores something; sums drop nothing else, since no NaN is a zero.
    coordinates = [x.tocoo() for x in (a, b)]
    keys = [x.row.astype(np.int64) * a.shape[1] + x.col for x in coordinates]
    every, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    parts = np.split(inverse, [len(keys[0])])
    results = [np.zeros(len(every), x.dtype) for x in coordinates]
    for result, part, x in zip(results, parts, coordinates, strict=True):
        np.add.at(result, part, x.data)
    return results[0], results[1]


def _arrays(value: Any) -> list[np.ndarray]:
    if scipy_sparse.issparse(value):
        return [value.data, value.indices, value.indptr]
    return [value] if isinstance(value, np.ndarray) else []


def _encode_matrix(value: Any) -> bytes:
    return tagged("sparse", value.format.encode(), repr(value.shape).encode(), *map(encode, _arrays(value)))


class _Classes(Mapping[str, Any]):
    """The classes by format. SciPy's sparse matrices, which take long to load, are loaded with the first of them."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._by_format: dict[str, type] = {}

    def __getitem__(self, name: str) -> type:
        with self._lock:
            if not self._by_format:
                self._by_format = {"csr": scipy_sparse.csr_matrix, "csc": scipy_sparse.csc_matrix}
                for kind in self._by_format.values():
                    ENCODERS.register(kind, _encode_matrix)
        return self._by_format[name]

    def __iter__(self) -> Iterator[str]:
        return iter(("csr", "csc"))

    def __contains__(self, name: object) -> bool:
        return name in {"csr", "csc"}

    def __len__(self) -> int:
        return 2


CLASSES = _Classes()
SparseTensorType.format_cls = CLASSES
