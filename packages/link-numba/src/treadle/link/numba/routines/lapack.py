"""Routines of LAPACK and BLAS, called by name, so that machine code holds no address and can be cached."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import llvmlite.binding as llvm

from treadle.config import new_lock
from treadle.config.errors import TreadleError
from treadle.kernels import capsule_pointer, capsule_signature, extension

# What kernels call: ``lapack_dpotrf(...)``, ``blas_dtrsm(...)``.
_CALL = re.compile(r"\b(lapack|blas)_([sdcz]\w+)\(")
_KINDS = {"char *": "c", "int *": "i"}


class BlasError(TreadleError, ImportError):
    """SciPy's BLAS or LAPACK cannot be used."""


class Routine(NamedTuple):
    """The symbol and the parameters of a routine."""

    # Its name in machine code.
    symbol: str
    # A letter for each parameter: c for a character, i for an integer, s for a function that selects eigenvalues,
    # x for numbers. All are passed by their addresses.
    kinds: str


class Routines:
    """The routines by library and name, each looked up at its first use and registered with LLVM."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: dict[tuple[str, str], Routine] = {}
        self._capsules: dict[str, Mapping[str, object]] = {}

    def find(self, library: str, name: str) -> Routine:
        """Return a routine of ``lapack`` or ``blas``."""
        with self._lock:
            if (library, name) not in self._known:
                self._known[library, name] = self._install(library, name)
            return self._known[library, name]

    def install(self, source: str) -> None:
        """Register with LLVM the routines that a text calls, before machine code of that text is loaded."""
        for library, name in _CALL.findall(source):
            self.find(library, name)

    def _install(self, library: str, name: str) -> Routine:
        if library not in self._capsules:
            self._capsules[library] = _capsules(library)
        capsule = self._capsules[library].get(name)
        signature = "" if capsule is None else capsule_signature(capsule)
        match = re.fullmatch(r"void \((.*)\)", signature)
        if capsule is None or match is None:
            msg = f"numba: scipy.linalg.cython_{library} has no routine {name}. Install another version of SciPy."
            raise BlasError(msg)
        symbol = f"treadle_{library}_{name}"
        llvm.add_symbol(symbol, capsule_pointer(capsule))
        kinds = "".join(_KINDS.get(p, "s" if "select" in p else "x") for p in match[1].split(", "))
        return Routine(symbol, kinds)


def _capsules(library: str) -> Mapping[str, object]:
    """Return the capsules of SciPy's ``blas`` or ``lapack``."""
    try:
        capsules: Mapping[str, object] = extension(f"scipy.linalg.cython_{library}").__pyx_capi__
    except ImportError as error:
        msg = f"numba: scipy.linalg.cython_{library} was not found: {error}. Install SciPy."
        raise BlasError(msg) from error
    return capsules


ROUTINES = Routines()
