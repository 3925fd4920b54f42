"""Routines of LAPACK and BLAS, by the function pointers that SciPy publishes for Cython."""

from __future__ import annotations

from treadle.link.c import CPointer

# The letters of parameters and results; all parameters are passed by pointer, as Fortran does.
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
_RESULTS = {"": "void", "i": "int", "x": "{element}", "r": "{real}"}
_MODULES = {"lapack": "scipy.linalg.cython_lapack", "blas": "scipy.linalg.cython_blas"}
LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def routine(name: str, parameters: str, dtype: str, library: str = "lapack") -> CPointer:
    """Return the pointer to the routine for a dtype, such as ``dpotrf`` for ``potrf`` and float64.

    `parameters` has a letter for each: c for a character, i for an integer, x for an element, r for a real number
    of the same precision, 1 to 3 for a function that selects by that many numbers. A routine that returns a number
    has ``>`` and the number's letter at the end. `library` is ``"lapack"`` or ``"blas"``.
    """
    letter = LETTERS[dtype]
    module = _MODULES[library]
    home = "__pyx_t_" + "_".join(f"{len(part)}{part}" for part in module.split("."))
    real = f"{home}_{'s' if letter in 'sc' else 'd'}"
    element = {"c": "__pyx_t_float_complex", "z": "__pyx_t_double_complex"}.get(letter, f"{home}_{letter}")
    letters, _, result = parameters.partition(">")
    words = {"element": element, "real": real, "home": f"{home}_", "letter": letter}
    kinds = ", ".join(_LETTERS[p].format(**words) for p in letters)
    return CPointer(module, f"{letter}{name}", f"{_RESULTS[result].format(**words)} ({kinds})")


def c_type(parameters: str, element: str, real: str) -> str:
    """Return the C type of a pointer to a routine; parameters that are functions are untyped.

    >>> c_type("cixii", "double", "double")
    'void (*)(char *, int *, double *, int *, int *)'
    """
    kinds = {"c": "char *", "i": "int *", "x": f"{element} *", "r": f"{real} *"}
    results = {"": "void", "i": "int", "x": element, "r": real}
    letters, _, result = parameters.partition(">")
    return f"{results[result]} (*)({', '.join(kinds.get(p, 'void *') for p in letters)})"
