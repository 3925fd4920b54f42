"""Addresses of BLAS routines, from SciPy's own library."""

from __future__ import annotations

from collections.abc import Mapping

from treadle.config import new_lock
from treadle.config.errors import TreadleError
from treadle.kernels import capsule_pointer, capsule_signature, extension

GEMM, GEMV = "gemm", "gemv"
ROUTINES = tuple(f"{letter}{stem}" for letter in "sdcz" for stem in (GEMM, GEMV))
_PARAMETERS = {GEMM: 13, GEMV: 11}


class BlasError(TreadleError, ImportError):
    """SciPy's BLAS or LAPACK cannot be used."""


def linalg_capsules(library: str) -> Mapping[str, object]:
    """Return the capsules of SciPy's ``blas`` or ``lapack``."""
    try:
        capsules: Mapping[str, object] = extension(f"scipy.linalg.cython_{library}").__pyx_capi__
    except ImportError as error:
        msg = f"numba: scipy.linalg.cython_{library} was not found: {error}. Install SciPy."
        raise BlasError(msg) from error
    return capsules


class Blas:
    """The addresses of the routines, looked up when first asked for."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._capsules: Mapping[str, object] | None = None

    def address(self, name: str) -> int:
        """Return the address of a routine with Fortran's calling convention and 32-bit integers."""
        with self._lock:
            if self._capsules is None:
                self._capsules = linalg_capsules("blas")
        capsule = self._capsules.get(name)
        if capsule is None:
            msg = f"BLAS: scipy.linalg.cython_blas has no {name}. Install another version of SciPy."
            raise BlasError(msg)
        text = capsule_signature(capsule)
        if text.count(",") + 1 != _PARAMETERS[name[1:]] or "int *" not in text:
            msg = f"BLAS: {name} of scipy.linalg.cython_blas has the signature {text!r}. Install another SciPy."
            raise BlasError(msg)
        return capsule_pointer(capsule)


BLAS = Blas()
