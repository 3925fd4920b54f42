"""BLAS, by the function pointers that SciPy publishes for Cython."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from types import MappingProxyType

from treadle.link.c.background import BACKGROUND
from treadle.link.c.conventions.lapack import LETTERS, lapack_pointer
from treadle.link.c.errors import BackendUnavailableError

# The parameters of each routine, as for `lapack_pointer`.
_PARAMETERS = MappingProxyType({"gemm": "cciiixxixixxi", "gemv": "ciixxixixxi"})


def blas_pointers() -> Mapping[str, int]:
    """Return the addresses of gemm and gemv for real and complex numbers, both widths.

    Raises
    ------
    BackendUnavailableError
        If SciPy does not have them.
    """
    pointers = [lapack_pointer(name, _PARAMETERS[name], dtype, "blas") for dtype in LETTERS for name in _PARAMETERS]
    try:
        return {pointer.name: pointer.address() for pointer in pointers}
    except BackendUnavailableError as error:
        msg = f"{error} The option blas__ldflags names another BLAS."
        raise BackendUnavailableError(msg) from error


@cache
def begin_loading() -> None:
    """Begin to load BLAS in the background, once in a process: ten milliseconds, in which the compiler works."""
    # A process that ends starts no threads.
    with suppress(RuntimeError):
        BACKGROUND.start(blas_pointers, "blas")
