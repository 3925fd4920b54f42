"""SpecifyShape: a view whose lengths are checked."""

from __future__ import annotations

from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import SpecifyShape, TensorNode


@TABLE.register(SpecifyShape)
def specify_shape(op: SpecifyShape, node: TensorNode, unit: Unit) -> None:
    """Write the checks and the view."""
    x, *lengths = node.inputs
    source, o = unit.slot(x), unit.views(node.outputs[0], x)
    for d, n in zip(op.axes, lengths, strict=True):
        unit.call(f"v[{source}].n[{d}] == {unit.integer(n)} ? 0 : TR_SHAPE")
    unit.line(f"v[{o}].p = v[{source}].p;")
    for d in range(x.type.ndim):
        unit.line(f"v[{o}].n[{d}] = v[{source}].n[{d}]; v[{o}].s[{d}] = v[{source}].s[{d}];")
