"""DimShuffle: a view with other lengths and strides."""

from __future__ import annotations

from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import DimShuffle, TensorNode


@TABLE.register(DimShuffle)
def dimshuffle(op: DimShuffle, node: TensorNode, unit: Unit) -> None:
    """Write the view."""
    x, o = unit.slot(node.inputs[0]), unit.views(node.outputs[0], node.inputs[0])
    for gone in op.dropped:
        unit.call(f"v[{x}].n[{gone}] == 1 ? 0 : TR_SHAPE")
    unit.line(f"v[{o}].p = v[{x}].p;")
    for at, d in enumerate(op.order):
        if isinstance(d, int):
            unit.line(f"v[{o}].n[{at}] = v[{x}].n[{d}]; v[{o}].s[{at}] = v[{x}].s[{d}];")
        else:
            unit.line(f"v[{o}].n[{at}] = 1; v[{o}].s[{at}] = 0;")
