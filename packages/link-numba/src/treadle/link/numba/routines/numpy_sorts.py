"""NumPy's sorting functions."""

from __future__ import annotations

import ctypes

from treadle.kernels import numpy_sort
from treadle.link.numba.routines.symbols import Symbols

# Stands in for what cannot be called: it sorts nothing, and says so.
_NONE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)(lambda *_: -1)


def _sort(short: str) -> tuple[int, None]:
    """Return the address of the function that sorts numbers of a type, such as ``f64``."""
    return numpy_sort(short) or ctypes.cast(_NONE, ctypes.c_void_p).value or 0, None


# What kernels call: ``numpy_sort_f64(x, n)``.
SORTS = Symbols("sort", lambda: r"\bnumpy_sort_(\w+)\(", _sort)
