"""Rules for ops made of graphs: the graph takes the node's place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import Phase, RuleSet, rewrite_graph
from treadle.tensor.embedding.from_graph import OpFromGraph
from treadle.tensor.rewrites.analysis.patterns import BOTH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import FunctionGraph, Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("from_graph")


def _expanded(op: OpFromGraph, chosen: Callable[[OpFromGraph], bool]) -> FunctionGraph:
    """Return a copy of an op's graph in which those of chosen ops, however deep, stand in these ops' places."""
    fgraph: FunctionGraph = op.fgraph.unfreeze()
    # The same op of the same variables is put in once: gradients of nested ops compute much of each other again.
    known: dict[tuple[Any, ...], Sequence[Variable]] = {}
    while True:
        nodes = fgraph.toposort()
        inner = [(node, node.op) for node in nodes if isinstance(node.op, OpFromGraph) and chosen(node.op)]
        if not inner:
            return fgraph
        for node, op in inner:
            key = (op, *node.inputs)
            if key not in known:
                known[key] = op.fgraph.bind(node.inputs)
            fgraph.replace_all(zip(node.outputs, known[key], strict=True), "expanded")


@RULES.rule(Phase.CANONICALIZE, OpFromGraph, tags=BOTH, depth=1)
def inline_ofg_expansion(node: NodeOf[OpFromGraph]) -> Sequence[Variable] | None:
    """An op made of a graph with ``inline=True`` -> the graph."""
    if not node.op.is_inline:
        return None
    return _expanded(node.op, lambda inner: inner.is_inline).freeze().bind(node.inputs)


def _is_plain(op: OpFromGraph) -> bool:
    """Whether an op computes by its graph; a subclass may do otherwise."""
    return type(op).perform is OpFromGraph.perform


@RULES.rule(
    Phase.SPECIALIZE,
    OpFromGraph,
    tags=("fast_run", "inline_ofg"),
    depth=1,
    differs="where the rules of these forms differ",
)
def late_inline_OpFromGraph(node: NodeOf[OpFromGraph]) -> Sequence[Variable] | None:  # noqa: N802 - the documented name
    """An op made of a graph -> the graph in its canonical and stable form.

    Not where a subclass computes otherwise than by the graph.
    """
    if not _is_plain(node.op):
        return None
    inner = _expanded(node.op, _is_plain)
    rewrite_graph(inner, include=("canonicalize", "stabilize"))
    return inner.freeze().bind(node.inputs)
