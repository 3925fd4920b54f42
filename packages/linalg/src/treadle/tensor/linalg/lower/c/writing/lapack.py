"""The C types of routines of LAPACK and BLAS."""

from __future__ import annotations


def c_type(parameters: str, element: str, real: str) -> str:
    """Return the C type of a pointer to a routine; parameters that are functions are untyped.

    >>> c_type("cixii", "double", "double")
    'void (*)(char *, int *, double *, int *, int *)'
    """
    kinds = {"c": "char *", "i": "int *", "x": f"{element} *", "r": f"{real} *"}
    results = {"": "void", "i": "int", "x": element, "r": real}
    letters, _, result = parameters.partition(">")
    return f"{results[result]} (*)({', '.join(kinds.get(p, 'void *') for p in letters)})"
