"""Checks of masks."""

from __future__ import annotations

from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import CheckMask, TensorNode


@TABLE.register(CheckMask)
def check_mask(op: CheckMask, node: TensorNode, unit: Unit) -> None:
    """Write a check of the lengths, and a view."""
    mask, *expected = node.inputs
    source, o = unit.slot(mask), unit.views(node.outputs[0], mask)
    lengths = ", ".join(map(unit.integer, expected))
    rank = mask.type.ndim
    unit.call(f"tr_check_mask(v + {o}, v + {source}, {rank}, {rank - len(expected)}, (const int64_t[]){{{lengths}}})")
