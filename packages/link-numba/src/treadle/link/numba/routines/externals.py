"""Compiled functions that other packages bring: called by name, so that machine code holds no address.

A package publishes a family of them by the entry point ``treadle.externals.numba``: its name is what calls begin with,
as in ``funcified_0f3a(x, y)``; it stands for a function from the rest of the name to an `External`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import llvmlite.binding as llvm

from treadle.config import discover, new_lock
from treadle.link.numba.routines.objects import WATCH

GROUP = "treadle.externals.numba"
# Words of a program's table before its constants: what calls need, the address of the memory that loops
# watch, the number of threads, and the pool's address.
FIXED_WORDS = WATCH + 3


class External(NamedTuple):
    """A compiled function.

    Attributes
    ----------
    address
        Where it is in this process.
    takes
        A letter for each parameter: d and f for numbers of double and single precision, b for a bool, i and u for
        integers of 64 bits, p for an address.
    result
        The letter of the result; empty if there is none.
    """

    address: int
    takes: str
    result: str


class Externals:
    """The functions by name, each looked up at its first use and registered with LLVM."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: dict[tuple[str, str], External] = {}

    def has_family(self, family: str) -> bool:
        """Whether an installed package publishes a family."""
        return family in discover(GROUP)

    def find(self, family: str, name: str) -> tuple[str, External]:
        """Return the symbol that stands for a function in machine code, and the function."""
        symbol = f"treadle_{family}_{name}"
        with self._lock:
            if (family, name) not in self._known:
                external: External = discover(GROUP)[family].load()(name)
                llvm.add_symbol(symbol, external.address)
                self._known[family, name] = external
        return symbol, self._known[family, name]

    def install(self, source: str) -> None:
        """Register with LLVM the functions that a text calls, before machine code of that text is loaded."""
        for family in discover(GROUP):
            for name in re.findall(rf"\b{family}_(\w+)\(", source):
                self.find(family, name)


EXTERNALS = Externals()
