"""Compiled functions that machine code calls by name, so that it holds no address and can be cached.

Those of SciPy and NumPy are here.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import llvmlite.binding as llvm

from treadle.config import new_lock
from treadle.config.errors import TreadleError
from treadle.kernels import capsule_pointer, capsule_signature, numpy_sort, published, special_capsule

T = TypeVar("T")


class Symbols(Generic[T]):
    """Functions of one kind, each looked up at its first use and registered with LLVM.

    Parameters
    ----------
    stem
        What symbols of this kind begin with.
    calls
        Returns the pattern of what calls one in generated text, with the parts of its name as groups.
    look
        Returns for these parts the address, and what the writer of a call has to know.
    """

    def __init__(self, stem: str, calls: Callable[[], str], look: Callable[..., tuple[int, T]]) -> None:
        self._stem = stem
        self._calls = calls
        self._look = look
        self._lock = new_lock()
        self._known: dict[tuple[str, ...], tuple[str, T]] = {}

    def find(self, *parts: str) -> tuple[str, T]:
        """Return the symbol that stands for a function in machine code, and what is to be known of it."""
        with self._lock:
            if parts not in self._known:
                address, about = self._look(*parts)
                symbol = f"treadle_{'_'.join((self._stem, *parts))}"
                llvm.add_symbol(symbol, address)
                self._known[parts] = symbol, about
            return self._known[parts]

    def install(self, source: str) -> None:
        """Register with LLVM the functions that a text calls, before machine code of that text is loaded."""
        for call in re.finditer(self._calls(), source):
            self.find(*call.groups())


class SpecialFunctionError(TreadleError, ImportError):
    """SciPy lacks a special function."""


class Special(NamedTuple):
    """The types of a function."""

    # Type code of its operands and result.
    code: str
    # The number of its operands.
    nin: int


def _special(name: str, code: str) -> tuple[int, Special]:
    """Return the address of a function for operands of a type code, and its types.

    f4 uses SciPy's function for float if there is one, otherwise the one for double.
    """
    found = special_capsule(name, single=code == "f4")
    if found is None:
        msg = f"numba: SciPy's cython_special has no {name} of real numbers. Install a version of SciPy that has it."
        raise SpecialFunctionError(msg)
    kind, _, capsule = found
    about = Special("f4" if kind == "float" else "f8", capsule_signature(capsule).count(","))
    return capsule_pointer(capsule), about


# What a scalar op's text calls: ``special_gammainc_{t}({0}, {1})``, by the function's name in the module.
SPECIAL = Symbols("special", lambda: r"\bspecial_(\w+?)_(f4|f8)\b", _special)

_KINDS = {"char *": "c", "int *": "i"}


class BlasError(TreadleError, ImportError):
    """SciPy's BLAS or LAPACK cannot be used."""


def _routine(library: str, name: str) -> tuple[int, str]:
    """Return the address of a routine of ``lapack`` or ``blas``, and a letter for each of its parameters.

    c is for a character, i for an integer, s for a function that selects eigenvalues, x for numbers. All are passed by
    their addresses.
    """
    try:
        capsule = published(f"scipy.linalg.cython_{library}", name)
    except ImportError as error:
        msg = f"numba: {error}"
        raise BlasError(msg) from error
    parameters = capsule_signature(capsule).removeprefix("void (").removesuffix(")")
    kinds = (_KINDS.get(p, "s" if "select" in p else "x") for p in parameters.split(", "))
    return capsule_pointer(capsule), "".join(kinds)


# What kernels call: ``lapack_dpotrf(...)``, ``blas_dtrsm(...)``.
ROUTINES = Symbols("routine", lambda: r"\b(lapack|blas)_([sdcz]\w+)\(", _routine)

# Stands in for what cannot be called: it sorts nothing, and says so.
_NONE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)(lambda *_: -1)


def _sort(short: str) -> tuple[int, None]:
    """Return the address of the function that sorts numbers of a type, such as ``f64``."""
    return numpy_sort(short) or ctypes.cast(_NONE, ctypes.c_void_p).value or 0, None


# What kernels call: ``numpy_sort_f64(x, n)``.
SORTS = Symbols("sort", lambda: r"\bnumpy_sort_(\w+)\(", _sort)
