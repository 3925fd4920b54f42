"""Rewriting the graphs inside ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Apply, HasInnerGraph

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph, Op
    from treadle.rewrite.engine.interface import GraphRewriter
    from treadle.rewrite.engine.report import Report


def rewrite_inner_graphs(fgraph: FunctionGraph, rewriter: GraphRewriter, report: Report | None = None) -> int:
    """Rewrite the graphs inside the ops of a graph, those of ops inside them included; return how many there are.

    Parameters
    ----------
    fgraph
        The graph; ops take each other's places in it.
    rewriter
        What rewrites each inner graph. It must leave out in-place work: what inside an op may be overwritten is
        decided anew where it is linked.
    report
        Takes in which rules failed, if given.

    Notes
    -----
    An op takes part if it has a method ``with_inner_graph(fgraph) -> Op``. Equal ops are rewritten once.
    """
    made: dict[Op, Op] = {}
    inside: dict[Op, FunctionGraph] = {}
    pending: list[Op] = _ops_of(fgraph)
    while pending:
        op: Any = pending[-1]
        if op in made:
            pending.pop()
            continue
        if op not in inside:
            inside[op] = op.fgraph.unfreeze()
            inner_report = rewriter.rewrite(inside[op])
            if report is not None:
                report.failures += inner_report.failures
        waiting = [inner for inner in _ops_of(inside[op]) if inner not in made]
        if waiting:
            pending += waiting
            continue
        pending.pop()
        _exchange(inside[op], made)
        made[op] = op.with_inner_graph(inside.pop(op))
    _exchange(fgraph, made)
    return len(made)


def _ops_of(fgraph: FunctionGraph) -> list[Op]:
    """Return the ops that can be given another inner graph, each once."""
    found = [node.op for node in fgraph.toposort() if isinstance(node.op, HasInnerGraph)]
    return list(dict.fromkeys(op for op in found if hasattr(op, "with_inner_graph")))


def _exchange(fgraph: FunctionGraph, made: dict[Op, Op]) -> None:
    if not made:
        return
    for node in fgraph.toposort():
        new = made.get(node.op) if isinstance(node.op, HasInnerGraph) else None
        if new is not None:
            other = Apply(new, node.inputs, [out.clone() for out in node.outputs])
            other.user_line = node.user_line
            fgraph.replace_all(zip(node.outputs, other.outputs, strict=True), "rewrite_inner_graphs")
