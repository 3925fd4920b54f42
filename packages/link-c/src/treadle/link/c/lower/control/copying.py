"""Copies."""

from __future__ import annotations

from treadle.graph import DeepCopyOp
from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import TensorNode


@TABLE.register(DeepCopyOp)
def deep_copy(op: DeepCopyOp, node: TensorNode, unit: Unit) -> None:
    """Write a copy in C order, or hand over the block of an array that nothing needs after."""
    (x,) = node.inputs
    source, o, size = unit.slot(x), unit.owns(node.outputs[0]), ctype(x).size
    copy = "tr_adopt" if unit.dying(x, node.inputs) else "tr_copy"
    unit.call(f"{copy}(v + {o}, v + {source}, {x.type.ndim}, {size}, tr_move{size})")
