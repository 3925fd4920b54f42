"""From a graph to a unit of C text."""

from __future__ import annotations

from treadle.graph import FunctionGraph
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import tensors


def write_unit(fgraph: FunctionGraph, *, keeps_blocks: bool = False) -> Unit:
    """Return the unit of a graph with the text of its nodes; every output has its own array."""
    unit = Unit(fgraph, keeps_blocks=keeps_blocks)
    for var in (*fgraph.inputs, *unit.constants):
        unit.slot(var)
    for index, node in enumerate(unit.layout.order):
        unit.begin(index)
        TABLE.rule(node)(node.op, node, unit)
    unit.begin(len(unit.layout.order))
    for out in tensors(fgraph.outputs):
        unit.leave(out)
    return unit
