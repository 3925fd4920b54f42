"""Dtypes by the array API standard: their names, questions about them, conversions, what the library can do.

Dtypes are NumPy's. That of a symbolic tensor, ``x.dtype``, is the name of one, which is equal to it:
``x.dtype == float64`` holds. As keys of a mapping the two differ; ``result_type(x)`` is the dtype of `x`.
"""

from __future__ import annotations

import builtins
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import config, dataclass, text_of
from treadle.graph import Variable
from treadle.tensor.array_api.devices import check_device
from treadle.tensor.array_api.public import tt
from treadle.tensor.errors import ArgumentError, DtypeError
from treadle.tensor.types.tensor_type import MOST_DIMENSIONS, TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

bool = np.dtype("bool")
int8, int16, int32, int64 = map(np.dtype, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(np.dtype, ("uint8", "uint16", "uint32", "uint64"))
float32, float64 = np.dtype("float32"), np.dtype("float64")
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

# Of the standard.
__array_api_version__ = "2024.12"

_SIGNED = (int8, int16, int32, int64)
_UNSIGNED = (uint8, uint16, uint32, uint64)
_REAL = (float32, float64)
_COMPLEX = (complex64, complex128)
_KINDS: Mapping[str, tuple[np.dtype, ...]] = MappingProxyType(
    {
        "bool": (bool,),
        "signed integer": _SIGNED,
        "unsigned integer": _UNSIGNED,
        "integral": _SIGNED + _UNSIGNED,
        "real floating": _REAL,
        "complex floating": _COMPLEX,
        "numeric": _SIGNED + _UNSIGNED + _REAL + _COMPLEX,
    }
)


def numpy_dtype(x: Any) -> np.dtype:
    """Return the dtype of a tensor, or that of a name or of NumPy's."""
    if isinstance(x, Variable | np.ndarray | np.generic):
        return np.dtype(str(getattr(x, "dtype", "")))
    return TensorType(x).numpy_dtype


def astype(
    x: TensorLike,
    dtype: DTypeLike,
    /,
    *,
    copy: builtins.bool = True,  # noqa: ARG001 - of the standard
    device: str | None = None,
) -> TensorVariable:
    """Return a tensor converted to a dtype; `copy` makes no difference, as tensors are not changed."""
    check_device("astype", device)
    converted: TensorVariable = tt.cast(tt.as_tensor(x), dtype)
    return converted


def can_cast(from_: TensorLike | DTypeLike, to: DTypeLike, /) -> builtins.bool:
    """Whether values of a dtype, or a tensor, can be converted to another dtype by the rules of promotion."""
    return builtins.bool(np.can_cast(numpy_dtype(from_), numpy_dtype(to), "safe"))


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """Limits of a dtype of floats; those of a complex one are the limits of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class IntegerInfo:
    """Limits of a dtype of integers."""

    bits: int
    max: int
    min: int
    dtype: np.dtype


def finfo(type: TensorLike | DTypeLike, /) -> FloatInfo:
    """Return the limits of a dtype of floats, or of a tensor's dtype.

    Raises
    ------
    DtypeError
        If it is no dtype of floats.
    """
    dtype = numpy_dtype(type)
    if dtype.kind not in "fc":
        msg = f"finfo: a dtype of floats is needed, got {dtype.name}. Use iinfo."
        raise DtypeError(msg)
    limits = np.finfo(dtype)
    return FloatInfo(
        bits=int(limits.bits),
        eps=float(limits.eps),
        max=float(limits.max),
        min=float(limits.min),
        smallest_normal=float(limits.smallest_normal),
        dtype=np.dtype(limits.dtype),
    )


def iinfo(type: TensorLike | DTypeLike, /) -> IntegerInfo:
    """Return the limits of a dtype of integers, or of a tensor's dtype.

    Raises
    ------
    DtypeError
        If it is no dtype of integers.
    """
    dtype = numpy_dtype(type)
    if dtype.kind not in "iu":
        msg = f"iinfo: a dtype of integers is needed, got {dtype.name}. Use finfo."
        raise DtypeError(msg)
    limits = np.iinfo(dtype)
    return IntegerInfo(int(limits.bits), int(limits.max), int(limits.min), dtype)


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> builtins.bool:
    """Whether a dtype is another one, is of a kind, such as ``"real floating"``, or is one of several.

    Raises
    ------
    ArgumentError
        If a kind is unknown.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    asked = numpy_dtype(dtype)
    if isinstance(kind, str) and kind in _KINDS:
        return asked in _KINDS[kind]
    try:
        return builtins.bool(asked == numpy_dtype(kind))
    except TypeError as error:
        msg = f"isdtype: a dtype or one of {', '.join(_KINDS)} is needed, got {text_of(kind)}. Pick one of these."
        raise ArgumentError(msg) from error


def result_type(*arrays_and_dtypes: TensorLike | DTypeLike) -> np.dtype:
    """Return the dtype that operands are promoted to; Python's numbers follow the others.

    Raises
    ------
    ArgumentError
        If nothing is given.
    """
    operands = [x if isinstance(x, int | float | complex) else numpy_dtype(x) for x in arrays_and_dtypes]
    if not operands:
        msg = "result_type: one or more tensors or dtypes are needed, got none."
        raise ArgumentError(msg)
    return np.result_type(*operands)


class NamespaceInfo:
    """What the standard asks of a library: devices, dtypes, and what depends on values."""

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """Return what is possible: indexing by masks and shapes that depend on values are, symbolically."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MOST_DIMENSIONS}

    def default_device(self) -> str:
        """Return the device of tensors that are made: the backend of a function's mode decides where it computes."""
        return "cpu"

    def devices(self) -> list[str]:
        """Return the devices that tensors can be made on."""
        return ["cpu"]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, np.dtype]:
        """Return the dtypes of tensors made without one; floats have that of the option ``floatX``."""
        check_device("default_dtypes", device)
        real = np.dtype(config.floatX)
        return {
            "real floating": real,
            "complex floating": complex128 if real == float64 else complex64,
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype]:
        """Return the dtypes by name, all of them or those of a kind or several."""
        check_device("dtypes", device)
        every = _KINDS["bool"] + _KINDS["numeric"]
        return {dtype.name: dtype for dtype in every if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807 - the standard's name
    """Return what the library can do, as the array API standard asks for it."""
    return NamespaceInfo()


__all__ = [
    "__array_api_version__", "__array_namespace_info__", "astype", "bool", "can_cast", "complex64", "complex128",
    "finfo", "float32", "float64", "iinfo", "int8", "int16", "int32", "int64", "isdtype", "result_type", "uint8",
    "uint16", "uint32", "uint64",
]  # fmt: skip
