"""Routines of libraries for kernels that run in Python: SciPy's LAPACK and BLAS by their addresses, and NumPy's."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import lazy_module
from treadle.kernels.capsules import capsule_pointer
from treadle.kernels.errors import KernelError

if TYPE_CHECKING:
    from scipy.linalg import cython_blas, cython_lapack
else:
    cython_blas = lazy_module("scipy.linalg.cython_blas")
    cython_lapack = lazy_module("scipy.linalg.cython_lapack")

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def call_routine(library: str, name: str, arguments: Sequence[Any]) -> int:
    """Call a routine with arrays, letters and numbers; return ``info``, 0 where the routine says nothing.

    Routines of LAPACK and BLAS take all of them by their addresses; None stands for no function.
    """
    if library == "numpy":
        kind, x, n = arguments
        x[: int(n)].view(f"{kind}{x.itemsize}").sort()
        return 0
    dtypes = [a.dtype.name for a in arguments if isinstance(a, np.ndarray) and a.ndim and a.dtype.name in _LETTERS]
    main = next((d for d in dtypes if "complex" in d), dtypes[0])
    capsules = (cython_lapack if library == "lapack" else cython_blas).__pyx_capi__
    own = f"{_LETTERS[main]}{name}"
    if own not in capsules:
        msg = f"kernel: {library} has no routine {own}. Check the name."
        raise KernelError(msg)
    address = capsule_pointer(capsules[own])
    kept: list[Any] = []
    for argument in arguments:
        if argument is None or (isinstance(argument, np.ndarray) and argument.ndim):
            kept.append(argument)
        elif isinstance(argument, str):
            kept.append(np.array([ord(argument)], "uint8"))
        else:
            value = np.asarray(argument)
            kept.append(value.reshape(1).astype("int32" if value.dtype.kind in "iu" else value.dtype))
    info = np.zeros(1, "int32")
    passed = [*kept, *([info] if library == "lapack" else [])]
    places = [None if array is None else array.ctypes.data for array in passed]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(places))(address)(*places)
    return int(info[0])
