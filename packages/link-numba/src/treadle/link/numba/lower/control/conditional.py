"""Choices between branches, where both were computed before: those of `treadle.link.numba.source` are lazy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import IfElse
from treadle.link.numba.choices import Arm, write_choice
from treadle.link.numba.table import TABLE

if TYPE_CHECKING:
    from treadle.link.numba.writer import GraphWriter
    from treadle.tensor import TensorNode

# The rules take complex numbers too.
TAKES_COMPLEX = True


@TABLE.register(IfElse)
def lower_ifelse(op: IfElse, node: TensorNode, writer: GraphWriter) -> None:
    """Choose between two values."""
    write_choice(writer, node, [Arm([], [writer.value(v) for v in branch]) for branch in op.branches(node)])
