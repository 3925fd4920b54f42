"""Rules for shapes: a shape is computed from the shapes of inputs, not from what was computed with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.conversion import constant
from treadle.tensor.joining import Join
from treadle.tensor.rewrites.conditions import BOTH
from treadle.tensor.rewrites.lengths import LengthTable, table_of
from treadle.tensor.shape import LENGTH, Shape, ShapeI

if TYPE_CHECKING:
    from treadle.graph import Apply, FunctionGraph, Variable

RULES = RuleSet("shape", features=(LengthTable,))
EARLY_AND_LATE = (Phase.CANONICALIZE, Phase.SPECIALIZE)


@RULES.rule(EARLY_AND_LATE, ShapeI, tags=(*BOTH, "ShapeOpt", "local_track_shape_i"), needs_graph=True)
def length_from_inputs(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """Length of dimension d of f(x) -> the same from the lengths of x."""
    x = node.inputs[0]
    op: Any = node.op
    kind: Any = x.type
    known = kind.shape[op.axis]
    if known is not None:
        return constant(known, dtype=LENGTH)
    if x.owner is None:
        return None
    table = table_of(fgraph)
    return table.variable(table.of(x)[op.axis], fgraph, avoid=x)


@RULES.rule(EARLY_AND_LATE, Shape, tags=(*BOTH, "ShapeOpt", "local_shape_to_shape_i"), needs_graph=True)
def shape_from_inputs(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """Shape of f(x) -> the same from the lengths of x."""
    x: Any = node.inputs[0]
    if None not in x.type.shape:
        return constant(x.type.shape, dtype=LENGTH) if x.type.shape else constant([], dtype=LENGTH)
    if x.owner is None:
        return None
    table = table_of(fgraph)
    lengths: list[Any] = [table.variable(n, fgraph, avoid=x) for n in table.of(x)]
    if any(n is None for n in lengths):
        return None
    made: Variable = Join(0)(*(n.dimshuffle("x") for n in lengths))
    return made
