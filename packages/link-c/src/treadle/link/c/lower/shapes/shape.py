"""Reshape."""

from __future__ import annotations

from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import Reshape, TensorNode


@TABLE.register(Reshape)
def reshape(op: Reshape, node: TensorNode, unit: Unit) -> None:
    """Write a view if the elements are contiguous in C order, otherwise a copy."""
    x, *lengths = node.inputs
    size = ctype(x).size
    source = unit.slot(x)
    unit.owns(node.outputs[0])
    o = unit.views(node.outputs[0], x)
    for d, n in enumerate(lengths):
        unit.line(f"v[{o}].n[{d}] = {unit.integer(n)};")
    unit.call(f"tr_reshape(v + {o}, {op.ndim}, v + {source}, {x.type.ndim}, {size}, tr_move{size})")
