"""NumPy's sorting functions, which use SIMD, from the table that its C API publishes for each dtype."""

from __future__ import annotations

import ctypes
import sys
from ctypes import Array

import numpy as np

from treadle.config import new_lock
from treadle.kernels.capsules import capsule_pointer

# The types that NumPy's functions sort faster, in the order of their table.
# Some processors with AVX-512 are given wrong orders of thousands of float16 where NaN is among them (NumPy 2.4.6: two
# neighbours exchanged, in one of 15 tries of 5,000 to 40,000 numbers): these are left out.
_WRONG = frozenset({"f16"})
BY_NUMPY = ("i16", "u16", "f16", "i32", "u32", "f32", "i64", "u64", "f64")
# The positions of `_PyDataType_GetArrFuncs` in NumPy's C API, and of `sort` in the `PyArray_ArrFuncs` that it returns:
# both are part of the binary interface that extensions are compiled against.
_GET_FUNCTIONS = 365
_SORT = 33


class _Table:
    """The table of addresses, filled once."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._words: Array[ctypes.c_void_p] | None = None

    def words(self) -> Array[ctypes.c_void_p]:
        """Return the table, which has one entry for each of `BY_NUMPY`."""
        with self._lock:
            if self._words is None:
                self._words = (ctypes.c_void_p * len(BY_NUMPY))(*_find())
            return self._words


_TABLE = _Table()


def sorts_table() -> int:
    """Return the address of a table with a function for each of `BY_NUMPY`, or 0 where it cannot be found."""
    return ctypes.addressof(_TABLE.words())


def numpy_sort(short: str) -> int | None:
    """Return the address of the function that sorts numbers of one of `BY_NUMPY`, None where it cannot be found.

    It takes the address of the numbers, how many there are, and an array that it does not use; it returns 0.
    """
    address: int | None = _TABLE.words()[BY_NUMPY.index(short)]
    return address


def _find() -> list[int | None]:
    capsule = getattr(sys.modules.get("numpy._core._multiarray_umath"), "_ARRAY_API", None)
    if capsule is None:
        return [None] * len(BY_NUMPY)
    interface = (ctypes.c_void_p * (_GET_FUNCTIONS + 1)).from_address(capsule_pointer(capsule))
    functions_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(interface[_GET_FUNCTIONS] or 0)
    addresses: list[int | None] = []
    for short in BY_NUMPY:
        kind = np.dtype(f"{short[0]}{int(short[1:]) // 8}")
        address = (ctypes.c_void_p * (_SORT + 1)).from_address(functions_of(kind))[_SORT]
        addresses.append(None if short in _WRONG else address)
    return addresses
