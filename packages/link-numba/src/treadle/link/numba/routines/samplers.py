"""NumPy's compiled samplers, called by name, so that machine code holds no address and can be cached."""

from __future__ import annotations

import re

import llvmlite.binding as llvm

from treadle.config import new_lock
from treadle.link.numba.routines.blas import ROUTINES

# What kernels call: ``sampler_random_normal(g, x, y)``.
_CALL = re.compile(r"\bsampler_(random_\w+)\(")
# The name for the table of the bit generators' functions in their arguments.
FUNCTIONS = "open_generator"
# Words of a program's table before its constants: routines, the address of that table, and of the watch.
FIXED_WORDS = len(ROUTINES) + 2


class Samplers:
    """The samplers by name, each looked up at its first use and registered with LLVM."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: set[str] = set()

    def find(self, name: str) -> tuple[str, str, str]:
        """Return a sampler's name in machine code, and the letters of its parameters and of its result."""
        from treadle.tensor import COMPILED_SAMPLERS, sampler_address

        symbol = f"treadle_{name}"
        with self._lock:
            if name not in self._known:
                llvm.add_symbol(symbol, sampler_address(name))
                self._known.add(name)
        takes, _, result = COMPILED_SAMPLERS[name].partition(">")
        return symbol, takes, result

    def install(self, source: str) -> None:
        """Register with LLVM the samplers that a text calls, before machine code of that text is loaded."""
        for name in _CALL.findall(source):
            self.find(name)


SAMPLERS = Samplers()
