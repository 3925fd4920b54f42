"""SciPy's compiled special functions."""

from __future__ import annotations

from typing import NamedTuple

from treadle.config.errors import TreadleError
from treadle.kernels import capsule_pointer, capsule_signature, special_capsule
from treadle.link.numba.routines.symbols import Symbols


class SpecialFunctionError(TreadleError, ImportError):
    """SciPy lacks a special function."""


class Special(NamedTuple):
    """The types of a function."""

    # Type code of its operands and result.
    code: str
    # The number of its operands.
    nin: int


def _function(name: str, code: str) -> tuple[int, Special]:
    """Return the address of a function for operands of a type code, and its types.

    f4 uses SciPy's function for float if there is one, otherwise the one for double.
    """
    found = special_capsule(name, single=code == "f4")
    if found is None:
        msg = f"numba: SciPy's cython_special has no {name} of real numbers. Install a version of SciPy that has it."
        raise SpecialFunctionError(msg)
    kind, _, capsule = found
    about = Special("f4" if kind == "float" else "f8", capsule_signature(capsule).count(","))
    return capsule_pointer(capsule), about


# What a scalar op's text calls: ``special_gammainc_{t}({0}, {1})``, by the function's name in the module.
SPECIAL = Symbols("special", lambda: r"\bspecial_(\w+?)_(f4|f8)\b", _function)
