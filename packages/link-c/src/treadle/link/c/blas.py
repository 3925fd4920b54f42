"""BLAS, as function pointers that SciPy publishes for Cython."""

from __future__ import annotations

import sys
from importlib import machinery, util
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from treadle.config import new_lock
from treadle.link.c.capsules import capsule_pointer
from treadle.link.c.errors import BackendUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

_MODULE = "scipy.linalg.cython_blas"
# Parameters of each routine: c for a letter, i for a number, x for an element, all by pointer.
_SIGNATURES = MappingProxyType({"gemm": "cciiixxixixxi", "gemv": "ciixxixixxi"})


class _Pointers:
    """Finds the pointers once."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: Mapping[str, int] | None = None

    def read(self) -> Mapping[str, int]:
        with self._lock:
            if self._known is None:
                self._known = MappingProxyType(_find())
            return self._known


_POINTERS = _Pointers()


def blas_pointers() -> Mapping[str, int]:
    """Return the addresses of gemm and gemv for real and complex numbers, both widths."""
    return _POINTERS.read()


def _find() -> dict[str, int]:
    capsules = _cython_blas().__pyx_capi__
    found = {}
    for letter, element in (("d", "_d"), ("s", "_s"), ("z", "_double_complex"), ("c", "_float_complex")):
        for routine, parameters in _SIGNATURES.items():
            name = f"{letter}{routine}"
            found[name] = capsule_pointer(
                capsules[name], _signature(parameters, element), f"SciPy's {name}", "Set blas__ldflags"
            )
    return found


def _signature(parameters: str, element: str) -> str:
    home = "" if element.endswith("complex") else "_5scipy_6linalg_11cython_blas"
    kind = f"__pyx_t{home}{element} *"
    return f"void ({', '.join({'c': 'char *', 'i': 'int *', 'x': kind}[p] for p in parameters)})"


def _cython_blas() -> ModuleType:
    """Load the extension from its file: importing scipy.linalg takes four times as long."""
    if _MODULE in sys.modules:
        return sys.modules[_MODULE]
    scipy = util.find_spec("scipy")
    folders = scipy.submodule_search_locations if scipy is not None else None
    for folder in folders or ():
        for suffix in machinery.EXTENSION_SUFFIXES:
            file = Path(folder) / "linalg" / f"cython_blas{suffix}"
            if file.exists():
                loader = machinery.ExtensionFileLoader(_MODULE, str(file))
                spec = util.spec_from_file_location(_MODULE, str(file), loader=loader)
                if spec is not None:
                    module = util.module_from_spec(spec)
                    loader.exec_module(module)
                    return module
    msg = "c: SciPy's cython_blas was not found. Reinstall scipy, or set the option blas__ldflags."
    raise BackendUnavailableError(msg)
