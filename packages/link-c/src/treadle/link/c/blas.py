"""BLAS, by the function pointers that SciPy publishes for Cython."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from treadle.config import new_lock
from treadle.kernels import extension
from treadle.link.c.capsules import checked_pointer
from treadle.link.c.errors import BackendUnavailableError

_MODULE = "scipy.linalg.cython_blas"
# Parameters of each routine: c for a letter, i for a number, x for an element, all by pointer.
_SIGNATURES = MappingProxyType({"gemm": "cciiixxixixxi", "gemv": "ciixxixixxi"})


class _Pointers:
    """The pointers, looked up once."""

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
    try:
        module: Any = extension(_MODULE)
    except ImportError as error:
        msg = "c: SciPy's cython_blas was not found. Reinstall scipy, or set the option blas__ldflags."
        raise BackendUnavailableError(msg) from error
    capsules = module.__pyx_capi__
    addresses = {}
    for letter, element in (("d", "_d"), ("s", "_s"), ("z", "_double_complex"), ("c", "_float_complex")):
        for routine, parameters in _SIGNATURES.items():
            name = f"{letter}{routine}"
            addresses[name] = checked_pointer(
                capsules[name], _signature(parameters, element), f"SciPy's {name}", "Set blas__ldflags"
            )
    return addresses


def _signature(parameters: str, element: str) -> str:
    home = "" if element.endswith("complex") else "_5scipy_6linalg_11cython_blas"
    kind = f"__pyx_t{home}{element} *"
    return f"void ({', '.join({'c': 'char *', 'i': 'int *', 'x': kind}[p] for p in parameters)})"
