"""Assertions."""

from __future__ import annotations

from treadle.link.c.conventions.dtypes import ctype, loaded
from treadle.link.c.lower.control.copying import view
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import CheckAndRaise, TensorNode


@TABLE.register(CheckAndRaise)
def check_and_raise(op: CheckAndRaise, node: TensorNode, unit: Unit) -> None:
    """Write a test for each condition, then a view of the value."""
    for condition in node.inputs[1:]:
        place = f"*(const {ctype(condition).stored} *)v[{unit.slot(condition)}].p"
        unit.call(f"({loaded(condition.type.dtype, place)}) ? 0 : TR_ASSERTION")
    view(op, node, unit)
