"""SciPy's compiled special functions, called by name, so that machine code holds no address and can be cached."""

from __future__ import annotations

import re
from typing import NamedTuple

import llvmlite.binding as llvm

from treadle.config import new_lock
from treadle.config.errors import TreadleError
from treadle.kernels import capsule_pointer, capsule_signature, special_capsule

# What a scalar op's text calls: ``special_gammainc_{t}({0}, {1})``, by the function's name in the module.
_CALL = re.compile(r"\bspecial_(\w+?)_(f4|f8)\b")


class SpecialFunctionError(TreadleError, ImportError):
    """SciPy lacks a special function."""


class Special(NamedTuple):
    """The symbol and the types of a function."""

    # Its name in machine code.
    symbol: str
    # Type code of its operands and result.
    code: str
    # The number of its operands.
    nin: int


class SpecialFunctions:
    """The functions by name, each looked up at its first use and registered with LLVM."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: dict[tuple[str, str], Special] = {}

    def find(self, name: str, code: str) -> Special:
        """Return a function for operands of a type code.

        f4 uses SciPy's function for float if there is one, otherwise the one for double.
        """
        with self._lock:
            if (name, code) not in self._known:
                self._known[name, code] = _install(name, code)
            return self._known[name, code]

    def install(self, source: str) -> None:
        """Register with LLVM the functions that a text calls, before machine code of that text is loaded."""
        for name, code in _CALL.findall(source):
            self.find(name, code)


def _install(name: str, code: str) -> Special:
    found = special_capsule(name, single=code == "f4")
    if found is not None:
        kind, _, capsule = found
        used = "f4" if kind == "float" else "f8"
        symbol = f"treadle_special_{name}_{used}"
        llvm.add_symbol(symbol, capsule_pointer(capsule))
        return Special(symbol, used, capsule_signature(capsule).count(","))
    msg = f"numba: SciPy's cython_special has no {name} of real numbers. Install a version of SciPy that has it."
    raise SpecialFunctionError(msg)


SPECIAL = SpecialFunctions()
