"""Which vector forms of libm's functions this machine has: glibc's libmvec, for processors with AVX2."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass

import llvmlite.binding as llvm

from treadle.config import new_lock

LIBRARY = "libmvec.so.1"
ONE = (
    "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc",
)  # fmt: skip
TWO = ("pow", "atan2")
# Left out: wrong by four units in the last place for some numbers.
INACCURATE = frozenset({"erff"})


@dataclass(frozen=True, slots=True)
class VectorForm:
    """The vector form of one function."""

    # Its name, which encodes its arguments by the vector ABI of x86-64.
    symbol: str
    # The number of elements of a vector.
    lanes: int


class VectorMath:
    """The vector forms on this machine, looked up when first asked for."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._forms: Mapping[str, VectorForm] | None = None

    def forms(self) -> Mapping[str, VectorForm]:
        """Return all forms by the scalar function's name; the library is then loaded for compiled code."""
        with self._lock:
            if self._forms is None:
                self._forms = _probe()
        return self._forms

    def form(self, symbol: str) -> VectorForm | None:
        """Return the form of one function, or None."""
        return self.forms().get(symbol)

    def stamp(self) -> str:
        """Return a text for cache keys: code that calls a function can only be loaded where it exists."""
        return " ".join(form.symbol for form in self.forms().values())


def _probe() -> dict[str, VectorForm]:
    if not llvm.get_host_cpu_features().get("avx2"):
        return {}
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return {}
    forms = {}
    for names, mark in ((ONE, "v"), (TWO, "vv")):
        for name in names:
            for symbol, lanes in ((name, 4), (f"{name}f", 8)):
                vector = f"_ZGVdN{lanes}{mark}_{symbol}"
                if symbol not in INACCURATE and hasattr(library, vector):
                    forms[symbol] = VectorForm(vector, lanes)
    if forms:
        llvm.load_library_permanently(LIBRARY)
    return forms


VECTOR_MATH = VectorMath()
