"""Rules for the bodies of loops: rewritten as any graph, and with lengths known where they follow from what goes in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import MergeOptimizer, Phase, RuleSet, SequentialGraphRewriter, current_run
from treadle.tensor.loops.loops import Scan
from treadle.tensor.loops.rules.editing import Edit, loops_of
from treadle.tensor.shapes.shape import ShapeI

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import FunctionGraph, Variable
    from treadle.rewrite import GraphRewriter
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("loops_bodies")


@RULES.graph_pass(
    (Phase.CANONICALIZE, Phase.STABILIZE),
    tags=("fast_run", "scan", "scan_inner_graph"),
    after=("merge_loops",),
    needs=(Scan,),
)
def loop_bodies(fgraph: FunctionGraph) -> int:
    """scan(body) -> scan(body as the rules of the phase make it).

    Loops of equal inputs have come together by then: their bodies are compared as they were written.
    """
    run = current_run(fgraph)
    if run is None or run.rewriter is None:
        return 0
    phase = run.rewriter
    rewriter = phase if run.merging is None else SequentialGraphRewriter(MergeOptimizer(), phase)
    rewritten: dict[Scan, Scan] = {}
    changes = 0
    for node in loops_of(fgraph):
        op = node.op
        if op.__dict__.get("_settled") is phase:
            continue
        new = rewritten.get(op)
        if new is None:
            new = rewritten[op] = _rewritten(op, rewriter)
            new.__dict__["_settled"] = phase
        if new is not op:
            fgraph.replace_all(zip(node.outputs, new.make_node(*node.inputs).outputs, strict=True), "loop_bodies")
            changes += 1
    return changes


def _rewritten(op: Scan, rewriter: GraphRewriter) -> Scan:
    body = op.fgraph.unfreeze()
    report = rewriter.rewrite(body)
    return op.with_inner_graph(body) if report.firings or report.rules else op


@RULES.rule(
    (Phase.CANONICALIZE, Phase.STABILIZE),
    Scan,
    tags=("fast_run", "scan", "scan_eqopt1", "all_pushout_opt", "scan_pushout", "scan_pushout_nonseqs_ops"),
    depth=1,
)
def lengths_out_of_loop(node: NodeOf[Scan]) -> Mapping[Variable, Variable] | None:
    """scan(f(length of x_t)) -> scan(f(n)), n the length outside: of what keeps its shape, and of rows."""
    op = node.op
    if not any(type(x.op) is ShapeI and x.inputs[0].owner is None for x in op.fgraph.toposort()):
        return None
    edit = Edit.of(node)
    parts = edit.parts
    kept = op.keeps_shapes()
    outer: dict[Variable, tuple[Variable, int]] = {
        x: (s, 1) for x, s in zip(parts.rows_in, parts.sequences, strict=True)
    }
    outer.update((x, (s, 0)) for x, s in zip(parts.constants, parts.givens, strict=True))
    outer.update((x, (parts.starts[j], 0)) for j, x in enumerate(parts.carries) if j in kept)
    pairs: dict[Variable, Variable] = {}
    known: dict[tuple[Variable, int], Variable] = {}
    for measured in parts.nodes():
        if type(measured.op) is not ShapeI or measured.inputs[0] not in outer:
            continue
        whole, first = outer[measured.inputs[0]]
        at = whole, first + measured.op.axis
        if at not in known:
            known[at] = measured.outputs[0].type.make_variable()
            parts.add_given(ShapeI(at[1])(whole), known[at])
        pairs[measured.outputs[0]] = known[at]
    if not pairs:
        return None
    parts.replace(pairs)
    return edit.finish()
