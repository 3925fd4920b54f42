"""Compiled functions that other packages bring.

A package publishes a family of them by the entry point ``treadle.externals.numba``: its name is what calls begin with,
as in ``funcified_0f3a(x, y)``; it stands for a function from the rest of the name to an `External`.
"""

from __future__ import annotations

from typing import NamedTuple

from treadle.config import discover
from treadle.link.numba.routines.objects import WATCH
from treadle.link.numba.routines.symbols import Symbols

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


def is_family(name: str) -> bool:
    """Whether an installed package publishes a family."""
    return name in discover(GROUP)


def _function(family: str, name: str) -> tuple[int, External]:
    external: External = discover(GROUP)[family].load()(name)
    return external.address, external


EXTERNALS = Symbols("external", lambda: rf"\b({'|'.join(discover(GROUP)) or '(?!)'})_(\w+)\(", _function)
