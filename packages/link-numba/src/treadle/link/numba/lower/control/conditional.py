"""Choices between two values that are both computed; `treadle.link.numba.text.source` writes the lazy ones."""

from __future__ import annotations

from treadle.graph import IfElse
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.choices import Arm, write_choice
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import TensorNode


@TABLE.register(IfElse)
def lower_ifelse(op: IfElse, node: TensorNode, writer: GraphWriter) -> None:
    """Choose between two values."""
    write_choice(writer, node, [Arm([], [writer.value(v) for v in branch]) for branch in op.branches(node)])
