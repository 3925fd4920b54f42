"""Routines of LAPACK and BLAS, by the function pointers that SciPy publishes for Cython."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from treadle.link.c.capsules import CPointer
from treadle.link.c.errors import BackendUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.kernels import Routine

# The letters of parameters; all are passed by pointer, as Fortran does.
_LETTERS = {
    "c": "char *",
    "i": "int *",
    # An element, and a real number of its precision.
    "x": "{element} *",
    "r": "{real} *",
    # Functions that select eigenvalues, of one, two or three numbers.
    "1": "{home}{letter}select1 *",
    "2": "{home}{letter}select2 *",
    "3": "{home}{letter}select3 *",
}
_MODULES = {"lapack": "scipy.linalg.cython_lapack", "blas": "scipy.linalg.cython_blas"}
# The parameters of each routine, as for `lapack_pointer`.
BLAS = MappingProxyType({"gemm": "cciiixxixixxi", "gemv": "ciixxixixxi"})
LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def lapack_pointer(name: str, parameters: str, dtype: str, library: str = "lapack") -> CPointer:
    """Return the pointer to the routine for a dtype, such as ``dpotrf`` for ``potrf`` and float64.

    `parameters` has a letter for each: c for a character, i for an integer, x for an element, r for a real number
    of the same precision, 1 to 3 for a function that selects by that many numbers. `library` is ``"lapack"`` or
    ``"blas"``.
    """
    letter = LETTERS[dtype]
    module = _MODULES[library]
    home = "__pyx_t_" + "_".join(f"{len(part)}{part}" for part in module.split("."))
    real = f"{home}_{'s' if letter in 'sc' else 'd'}"
    element = {"c": "__pyx_t_float_complex", "z": "__pyx_t_double_complex"}.get(letter, f"{home}_{letter}")
    words = {"element": element, "real": real, "home": f"{home}_", "letter": letter}
    kinds = ", ".join(_LETTERS[p].format(**words) for p in parameters)
    return CPointer(module, f"{letter}{name}", f"void ({kinds})")


def blas_parameters(name: str, element: str) -> str:
    """Return the parameters of a routine in C, for a type of elements."""
    return ", ".join(_LETTERS[p].format(element=element) for p in BLAS[name])


def routine_pointer(routine: Routine) -> tuple[str, CPointer]:
    """Return the C variable that holds the address of a routine that kernels call, and the pointer that fills it."""
    dtype = next(dtype for dtype, letter in LETTERS.items() if letter == routine.name[0])
    parameters = routine.parameters + ("i" if routine.library == "lapack" else "")
    pointer = lapack_pointer(routine.name[1:], parameters, dtype, routine.library)
    return f"tr_at_{pointer.name}", pointer


def blas_pointers() -> Mapping[str, int]:
    """Return the addresses of gemm and gemv for real and complex numbers, both widths.

    Raises
    ------
    BackendUnavailableError
        If SciPy does not have them.
    """
    pointers = [lapack_pointer(name, BLAS[name], dtype, "blas") for dtype in LETTERS for name in BLAS]
    try:
        return {pointer.name: pointer.address() for pointer in pointers}
    except BackendUnavailableError as error:
        msg = f"{error} The option blas__ldflags names another BLAS."
        raise BackendUnavailableError(msg) from error
