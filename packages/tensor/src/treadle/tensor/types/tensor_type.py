"""TensorType: arrays of one dtype and rank, with as much of the shape as is known."""

from __future__ import annotations

from sys import getrefcount
from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.config import config, new_lock, text_of
from treadle.graph import Type, Variable, as_index
from treadle.tensor.arguments.values import as_integer, as_items, known_integer
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.types.arrays import (
    agree,
    array_of,
    buffers,
    describe_difference,
    magnitude,
    numbers_exceed,
    quick_reader,
)
from treadle.tensor.types.dtype_rules import check_conversion
from treadle.tensor.types.other_arrays import is_other_array, other_array
from treadle.tensor.types.policy import check_float64
from treadle.tensor.upward import upward

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from treadle.graph import SharedVariable
    from treadle.tensor.variables.variable import TensorConstant, TensorVariable

Shape = tuple[int | None, ...]

# The types that make variables under a name of their own, such as ``dmatrix``: `treadle.tensor.types.constructors`.
CONSTRUCTORS: dict[str, TensorType] = {}

MOST_DIMENSIONS = 64
_LONGEST = 2**63 - 1

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip


# NumPy takes microseconds to build the name of a dtype.
DTYPE_NAMES: Mapping[np.dtype, str] = MappingProxyType({np.dtype(name): name for name in DTYPES})


def _dtype_name(dtype: object) -> str:
    """Return the canonical name of a dtype, ``floatX`` resolved."""
    if isinstance(dtype, str):
        if dtype in DTYPES:
            return dtype
        if dtype == "floatX":
            return str(config.floatX)
    if isinstance(dtype, np.dtype) and dtype in DTYPE_NAMES:
        return DTYPE_NAMES[dtype]
    try:
        # To NumPy, None is float64, and whatever has an attribute dtype is a dtype.
        name = "" if dtype is None or isinstance(dtype, Variable) else str(np.dtype(dtype).name)  # type: ignore[call-overload]  # refuses anything else
    except Exception:  # noqa: BLE001 - any object may come here and fail in any way; it is not a dtype then
        name = ""
    if name not in DTYPES:
        known = f"{', '.join(DTYPES)} or floatX"
        msg = f"TensorType: the dtype must be one of {known}, got {text_of(dtype)}. Pick one of these."
        raise TensorTypeError(msg)
    return name


# References to the base of a view: the view, the list that it is looked at in, and the argument of getrefcount.
_BELOW_REFERENCES = 3


def _below(view: object) -> object:
    """Return what an array or a buffer is a view of, or None."""
    return view.obj if isinstance(view, memoryview) else getattr(view, "base", None)


def _dimension(n: object) -> int | None:
    if n is None:
        return None
    if isinstance(n, bool | np.bool_):
        # The older spelling: a broadcastable pattern.
        return 1 if n else None
    length = as_index(n)
    if length is None or not 0 <= length <= _LONGEST:
        msg = f"TensorType: each dimension must be a length of 0 or more that fits int64, or None, got {text_of(n)}."
        raise TensorTypeError(msg)
    return length


def _static_shape(shape: Iterable[object]) -> Shape:
    """Return a shape argument as a tuple of lengths; one length stands for itself."""
    if known_integer(shape) is not None:
        return (_dimension(shape),)
    result = tuple(_dimension(n) for n in as_items("TensorType: the shape", shape))
    check_rank("TensorType", len(result))
    return result


def as_rank(what: str, value: object) -> int:
    """Return an argument as a rank that NumPy's arrays can have."""
    ndim = as_integer(what, value, 0)
    check_rank(what.partition(":")[0], ndim)
    return ndim


def check_rank(what: str, ndim: int) -> None:
    """Refuse a rank that NumPy's arrays cannot have."""
    if ndim > MOST_DIMENSIONS:
        msg = f"{what}: a tensor has {MOST_DIMENSIONS} dimensions at most, as NumPy's arrays do, got {ndim}."
        raise ShapeError(msg)


