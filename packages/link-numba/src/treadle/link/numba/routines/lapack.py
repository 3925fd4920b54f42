"""Routines of LAPACK and BLAS."""

from __future__ import annotations

import re
from collections.abc import Mapping

from treadle.config.errors import TreadleError
from treadle.kernels import capsule_pointer, capsule_signature, extension
from treadle.link.numba.routines.symbols import Symbols

_KINDS = {"char *": "c", "int *": "i"}


class BlasError(TreadleError, ImportError):
    """SciPy's BLAS or LAPACK cannot be used."""


def _routine(library: str, name: str) -> tuple[int, str]:
    """Return the address of a routine of ``lapack`` or ``blas``, and a letter for each of its parameters.

    c is for a character, i for an integer, s for a function that selects eigenvalues, x for numbers. All are passed by
    their addresses.
    """
    try:
        capsules: Mapping[str, object] = extension(f"scipy.linalg.cython_{library}").__pyx_capi__
    except ImportError as error:
        msg = f"numba: scipy.linalg.cython_{library} was not found: {error}. Install SciPy."
        raise BlasError(msg) from error
    capsule = capsules.get(name)
    match = None if capsule is None else re.fullmatch(r"void \((.*)\)", capsule_signature(capsule))
    if match is None:
        msg = f"numba: scipy.linalg.cython_{library} has no routine {name}. Install another version of SciPy."
        raise BlasError(msg)
    kinds = (_KINDS.get(p, "s" if "select" in p else "x") for p in match[1].split(", "))
    return capsule_pointer(capsule), "".join(kinds)


# What kernels call: ``lapack_dpotrf(...)``, ``blas_dtrsm(...)``.
ROUTINES = Symbols("routine", lambda: r"\b(lapack|blas)_([sdcz]\w+)\(", _routine)
