"""Arithmetic of lengths that a library leaves open while it traces a program: what scalar ops do to them.

The numbers are Python's, or the library's expressions of lengths, which have Python's operators.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any

__all__ = ["LENGTH_OPERATORS", "REDUCED_BY"]


def _same(a: Any) -> Any:
    return a


# By names of scalar ops. A library has others for those that its expressions cannot be asked about.
LENGTH_OPERATORS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "add": lambda *xs: reduce(operator.add, xs),
        "mul": lambda *xs: reduce(operator.mul, xs),
        "sub": operator.sub,
        "neg": operator.neg,
        "floor_div": lambda a, b: 0 if b == 0 else a // b,
        "mod": lambda a, b: 0 if b == 0 else a % b,
        "abs": lambda a: -a if a < 0 else a,
        "sqr": lambda a: a * a,
        "sign": lambda a: (a > 0) - (a < 0),
        "maximum": max,
        "minimum": min,
        "identity": _same,
        "second": lambda _, a: a,
        "switch": lambda c, a, b: a if c else b,
        "eq": operator.eq,
        "neq": operator.ne,
        "lt": operator.lt,
        "le": operator.le,
        "gt": operator.gt,
        "ge": operator.ge,
        **{f"cast_int{bits}": _same for bits in (8, 16, 32, 64)},
        **dict.fromkeys(("ceil", "floor", "trunc"), _same),
    }
)
# The scalar ops that reductions of vectors of lengths repeat.
REDUCED_BY: Mapping[str, str] = MappingProxyType({"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"})
