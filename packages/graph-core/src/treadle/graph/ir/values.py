"""Type aliases for the values that ops compute with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from treadle.graph.ir.variable import Variable

# The value of a variable while a program runs; its class depends on the variable's type.
Value: TypeAlias = Any

# A list of one element: where thunks and `Op.perform` put a value.
Cell: TypeAlias = list[Value]

# Computes a node: takes one value for each input, returns the output's value or a tuple of several.
Compute: TypeAlias = Callable[..., Value]

# The lengths of a variable's dimensions, integers where they are known.
SymbolicShape: TypeAlias = "Sequence[int | Variable]"
