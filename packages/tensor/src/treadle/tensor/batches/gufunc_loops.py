"""The compiled inner loops of NumPy's generalised ufuncs, for code generators.

A ufunc object holds its loops in arrays of pointers, which are part of NumPy's stable binary interface
(``PyUFuncObject``). NumPy itself runs them without the interpreter's lock.
"""

from __future__ import annotations

import ctypes
from importlib import import_module

import numpy as np

from treadle.graph import GraphError

__all__ = ["CompiledLoopError", "compiled_loop"]


class CompiledLoopError(GraphError, ImportError):
    """NumPy lacks the loop in this version, or stores it in an unknown layout."""


class _Ufunc(ctypes.Structure):
    """The start of a ufunc object."""

    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    )


def compiled_loop(module: str, name: str, types: str) -> tuple[int, int]:
    """Return the addresses of a loop and of its data argument, 0 if it has none.

    A loop is ``void loop(char **arrays, const npy_intp *lengths, const npy_intp *strides, void *data)``.

    Parameters
    ----------
    module, name
        Where the ufunc is found.
    types
        The dtypes of operands and results, as the ufunc lists them: ``"Dd->D"``.

    Raises
    ------
    CompiledLoopError
        If NumPy has no such loop.
    """
    ufunc = getattr(import_module(module), name, None)
    if not isinstance(ufunc, np.ufunc) or types not in ufunc.types:
        msg = f"NumPy {np.__version__} has no loop {module}.{name} of types {types}. Use another version of it."
        raise CompiledLoopError(msg)
    layout = _Ufunc.from_address(id(ufunc))
    if (layout.nin, layout.nout, layout.nargs, layout.ntypes) != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes):
        msg = f"NumPy {np.__version__} lays its ufuncs out in an unknown way. Use another version of it."
        raise CompiledLoopError(msg)
    at = ufunc.types.index(types)
    return int(layout.functions[at] or 0), int(layout.data[at] or 0) if layout.data else 0