_LENGTHS = frozenset({int, NoneType})


def _pattern(shape: Sequence[object] | None, broadcastable: Sequence[bool] | None) -> Sequence[object]:
    """Return the shape that is given in one of two ways, or that of a scalar."""
    if broadcastable is None:
        return () if shape is None else shape
    if shape is not None:
        msg = (
            f"TensorType: one of shape and broadcastable is needed, got {text_of(shape)} and {text_of(broadcastable)}."
        )
        raise TensorTypeError(msg)
    return tuple(1 if b else None for b in as_items("TensorType: broadcastable", broadcastable))


class TensorType(Type):
    """Type of NumPy arrays of one dtype and rank.

    Types are interned: equal ones are the same object, so that comparing and hashing them costs nothing.

    Parameters
    ----------
    dtype
        Name of the dtype, or ``floatX``.
    shape
        Length of each dimension, None where it is unknown. An unknown dimension may turn out to be 1 and then
        broadcasts, as in NumPy.
    broadcastable
        The older spelling of a shape: which dimensions have the length 1, the others being unknown.

    Examples
    --------
    >>> kind = TensorType("float64", (None, 3))
    >>> kind.ndim, kind.shape, kind is TensorType("float64", (None, 3))
    (2, (None, 3), True)
    >>> x = kind("x")
    >>> x.type == kind, kind.filter([[1, 2, 3]])
    (True, array([[1., 2., 3.]]))
    """

    __props__: ClassVar[tuple[str, ...]] = ("dtype", "shape")
    __slots__ = ("_text", "dtype", "ndim", "numpy_dtype", "shape")
    shared_type: ClassVar[type[SharedVariable]]
    _known: ClassVar[dict[tuple[object, object], TensorType]] = {}
    _lock: ClassVar = new_lock()

    dtype: str
    shape: Shape
    ndim: int
    _text: str
    numpy_dtype: np.dtype

    def __new__(
        cls,
        dtype: object = "floatX",
        shape: Sequence[object] | None = None,
        name: str | None = None,
        broadcastable: Sequence[bool] | None = None,
    ) -> TensorType:
        """Return the one type of this dtype and shape."""
        del name  # the documented parameter; types are told apart by dtype and shape alone
        if shape is None or broadcastable is not None:
            shape = _pattern(shape, broadcastable)
        try:
            known = TensorType._known.get((dtype, shape)) if isinstance(shape, tuple) else None
        except TypeError:
            known = None
        # Numbers of other kinds, such as 2.0 or False, may equal lengths, but are not lengths.
        if known is not None and (known.shape is shape or _LENGTHS.issuperset(map(type, shape))):
            return known
        key = (_dtype_name(dtype), _static_shape(shape))
        with TensorType._lock:
            known = TensorType._known.get(key)
            if known is None:
                known = super().__new__(cls)
                known.dtype, known.shape = key
                known.ndim = len(key[1])
                known.numpy_dtype = np.dtype(key[0])
                known._text = _describe(*key)
                TensorType._known[key] = known
        return known

    def __getnewargs__(self) -> tuple[str, Shape]:
        return self.dtype, self.shape

    def __reduce__(self) -> tuple[object, ...]:
        return TensorType, (self.dtype, self.shape)

    def __copy__(self) -> TensorType:
        return self

    def __deepcopy__(self, memo: object) -> TensorType:
        return self

    def clone(
        self,
        dtype: object = None,
        shape: Sequence[object] | None = None,
        broadcastable: Sequence[bool] | None = None,
        **changes: object,
    ) -> TensorType:
        """Return the type with another dtype or shape."""
        if changes:
            msg = f"TensorType.clone: dtype and shape can be changed, got {', '.join(changes)}."
            raise TensorTypeError(msg)
        new_shape = self.shape if shape is None and broadcastable is None else _pattern(shape, broadcastable)
        return TensorType(self.dtype if dtype is None else dtype, new_shape)

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """Which dimensions are known to be 1."""
        return tuple(n == 1 for n in self.shape)

    def make_variable(self, name: str | None = None) -> TensorVariable:
        """Return a new variable of this type; the option warn_float64 may refuse float64."""
        if self.dtype == "float64" and config.warn_float64 != "ignore":
            check_float64(self)
        var: TensorVariable = self.variable_type(self, None, None, name=name)
        return var

    if TYPE_CHECKING:
        # The classes are set by treadle.tensor.variables.variable, which needs this one.

        def make_constant(self, value: object, name: str | None = None) -> TensorConstant:
            """Return a constant of this type with the value."""

    def __call__(self, name: str | None = None, *, shape: Sequence[object] | int | None = None) -> TensorVariable:
        """Return a new variable of this type, or of one that says more of the shape.

        Raises
        ------
        TensorTypeError, ShapeError
            If the shape has another rank, or does not fit this type's.
        """
        if shape is None:
            return self.make_variable(name)
        kind = TensorType(self.dtype, shape)  # type: ignore[arg-type]  # a length alone is a shape too
        if not self.is_super(kind):
            ranks = kind.ndim != self.ndim
            needed = f"with {self.ndim} dimensions" if ranks else f"that fits {self.shape}"
            msg = f"{self.called_as}: a shape {needed} is needed, got {kind.shape}. Use tensor for another."
            raise (TensorTypeError if ranks else ShapeError)(msg)
        return kind.make_variable(name)

    @property
    def called_as(self) -> str:
        """The name that users call the type by to make a variable, such as ``dmatrix``, for messages."""
        return next((name for name, kind in CONSTRUCTORS.items() if kind is self), "TensorType")

    # Relations

    def in_same_class(self, other: Type) -> bool:
        """Whether dtype, rank and the dimensions known to be 1 agree: the same operands broadcast with both."""
        return isinstance(other, TensorType) and other.dtype == self.dtype and other.broadcastable == self.broadcastable

    def is_super(self, other: Type) -> bool:
        """Whether dtype and rank agree, and every known length here is known and the same there."""
        if self is other:
            return True
        return (
            isinstance(other, TensorType)
            and other.dtype == self.dtype
            and other.ndim == self.ndim
            and all(a is None or a == b for a, b in zip(self.shape, other.shape, strict=True))
        )

    def convert_variable(self, var: Variable) -> Variable | None:
        """Return the variable, its shape checked at run time where this type says more of it; it is never cast."""
        kind = var.type
        if self.is_super(kind):
            return var
        if not isinstance(kind, TensorType) or kind.dtype != self.dtype or kind.ndim != self.ndim:
            return None
        if any(n is not None and m is not None and n != m for n, m in zip(self.shape, kind.shape, strict=True)):
            return None
        return upward.specify_shape(var, self.shape)

    # Values

    def filter(self, data: object, strict: bool = False, allow_downcast: bool | None = None) -> np.ndarray:
        """Return the data as an array of this dtype, rank and shape.

        Raises
        ------
        TensorTypeError
            If `strict` and it is not one already; if dtype, rank or shape do not fit; if conversion would lose
            precision and `allow_downcast` does not allow that.
        DtypeError
            If real numbers are needed, and complex ones are given with `allow_downcast`.
        """
        if type(data) is np.ndarray and data.dtype == self.numpy_dtype:
            array = data
        elif isinstance(data, np.ndarray | np.generic) and data.dtype == self.numpy_dtype:
            array = array_of(str(self), data)
        elif strict:
            msg = (
                f"{self}: exactly an array of dtype {self.dtype} is needed (strict), "
                f"got {_describe_data(data)}. Convert it first."
            )
            raise TensorTypeError(msg)
        else:
            array = self._converted(data, allow_downcast)
        if array.ndim != self.ndim or any(
            n is not None and n != m for n, m in zip(self.shape, array.shape, strict=True)
        ):
            what = "rank" if array.ndim != self.ndim else "shape"
            msg = (
                f"{self}: the {what} does not fit, a value of shape {_describe_shape(self.shape)} is needed, "
                f"got shape {array.shape}. Reshape it, or declare the input with another {what}."
            )
            raise TensorTypeError(msg)
        return array if array.dtype.isnative and array.flags.aligned else np.array(array, self.numpy_dtype)

    def _converted(self, data: object, allow_downcast: bool | None) -> np.ndarray:
        """Return the data as an array of this dtype, or raise."""
        array = array_of(str(self), data)
        if array.dtype.name not in DTYPES:
            msg = f"{self}: an array of dtype {self.dtype} is needed, got {_describe_data(data)}. Convert it first."
            raise TensorTypeError(msg)
        if array.dtype == self.numpy_dtype:
            return array
        if allow_downcast:
            check_conversion(str(self), array.dtype, self.numpy_dtype)
        is_plain = isinstance(data, bool | int | float | complex)
        if allow_downcast or np.can_cast(array.dtype, self.numpy_dtype, "safe"):
            return array.astype(self.numpy_dtype)
        if is_plain and self._keeps(data, allow_downcast):
            return array.astype(self.numpy_dtype)
        # The dtype of an array decides; a list has none, so that its values do, as those of integers do.
        by_dtype = isinstance(data, np.ndarray) and (array.ndim > 0 or array.dtype.kind not in "biu")
        if not is_plain and not by_dtype and self._holds(array):
            return array.astype(self.numpy_dtype)
        if array.dtype.kind == "c" and self.numpy_dtype.kind != "c":
            advice = "Take its real(), imag() or abs() first."
        else:
            advice = (
                f"Convert it with astype({self.dtype!r}); an input of a function takes it with In(x, "
                "allow_downcast=True), all of them with function(..., allow_input_downcast=True)."
            )
        msg = (
            f"{self}: a value of dtype {self.dtype} is needed, got {_describe_data(data)}, which would lose precision. "
            f"{advice}"
        )
        raise TensorTypeError(msg)

    def _keeps(self, number: object, allow_downcast: bool | None) -> bool:
        """Whether a Python number may become this dtype: exactly, or as a float of dtype floatX."""
        if isinstance(number, float) and allow_downcast is None and self.dtype == config.floatX:
            return True
        if self.numpy_dtype.kind not in "biufc":
            return False
        with np.errstate(all="ignore"):
            try:
                converted = self.numpy_dtype.type(number)
            except (OverflowError, TypeError, ValueError):
                return False
        # As Python numbers: NumPy would round the number to this dtype first.
        return bool(converted.item() == number) or (number != number and self.numpy_dtype.kind in "fc")

    def _holds(self, array: np.ndarray) -> bool:
        """Whether all values of an array of numbers fit this dtype exactly."""
        given, kind = array.dtype.kind, self.numpy_dtype.kind
        if given not in "biufc" or kind not in "biufc" or (given == "c" and kind != "c"):
            return False
        with np.errstate(all="ignore"):
            cast = array.astype(self.numpy_dtype)
            back = (cast if given == "c" else cast.real).astype(array.dtype)
        return np.array_equal(cast, array, equal_nan=True) and np.array_equal(back, array, equal_nan=True)

    @staticmethod
    def values_eq(a: object, b: object) -> bool:
        """Whether dtype, shape and every element agree, a NaN with a NaN."""
        a, b = np.asarray(a), np.asarray(b)
        return a.dtype == b.dtype and a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))

    @classmethod
    def values_eq_approx(cls, a: object, b: object, rtol: float | None = None, atol: float | None = None) -> bool:
        """Whether dtype and shape agree, and every element up to rounding (looser for shorter floats)."""
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.dtype.kind not in "fc":
            return bool(np.array_equal(a, b))
        default = {2: 5e-3, 4: 1e-4}.get(a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1), 1e-7)
        default *= _SLOPPY[config.tensor__cmp_sloppy]
        r, t = default if rtol is None else rtol, default / 10 if atol is None else atol
        return bool(np.allclose(a, b, rtol=r, atol=t, equal_nan=True))

    @staticmethod
    def may_share_memory(a: object, b: object) -> bool:
        """Whether the arrays' memory may overlap."""
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            return bool(np.may_share_memory(a, b))
        # A data frame hands out the array that it keeps.
        return a is b or is_other_array(type(a)) or is_other_array(type(b))

    def owned_alone(self, value: object, others: int) -> bool:
        """Whether an array may be written into: nobody else refers to it or to what its memory is a part of."""
        if others or type(value) is not np.ndarray or not value.flags.writeable:
            return False
        # A view refers to the array that owns the memory, or to the last one before whatever does.
        below = [_below(value)]
        while below[0] is not None:
            if getrefcount(below[0]) > _BELOW_REFERENCES:
                return False
            below[0] = _below(below[0])
        return True

    def guard(self, name: str) -> tuple[str, dict[str, object]]:
        """Return a quick test of class, dtype, rank and known lengths."""
        # The dtype of an array that was pickled is equal to the others, and another object.
        same = f"({name}.dtype is {self.dtype}_ or {name}.dtype == {self.dtype}_)"
        tests = [f"type({name}) is ndarray", same, f"{name}.ndim == {self.ndim}"]
        tests += [f"{name}.shape[{d}] == {n}" for d, n in enumerate(self.shape) if n is not None]
        return " and ".join(tests), {"ndarray": np.ndarray, f"{self.dtype}_": self.numpy_dtype}

    def quick_reader(self) -> Callable[[object], object] | None:
        """Return a function that makes an array of this type of what loses nothing by it."""
        return quick_reader(self.numpy_dtype, self.ndim, DTYPES)

    def copy_value(self, value: object) -> np.ndarray:
        """Return a copy of the array, in the same memory order."""
        return np.array(value, copy=True, order="K")

    def to_host(self, value: object) -> np.ndarray:
        """Return a backend's array as a NumPy array of this type."""
        if hasattr(value, "detach"):
            tensor: Any = value.detach()
            to_array = other_array(type(tensor))
            assert to_array is not None  # for a tensor of PyTorch's
            # One without values is refused as an argument is.
            return self.filter(to_array(str(self), tensor if tensor.is_meta else tensor.cpu()))
        return self.filter(np.asarray(value))

    def sample(self, seed: int) -> np.ndarray:
        """Return an array with small numbers, unknown dimensions of length 3."""
        rng = np.random.default_rng(seed)
        shape = tuple(3 if n is None else n for n in self.shape)
        kind = self.numpy_dtype.kind
        if kind == "b":
            return np.asarray(rng.random(shape) < 0.5)
        if kind in "iu":
            return np.asarray(rng.integers(0 if kind == "u" else -5, 6, shape)).astype(self.numpy_dtype)
        values = rng.normal(size=shape)
        return np.asarray(values + 1j * rng.normal(size=shape) if kind == "c" else values).astype(self.numpy_dtype)

    def non_finite(self, value: np.ndarray) -> tuple[bool, bool]:
        """Return whether the array holds a NaN, and whether it holds an infinity."""
        if self.numpy_dtype.kind not in "fc":
            return False, False
        return bool(np.isnan(value).any()), bool(np.isinf(value).any())

    def nbytes(self, value: np.ndarray) -> int:
        """Return the size of the array's data in bytes."""
        return int(value.nbytes)

    def static_nbytes(self) -> int | None:
        """Return the size in bytes of every array of this type, or None where a length is unknown."""
        size = self.numpy_dtype.itemsize
        for n in self.shape:
            if n is None:
                return None
            size *= n
        return size

    def without_lengths(self) -> TensorType:
        """Return the type that knows no length."""
        return self if self.shape.count(None) == self.ndim else TensorType(self.dtype, (None,) * self.ndim)

    def of_rows(self) -> TensorType:
        """Return the type of what stands at one index of the first dimension."""
        return TensorType(self.dtype, self.shape[1:])

    def narrowed(self, value: np.ndarray) -> TensorType:
        """Return the type with the array's own lengths."""
        return TensorType(self.dtype, value.shape)

    @classmethod
    def fact_reader(cls) -> Callable[[Variable], Iterable[str]]:
        """Return a function to the facts about matrices, such as ``symmetric``, that hold for a tensor."""
        return upward.fact_reader()

    def exceeds(self, value: object, bound: float) -> bool:
        """Return whether the array holds a finite number beyond a bound; a complex one by its absolute value."""
        return numbers_exceed(value, self.numpy_dtype, bound)

    def magnitude(self, value: object) -> float:
        """Return the largest absolute value of the finite numbers in the array."""
        return magnitude(value)

    @classmethod
    def agree(cls, a: object, b: object, scale: float = 0.0, where_finite: bool = False) -> bool:
        """Whether dtype and shape agree, and every element up to rounding (see `Type.agree`)."""
        return agree(a, b, scale, where_finite, cls.values_eq_approx)

    @staticmethod
    def describe_difference(a: object, b: object) -> str:
        """Return the largest differences of two arrays, absolute and relative, and where the former is."""
        return describe_difference(a, b)

    def preallocations(self, kind: str, like: object = None, dims: int = 4) -> Iterator[np.ndarray]:
        """Yield buffers in one memory layout, filled with what no result should be made of.

        Parameters
        ----------
        kind
            ``c_contiguous``, ``f_contiguous``, ``strided`` (each of the `dims` innermost dimensions with steps 1, -1, 2
            and -2 in memory) or ``wrong_size`` (each of them as long as it should be, one shorter, one longer).
        like
            The array that is to be stored; a sample of the type if None.
        dims
            Of how many innermost dimensions all combinations are tried; one whose length is fixed keeps it.
        """
        yield from buffers(kind, self.sample(0) if like is None else np.asarray(like), self.shape, dims)

    # Identity

    def __eq__(self, other: object) -> bool:
        """Compare by identity: types are interned."""
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __str__(self) -> str:
        """Show as ``Matrix(float64, shape=(?, 3))``."""
        return self._text

    def __repr__(self) -> str:
        """Show as ``TensorType(float64, shape=(None, 3))``."""
        return f"TensorType({self.dtype}, shape={self.shape})"


