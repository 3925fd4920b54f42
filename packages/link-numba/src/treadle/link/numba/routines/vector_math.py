"""Which vector forms of libm's functions this machine has: glibc's libmvec, for processors with AVX2 or AVX-512."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache

import llvmlite.binding as llvm

from treadle.config import dataclass
from treadle.kernels import INACCURATE, LIBMVEC, VECTOR_FUNCTIONS

SETS = (("avx512f", "e", 8), ("avx2", "d", 4))


@dataclass(frozen=True, slots=True)
class VectorForm:
    """The vector form of one function."""

    # Its name, which encodes its arguments by the vector ABI of x86-64.
    symbol: str
    # The number of elements of a vector.
    lanes: int


@cache
def vector_forms() -> Mapping[str, tuple[VectorForm, ...]]:
    """Return the vector forms on this machine, by the scalar function's name; those for the widest vectors come first.

    The library is then loaded for compiled code.
    """
    features = llvm.get_host_cpu_features()
    # The letter of an instruction set in the names of vector functions, and its lanes of eight bytes.
    sets = [(letter, lanes) for feature, letter, lanes in SETS if features.get(feature)]
    if not sets:
        return {}
    try:
        library = ctypes.CDLL(LIBMVEC)
    except OSError:
        return {}
    forms = {}
    for name, count in VECTOR_FUNCTIONS.items():
        for symbol, part in ((name, 1), (f"{name}f", 2)):
            vectors = [VectorForm(f"_ZGV{x}N{n * part}{'v' * count}_{symbol}", n * part) for x, n in sets]
            present = tuple(form for form in vectors if hasattr(library, form.symbol))
            if present and symbol not in INACCURATE:
                forms[symbol] = present
    if forms:
        llvm.load_library_permanently(LIBMVEC)
    return forms


def vector_width() -> int:
    """Return the number of bits of the widest vectors that there are functions on; 0 if there are none."""
    return max((64 * form.lanes for form in vector_forms().get("exp", ())), default=0)


def vector_attributes(*, calls: bool) -> list[str]:
    """Return LLVM's attributes of a function for loops on vectors, which may call functions on them."""
    if not vector_width():
        return []
    # LLVM would choose vectors of half the size on processors that slow down with whole ones; functions gain more.
    wide = [f'"prefer-vector-width"="{vector_width()}"']
    # Only with a frame pointer does LLVM align vectors that wait in memory for a call: those that lie across two lines
    # of the cache take twice the time.
    return [*wide, '"frame-pointer"="all"'] if calls else wide


def vector_stamp() -> str:
    """Return a text for cache keys: code that calls a function can only be loaded where it exists."""
    return " ".join(form.symbol for forms in vector_forms().values() for form in forms)
