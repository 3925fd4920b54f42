"""Rules for ops made of graphs: the graph takes the node's place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import Phase, RuleSet, rewrite_graph
from treadle.tensor.from_graph import OpFromGraph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Variable

RULES = RuleSet("from_graph")
BOTH = ("fast_run", "fast_compile")


@RULES.rule(Phase.CANONICALIZE, OpFromGraph, tags=BOTH, depth=1)
def inline_ofg_expansion(node: Apply) -> Sequence[Variable] | None:
    """An op made of a graph with ``inline=True`` -> the graph."""
    op: Any = node.op
    found: Sequence[Variable] | None = op.fgraph.bind(node.inputs) if op.is_inline else None
    return found


@RULES.rule(Phase.SPECIALIZE, OpFromGraph, tags=("fast_run", "inline_ofg"), depth=1)
def late_inline_OpFromGraph(node: Apply) -> Sequence[Variable] | None:  # noqa: N802 - the documented name
    """An op made of a graph -> the graph in its canonical and stable form.

    Not where a subclass computes otherwise than by the graph.
    """
    op: Any = node.op
    if type(op).perform is not OpFromGraph.perform:
        return None
    inner = op.fgraph.unfreeze()
    rewrite_graph(inner, include=("canonicalize", "stabilize"))
    found: Sequence[Variable] = inner.freeze().bind(node.inputs)
    return found