# By the option tensor__cmp_sloppy.
_SLOPPY = (1, 10, 1000)


def _describe_shape(shape: Shape) -> str:
    inner = ", ".join("?" if n is None else str(n) for n in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def _describe(dtype: str, shape: Shape) -> str:
    names = ("Scalar", "Vector", "Matrix")
    name = names[len(shape)] if len(shape) < len(names) else f"Tensor{len(shape)}"
    return f"{name}({dtype})" if not shape else f"{name}({dtype}, shape={_describe_shape(shape)})"


def _describe_data(data: object) -> str:
    if isinstance(data, np.ndarray | np.generic):
        return f"an array of dtype {data.dtype if data.dtype.isnative else data.dtype.str} and shape {data.shape}"
    return f"{type(data).__name__} {text_of(data, longest=60)}"


def tensor_type_of(value: object) -> TensorType:
    """Return the type that fits a value: its dtype and rank, with no length fixed."""
    array = array_of("shared", value)
    dtype: object = config.floatX if isinstance(value, float) else array.dtype
    return TensorType(dtype, (None,) * array.ndim)


CONVERTERS: dict[type | str | Callable[[type], bool], Callable[[Any], Type]] = {
    np.ndarray: tensor_type_of,
    np.generic: tensor_type_of,
    bool: tensor_type_of,
    int: tensor_type_of,
    float: tensor_type_of,
    complex: tensor_type_of,
    list: tensor_type_of,
    tuple: tensor_type_of,
    # Data frames, and arrays of other libraries.
    is_other_array: tensor_type_of,
    "__array__": tensor_type_of,
}
