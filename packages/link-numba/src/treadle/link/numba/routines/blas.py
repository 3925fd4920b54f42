"""Addresses of BLAS routines, from SciPy's own library."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable, Mapping
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType

from treadle.config import new_lock
from treadle.config.errors import TreadleError

GEMM, GEMV = "gemm", "gemv"
ROUTINES = tuple(f"{letter}{stem}" for letter in "sdcz" for stem in (GEMM, GEMV))
_PARAMETERS = {GEMM: 13, GEMV: 11}


class BlasError(TreadleError, ImportError):
    """SciPy's BLAS or LAPACK cannot be used."""


class Blas:
    """The addresses of the routines, looked up when first asked for."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._capsules: Mapping[str, object] | None = None

    def address(self, name: str) -> int:
        """Return the address of a routine with Fortran's calling convention and 32-bit integers."""
        with self._lock:
            if self._capsules is None:
                self._capsules = extension("cython_blas").__pyx_capi__
        capsule = self._capsules.get(name)
        if capsule is None:
            msg = f"BLAS: scipy.linalg.cython_blas has no {name}. Install another version of SciPy."
            raise BlasError(msg)
        text = capsule_name(capsule)
        if text.count(b",") + 1 != _PARAMETERS[name[1:]] or b"int *" not in text:
            msg = f"BLAS: {name} of scipy.linalg.cython_blas has the signature {text!r}. Install another SciPy."
            raise BlasError(msg)
        return capsule_pointer(capsule, text)


def extension(stem: str) -> ModuleType:
    """Load a module of ``scipy.linalg`` by its file, without the much slower import of ``scipy.linalg``."""
    package = importlib.util.find_spec("scipy")
    folders = [Path(p) / "linalg" for p in (package.submodule_search_locations or [])] if package is not None else []
    files = [file for folder in folders for file in sorted(folder.glob(f"{stem}.*")) if file.suffix in {".so", ".pyd"}]
    name = f"scipy.linalg.{stem}"
    if not files:
        msg = f"numba: {name} was not found. Install SciPy."
        raise BlasError(msg)
    loader = ExtensionFileLoader(name, str(files[0]))
    spec = importlib.util.spec_from_file_location(name, files[0], loader=loader)
    if spec is None:
        msg = f"numba: {files[0]} cannot be loaded. Install another version of SciPy."
        raise BlasError(msg)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def capsule_name(capsule: object) -> bytes:
    """Return the name of a capsule, which is the C type of its function."""
    # Here and below, a new function object: other packages set other types on the shared ones of `ctypes`.
    get: Callable[[object], bytes] = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
        ("PyCapsule_GetName", ctypes.pythonapi)
    )
    return get(capsule)


def capsule_pointer(capsule: object, name: bytes | None) -> int:
    """Return the address in a capsule with a name."""
    get: Callable[[object, bytes | None], int] = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return get(capsule, name)


BLAS = Blas()
