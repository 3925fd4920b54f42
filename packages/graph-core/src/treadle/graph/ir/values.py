"""Names for what ops compute with, as annotations say them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from treadle.graph.ir.variable import Variable

# What a variable stands for while a program runs: its type alone knows of what class it is.
Value: TypeAlias = Any

# A list of one element: where thunks and `Op.perform` put a value.
Cell: TypeAlias = list[Value]

# Computes a node: of one value for each input, the output's value or a tuple of several.
Compute: TypeAlias = Callable[..., Value]

# The lengths of a variable's dimensions, integers where they are known.
SymbolicShape: TypeAlias = "Sequence[int | Variable]"
