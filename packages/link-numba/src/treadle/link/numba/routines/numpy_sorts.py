"""NumPy's sorting functions, called by name, so that machine code holds no address and can be cached."""

from __future__ import annotations

import ctypes
import re

import llvmlite.binding as llvm

from treadle.config import new_lock
from treadle.kernels import numpy_sort

# What kernels call: ``numpy_sort_f64(x, n)``.
_CALL = re.compile(r"\bnumpy_sort_(\w+)\(")
# Stands in for what cannot be called: it sorts nothing, and says so.
_NONE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)(lambda *_: -1)


class Sorts:
    """The functions by type, each looked up at its first use and registered with LLVM."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: set[str] = set()

    def find(self, short: str) -> str:
        """Return the symbol of the function that sorts numbers of a type, such as ``f64``."""
        symbol = f"treadle_numpy_sort_{short}"
        with self._lock:
            if short not in self._known:
                llvm.add_symbol(symbol, numpy_sort(short) or ctypes.cast(_NONE, ctypes.c_void_p).value)
                self._known.add(short)
        return symbol

    def install(self, source: str) -> None:
        """Register with LLVM the functions that a text calls, before machine code of that text is loaded."""
        for short in _CALL.findall(source):
            self.find(short)


SORTS = Sorts()
