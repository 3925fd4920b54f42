"""The array library that programs compute with: its namespace, its device, and the way in and out of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import numpy as np

from treadle.config import OptionValueError, config, dataclass
from treadle.link.array_api.table import Array, kernel_of
from treadle.tensor import Devices, ScalarOp

# By the names of the standard's dtypes, and of others that libraries have.
_NUMBERS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """An array library.

    Attributes
    ----------
    name
        Name of its namespace, as option ``array_api__namespace`` has it.
    xp
        The namespace.
    device
        The device that arrays are made on; None for the library's default.
    array_type
        The class of its arrays.
    dtypes
        Its dtypes, by NumPy's names; of those that it lacks there is none.
    """

    name: str
    xp: Any
    device: Any
    array_type: type
    dtypes: MappingProxyType[str, Any]

    @property
    def is_numpy(self) -> bool:
        """Whether arrays are NumPy's own."""
        return self.xp is np

    def takes(self, scalar_op: ScalarOp, loops: Sequence[str]) -> bool:
        """Whether the library has a scalar op, for operands converted to some dtypes."""
        return kernel_of(scalar_op, loops, self.xp) is not None

    def asarray(self, value: np.ndarray) -> Array:
        """Return a NumPy array as an array of the library, which may share its memory."""
        if self.is_numpy:
            return value
        # Libraries warn of memory that is not to be written, and refuse strides that are negative or not a multiple.
        if not value.flags.writeable or any(s < 0 or s % max(value.itemsize, 1) for s in value.strides):
            value = value.copy()
        return self.xp.asarray(value, device=self.device)

    def owned(self, x: Array) -> Array:
        """Return a copy of an array, which shares memory with nothing."""
        return self.xp.asarray(x, copy=True)

    def to_host(self, x: Array) -> np.ndarray:
        """Return an array as a NumPy array, which may share its memory."""
        if self.is_numpy:
            return np.asarray(x)
        try:
            # The library copies to the CPU what is elsewhere.
            return np.from_dlpack(x, device="cpu")
        except (TypeError, AttributeError, BufferError, RuntimeError):
            # Libraries that do not yet pass on to which device, or that cannot hand out this memory.
            return np.asarray(x)

    def astype(self, x: Array, dtype: str) -> Array:
        """Return an array of a dtype; the array itself if it is of it already."""
        target = self.dtypes[dtype]
        return x if x.dtype == target else self.xp.astype(x, target)

    def arange(self, n: int) -> Array:
        """Return the integers from 0 to n - 1, as int64."""
        return self.xp.arange(n, dtype=self.xp.int64, device=self.device)

    def full(self, shape: tuple[int, ...], value: Any, dtype: str) -> Array:
        """Return an array filled with a number."""
        return self.xp.full(shape, value, dtype=self.dtypes[dtype], device=self.device)


def library() -> Library:
    """Return the library that the options name."""
    name = config.array_api__namespace
    xp = namespace(name)
    # JAX has numbers of 64 bits where an option of its own says so.
    return _library(name, config.array_api__device, str(xp.empty(0).dtype))


class LibraryDevices(Devices[str | None]):
    """The devices of the library that option ``array_api__namespace`` names; the empty name stands for its default."""

    errors = (Exception,)  # each library raises its own

    @property
    def library(self) -> str:
        """The namespace."""
        return str(config.array_api__namespace)

    def look_up(self, name: str) -> str | None:
        """Return the name, if arrays can be there."""
        namespace(self.library).empty(0, device=name or None)
        return name or None

    def names(self) -> Sequence[str]:
        """Return the names of the devices that the library lists."""
        return [str(device) for device in namespace(self.library).__array_namespace_info__().devices()]


DEVICES = LibraryDevices("array_api__device")


@cache
def _library(name: str, device: str, default: str) -> Library:
    del default
    xp, place = namespace(name), DEVICES.find(device)
    example = xp.empty(0, device=place)
    dtypes = {dtype: getattr(xp, dtype) for dtype in _NUMBERS if _has(xp, dtype, place)}
    return Library(name, xp, place, type(example), MappingProxyType(dtypes))


def _has(xp: Any, dtype: str, device: Any) -> bool:
    """Whether a namespace has a dtype on a device: some make arrays of another one, with a warning."""
    if not hasattr(xp, dtype):
        return False
    wanted = getattr(xp, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return bool(xp.empty(0, dtype=wanted, device=device).dtype == wanted)
        except (TypeError, RuntimeError, ValueError):
            return False


@cache
def namespace(name: str) -> Any:
    """Return the namespace of a name: a module that follows the standard, or array-api-compat's form of it.

    Raises
    ------
    OptionValueError
        If there is none.
    """
    try:
        module = import_module(name)
    except ImportError as error:
        msg = f"option array_api__namespace: {name!r} cannot be imported ({error}). Install it, or name another."
        raise OptionValueError(msg) from error
    # The part of the standard that says what a namespace has, which all have that follow its edition of 2023.
    if hasattr(module, "__array_namespace_info__"):
        return module
    if find_spec("array_api_compat") is None:
        msg = (
            f"option array_api__namespace: the module {name} does not follow the array API standard by itself. Install "
            "array-api-compat, which makes a namespace of it, or name another."
        )
        raise OptionValueError(msg)
    try:
        return import_module(f"array_api_compat.{name}")
    except ImportError as error:
        msg = (
            f"option array_api__namespace: {name!r} does not follow the array API standard, and array-api-compat has "
            "no form of it. Name a module that has __array_namespace_info__, such as numpy, cupy, torch or jax.numpy."
        )
        raise OptionValueError(msg) from error
