"""XTensorType: the type of tensors whose dimensions have names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.config import text_of
from treadle.graph import Apply, Type, Variable
from treadle.named.errors import DimsError, NamedTypeError
from treadle.named.upward import FromAbove, upward
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import DTypeLike

    from treadle.graph import Value


# What an op takes: named tensors, and lengths, slices or generators.
Input = Any
# What a vectorised node is given as.
Batched = Apply | Variable | Sequence[Variable]


def as_dims(what: str, dims: object) -> tuple[str, ...]:
    """Return names of dimensions as a tuple: one name, or a sequence of different ones."""
    if isinstance(dims, str):
        return (dims,)
    try:
        names: tuple[Any, ...] = tuple(dims)  # type: ignore[arg-type]  # what is not iterable is refused
    except TypeError:
        names = (None,)
    if not all(isinstance(name, str) for name in names):
        msg = f"{what}: dims must be names, got {text_of(dims)}. Pass a string or a sequence of strings."
        raise NamedTypeError(msg)
    if len(set(names)) < len(names):
        msg = f"{what}: the names of dimensions must differ, got {names}. Rename one."
        raise DimsError(msg)
    return names


def is_data_array(value: object) -> bool:
    """Whether a value is a DataArray of xarray; the library is not imported to find out."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(value, xarray.DataArray)


def array_of(what: str, value: Input, dims: Sequence[str]) -> np.ndarray:
    """Return the values of a DataArray, its dimensions put in the order given.

    Raises
    ------
    DimsError
        If it has other dimensions.
    """
    if set(value.dims) != set(dims):
        msg = f"{what}: dimensions {tuple(dims)} are needed, got a DataArray of {tuple(value.dims)}. Rename them."
        raise DimsError(msg)
    return np.asarray(value.transpose(*dims).values)


def dims_of(x: Input) -> tuple[str, ...]:
    """Return the dimensions of a named tensor."""
    dims: tuple[str, ...] = x.type.dims
    return dims


def joined_lengths(what: str, types: Iterable[XTensorType], exclude: Sequence[str] = ()) -> dict[str, int | None]:
    """Return the dimensions of several tensors in order of appearance, each with its length where one is known.

    Raises
    ------
    DimsError
        If two lengths of one dimension are known and differ.
    """
    lengths: dict[str, int | None] = {}
    for kind in types:
        for dim, n in zip(kind.dims, kind.shape, strict=True):
            if dim in exclude:
                continue
            known = lengths.get(dim)
            if known is not None and n is not None and known != n:
                msg = f"{what}: the dimension {dim!r} has the lengths {known} and {n}. Make them agree, or rename one."
                raise DimsError(msg)
            lengths[dim] = n if known is None else known
    return lengths


