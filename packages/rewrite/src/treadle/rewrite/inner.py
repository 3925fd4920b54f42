"""Rewriting the graphs inside ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Apply, HasInnerGraph

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph, Op
    from treadle.rewrite.engine.interface import GraphRewriter
    from treadle.rewrite.engine.report import Report


def rewrite_inner_graphs(fgraph: FunctionGraph, rewriter: GraphRewriter, report: Report | None = None) -> int:
    """Rewrite the graphs inside the ops of a graph, at every depth; return how many there are.

    Parameters
    ----------
    fgraph
        The graph; ops take each other's places in it.
    rewriter
        What rewrites each inner graph. It must leave out in-place work: what may be overwritten inside an op is
        decided where the op is linked.
    report
        Takes in which rules failed, if given.

    Notes
    -----
    An op takes part if it has a method ``with_inner_graph(fgraph) -> Op``. Equal ops are rewritten once.
    """
    rewritten: dict[Op, Op] = {}
    inner_graphs: dict[Op, FunctionGraph] = {}
    pending: list[Op] = _ops_of(fgraph)
    while pending:
        op: Any = pending[-1]
        if op in rewritten:
            pending.pop()
            continue
        if op not in inner_graphs:
            inner_graphs[op] = op.fgraph.unfreeze()
            inner_report = rewriter.rewrite(inner_graphs[op])
            if report is not None:
                report.failures += inner_report.failures
        waiting = [inner for inner in _ops_of(inner_graphs[op]) if inner not in rewritten]
        if waiting:
            pending += waiting
            continue
        pending.pop()
        _exchange(inner_graphs[op], rewritten)
        rewritten[op] = op.with_inner_graph(inner_graphs.pop(op))
    _exchange(fgraph, rewritten)
    return len(rewritten)


def _ops_of(fgraph: FunctionGraph) -> list[Op]:
    """Return the ops that can be given another inner graph, each once."""
    ops = dict.fromkeys(node.op for node in fgraph.toposort() if isinstance(node.op, HasInnerGraph))
    return [op for op in ops if hasattr(op, "with_inner_graph")]


def _exchange(fgraph: FunctionGraph, rewritten: dict[Op, Op]) -> None:
    if not rewritten:
        return
    for node in fgraph.toposort():
        new = rewritten.get(node.op) if isinstance(node.op, HasInnerGraph) else None
        if new is not None:
            replacement = Apply(new, node.inputs, [out.clone() for out in node.outputs])
            replacement.user_line = node.user_line
            fgraph.replace_all(zip(node.outputs, replacement.outputs, strict=True), "rewrite_inner_graphs")
