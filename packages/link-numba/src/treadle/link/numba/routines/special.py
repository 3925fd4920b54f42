"""SciPy's compiled special functions, called by name, so that machine code holds no address and can be cached."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple

import llvmlite.binding as llvm

from treadle.config import new_lock
from treadle.config.errors import TreadleError
from treadle.link.numba.routines.blas import capsule_name, capsule_pointer

_MODULE = "scipy.special.cython_special"
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
    capsules: Mapping[str, object] = import_module(_MODULE).__pyx_capi__
    # Functions with more than one variant have several capsules, __pyx_fuse_0name and so on.
    variants = [c for own, c in capsules.items() if re.fullmatch(rf"(__pyx_fuse_\d+(_\d)?)?{name}", own)]
    for kind, used in (("float", "f4"), ("double", "f8")) if code == "f4" else (("double", "f8"),):
        for capsule in variants:
            signature = capsule_name(capsule)
            if re.fullmatch(rf"{kind} \(({kind}, )+int __pyx_skip_dispatch\)", signature.decode()):
                symbol = f"treadle_special_{name}_{used}"
                llvm.add_symbol(symbol, capsule_pointer(capsule, signature))
                return Special(symbol, used, signature.count(b","))
    msg = f"numba: SciPy's cython_special has no {name} of real numbers. Install a version of SciPy that has it."
    raise SpecialFunctionError(msg)


SPECIAL = SpecialFunctions()