class XTensorType(Type):
    """The type of tensors whose dimensions have names.

    Values are NumPy arrays, as those of `treadle.tensor.TensorType`; a DataArray of xarray is taken for one, its
    dimensions put in the type's order.

    Parameters
    ----------
    dtype
        The dtype, or ``"floatX"``.
    dims
        Names of the dimensions: one, or a sequence of different ones.
    shape
        The length of each, None where it is not known; none is if it is left out.
    name
        Has no effect: it is accepted because variables have names.

    Examples
    --------
    >>> from treadle.named import XTensorType
    >>> XTensorType("float64", dims=("city", "year"), shape=(None, 12))
    XTensorType(float64, shape=(None, 12), dims=('city', 'year'))
    """

    __props__: ClassVar[tuple[str, ...]] = ("dtype", "shape", "dims")
    variable_type: ClassVar[Any] = FromAbove("XTensorVariable")
    constant_type: ClassVar[Any] = FromAbove("XTensorConstant")
    shared_type: ClassVar[Any] = FromAbove("XTensorSharedVariable")

    def __init__(
        self,
        dtype: DTypeLike,
        *,
        dims: str | Sequence[str],
        shape: Sequence[int | None] | None = None,
        name: str | None = None,
    ) -> None:
        self.dims = as_dims("XTensorType", dims)
        lengths = (None,) * len(self.dims) if shape is None else tuple(shape)
        if len(lengths) != len(self.dims):
            msg = f"XTensorType: each of the dimensions {self.dims} needs a length, or None, got the shape {lengths}."
            raise DimsError(msg)
        self.tensor_type = TensorType(dtype, lengths)
        self.name = name

    @property
    def dtype(self) -> str:
        """Name of the dtype."""
        return self.tensor_type.dtype

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The dtype, as NumPy's object."""
        return self.tensor_type.numpy_dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The length of each dimension, None where it is not known."""
        return self.tensor_type.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """False for each dimension: names say what broadcasts."""
        return (False,) * self.ndim

    @property
    def sizes(self) -> Mapping[str, int | None]:
        """The length of each dimension by its name."""
        return dict(zip(self.dims, self.shape, strict=True))

    def clone(
        self,
        dtype: DTypeLike | None = None,
        dims: str | Sequence[str] | None = None,
        shape: Sequence[int | None] | None = None,
        **changes: Any,
    ) -> XTensorType:
        """Return the type with another dtype, other dimensions or another shape."""
        return type(self)(
            self.dtype if dtype is None else dtype,
            dims=self.dims if dims is None else dims,
            shape=self.shape if shape is None else shape,
            **changes,
        )

    # Relations

    def in_same_class(self, other: Type) -> bool:
        """Whether dtype and dimensions agree."""
        return isinstance(other, XTensorType) and other.dtype == self.dtype and other.dims == self.dims

    def is_super(self, other: Type) -> bool:
        """Whether dtype and dimensions agree, and every length known here is known and the same there."""
        return (
            isinstance(other, XTensorType) and other.dims == self.dims and self.tensor_type.is_super(other.tensor_type)
        )

    def convert_variable(self, var: Variable) -> Variable | None:
        """Return a tensor as one of this type: its dimensions are put in order, its lengths checked; it is not cast."""
        kind = var.type
        if isinstance(kind, XTensorType):
            if set(kind.dims) != set(self.dims):
                return None
            if kind.dims != self.dims:
                var = var.transpose(*self.dims)  # type: ignore[attr-defined]  # a named tensor
            if self.is_super(var.type):
                return var
            var = var.type.to_carrier(var)
        if not isinstance(var.type, TensorType):
            return None
        fitting = self.tensor_type.convert_variable(var)
        return None if fitting is None else self.from_carrier(fitting)

    def filter_variable(self, other: object, allow_convert: bool = True) -> Variable:
        """Return a variable of this type that stands for a variable or a value (errors as for any type)."""
        if is_data_array(other):
            other = self.filter(other)
        return super().filter_variable(other, allow_convert)

    # Compiled functions take plain tensors

    def carrier(self) -> TensorType:
        """Return the type of the tensor without names."""
        return self.tensor_type

    def to_carrier(self, var: Variable) -> Variable:
        """Return the tensor without names."""
        return var.values  # type: ignore[attr-defined, no-any-return]  # a named tensor

    def from_carrier(self, var: Variable) -> Variable:
        """Return a plain tensor with this type's names."""
        return upward.xtensor_from_tensor(var, self.dims)

    def as_tensor(self, var: Variable) -> Variable:
        """Refuse a named tensor where a plain one belongs.

        Raises
        ------
        NamedTypeError
            Always.
        """
        msg = (
            f"as_tensor_variable: {var} of type {self} has named dimensions, which plain tensors have not. "
            "Take its values (x.values), which are in the order of its dims."
        )
        raise NamedTypeError(msg)

    # Values

    def filter(self, data: Value, strict: bool = False, allow_downcast: bool | None = None) -> Value:
        """Return the data as an array of this dtype, rank and shape (errors as for `TensorType`).

        Raises
        ------
        DimsError
            If a DataArray has other dimensions.
        """
        if is_data_array(data):
            data = array_of(str(self), data, self.dims)
        return self.tensor_type.filter(data, strict, allow_downcast)

    @staticmethod
    def values_eq(a: Value, b: Value) -> bool:
        """Whether two arrays are the same (see `TensorType`)."""
        return TensorType.values_eq(a, b)

    @classmethod
    def values_eq_approx(cls, a: Value, b: Value) -> bool:
        """Whether two arrays are the same up to rounding."""
        return TensorType.values_eq_approx(a, b)

    @classmethod
    def agree(cls, a: Value, b: Value, scale: float = 0.0, where_finite: bool = False) -> bool:
        """Whether two arrays are the same up to rounding of the numbers that they were computed from."""
        return TensorType.agree(a, b, scale, where_finite)

    @staticmethod
    def may_share_memory(a: Value, b: Value) -> bool:
        """Whether the memory of two arrays may overlap."""
        if is_data_array(b):
            b = b.values
        return TensorType.may_share_memory(a, b)

    @staticmethod
    def describe_difference(a: Value, b: Value) -> str:
        """Return in words how two arrays differ."""
        return TensorType.describe_difference(a, b)

    def owned_alone(self, value: Value, others: int) -> bool:
        """Whether nobody else refers to an array or its memory."""
        return self.tensor_type.owned_alone(value, others)

    def copy_value(self, value: Value) -> Value:
        """Return a copy of an array."""
        return self.tensor_type.copy_value(value)

    def to_host(self, value: Value) -> Value:
        """Return a backend's array as NumPy's."""
        return self.tensor_type.to_host(value)

    def sample(self, seed: int) -> Value:
        """Return an array of small numbers."""
        return self.tensor_type.sample(seed)

    def non_finite(self, value: Value) -> tuple[bool, bool]:
        """Return whether an array holds a NaN, and an infinity."""
        return self.tensor_type.non_finite(value)

    def nbytes(self, value: Value) -> int:
        """Return the size of an array in bytes."""
        return self.tensor_type.nbytes(value)

    def static_nbytes(self) -> int | None:
        """Return the size in bytes where all lengths are known."""
        return self.tensor_type.static_nbytes()

    def narrowed(self, value: Value) -> XTensorType:
        """Return the type with an array's own lengths."""
        return self.clone(shape=np.shape(value))

    def exceeds(self, value: Value, bound: float) -> bool:
        """Return whether an array holds a finite number beyond a bound."""
        return self.tensor_type.exceeds(value, bound)

    def magnitude(self, value: Value) -> float:
        """Return the largest absolute value of an array's finite numbers."""
        return self.tensor_type.magnitude(value)

    def preallocations(self, kind: str, like: Value = None, dims: int = 4) -> Iterator[Value]:
        """Yield buffers for an output of this type."""
        return self.tensor_type.preallocations(kind, like, dims)

    def guard(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return a quick test of class, dtype, rank and known lengths."""
        return self.tensor_type.guard(name)

    def __repr__(self) -> str:
        return f"XTensorType({self.dtype}, shape={self.shape}, dims={self.dims})"

    __str__ = __repr__
