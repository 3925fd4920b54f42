"""Reshape."""

from __future__ import annotations

from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import Reshape, TensorNode


@TABLE.register(Reshape)
def reshape(op: Reshape, node: TensorNode, unit: Unit) -> None:
    """Write a view if the elements are contiguous in C order, otherwise a copy."""
    size = ctype(node.inputs[0]).size
    unit.call(f"tr_reshape({with_lengths(unit, node)}, {size}, tr_move{size})")


def with_lengths(unit: Unit, node: TensorNode) -> str:
    """Write a result's lengths, which are operands; return the arguments of what makes it a view or computes it."""
    (x, *lengths), (out,) = node.inputs, node.outputs
    source = unit.slot(x)
    unit.owns(out)
    o = unit.views(out, x)
    for d, n in enumerate(lengths):
        unit.line(f"v[{o}].n[{d}] = {unit.integer(n)};")
    return f"v + {o}, {len(lengths)}, v + {source}, {x.type.ndim}"
