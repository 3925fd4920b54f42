"""Rules for ops made of graphs: the graph takes the node's place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import Phase, RuleSet, rewrite_graph
from treadle.tensor.embedding.from_graph import OpFromGraph
from treadle.tensor.embedding.frozen_inner import HasFrozenGraph
from treadle.tensor.loops.loops import Scan
from treadle.tensor.rewrites.analysis.patterns import BOTH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import FunctionGraph, Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("from_graph")


def _expanded(op: OpFromGraph, chosen: Callable[[OpFromGraph], bool]) -> FunctionGraph:
    """Return a copy of an op's graph in which those of chosen ops, however deep, stand in these ops' places."""
    fgraph: FunctionGraph = op.fgraph.unfreeze()
    _expand(fgraph, chosen)
    return fgraph


def _expand(fgraph: FunctionGraph, chosen: Callable[[OpFromGraph], bool]) -> None:
    """Put the graphs of chosen ops, however deep, in these ops' places."""
    # The same op of the same variables is put in once: gradients of nested ops compute much of each other again.
    known: dict[tuple[Any, ...], Sequence[Variable]] = {}
    while True:
        nodes = fgraph.toposort()
        inner = [(node, node.op) for node in nodes if isinstance(node.op, OpFromGraph) and chosen(node.op)]
        if not inner:
            return
        for node, op in inner:
            key = (op, *node.inputs)
            if key not in known:
                known[key] = op.fgraph.bind(node.inputs)
            fgraph.replace_all(zip(node.outputs, known[key], strict=True), "expanded")


def _asks(op: OpFromGraph) -> bool:
    """Whether an op asks to be put in the place of its nodes at once."""
    return op.is_inline


# What other rules bring in, such as those of batches, is put in its place late.
@RULES.rule((Phase.INLINE, Phase.SPECIALIZE), OpFromGraph, tags=BOTH, depth=1)
def inline_ofg_expansion(node: NodeOf[OpFromGraph]) -> Sequence[Variable] | None:
    """An op made of a graph with ``inline=True`` -> the graph."""
    return _expanded(node.op, _asks).freeze().bind(node.inputs) if node.op.is_inline else None


def _has_inline(op: HasFrozenGraph) -> bool:
    """Whether the graph of an op, or one further inside, holds an op that asks to be put in its place."""
    inside: list[Any] = [node.op for node in op.fgraph.apply_nodes if isinstance(node.op, HasFrozenGraph)]
    return any((isinstance(inner, OpFromGraph) and inner.is_inline) or _has_inline(inner) for inner in inside)


@RULES.graph_pass(Phase.INLINE, tags=BOTH, needs=(Scan,))
def inline_ofg_in_loops(fgraph: FunctionGraph) -> int:
    """scan(body) -> scan(body in which the graphs of ops with ``inline=True`` stand in these ops' places)."""
    changes = 0
    for node in fgraph.toposort():
        if isinstance(node.op, Scan) and _has_inline(node.op):
            body = node.op.fgraph.unfreeze()
            _expand(body, _asks)
            inline_ofg_in_loops(body)
            new = node.op.with_inner_graph(body).make_node(*node.inputs)
            fgraph.replace_all(zip(node.outputs, new.outputs, strict=True), "inline_ofg_in_loops")
            changes += 1
    return changes


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
    inner = _expanded(node.op, lambda op: _is_plain(op) or op.is_inline)
    rewrite_graph(inner, include=("canonicalize", "stabilize"))
    return inner.freeze().bind(node.inputs)
