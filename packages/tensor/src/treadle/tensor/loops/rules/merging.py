"""Merging of loops that run side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Branching, Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.loops.loops import Scan
from treadle.tensor.loops.rules.editing import Edit, ends_alike, loops_of, side_by_side

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.graph import Block, FunctionGraph, Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("loops_merging")


@RULES.graph_pass(
    (Phase.CANONICALIZE, Phase.STABILIZE, Phase.SPECIALIZE),
    tags=("fast_run", "scan", "scan_eqopt2", "scan_merge"),
    after=("loop_of_unused",),
    needs=(Scan,),
)
def merge_loops(fgraph: FunctionGraph) -> int:
    """scan(f, x), scan(g, x) of the same number of steps -> one loop that computes both, and what is equal once.

    Only loops of one block and one level come together, the level being how many loops lie one after another below:
    what leads from one to another would have raised it.
    """
    loops = loops_of(fgraph)
    if len(loops) < 2 or len({node.inputs[0] for node in loops}) == len(loops):
        return 0
    home = Branching.of(fgraph).home
    level: dict[Variable, int] = {}
    groups: dict[tuple[Variable, bool, int, Block], list[NodeOf[Scan]]] = {}
    for node in fgraph.toposort():
        at = max((level.get(x, 0) for x in node.inputs), default=0)
        if isinstance(node.op, Scan):
            groups.setdefault((node.inputs[0], node.op.has_until, at, home[node]), []).append(node)  # type: ignore[arg-type]  # a loop
            at += 1
        level.update(dict.fromkeys(node.outputs, at))
    changes = 0
    for group in groups.values():
        for several in _sharing(group):
            changes += _merged(fgraph, several)
    return changes


def _sharing(group: list[NodeOf[Scan]]) -> Iterable[list[NodeOf[Scan]]]:
    """Split loops into those that take some of the same sequences, starts or constants."""
    parts: list[tuple[set[Variable], list[NodeOf[Scan]]]] = []
    for node in group:
        own: set[Variable] = {x for x in node.inputs[1:] if not isinstance(x, Constant)}
        joined, nodes = set(own), [node]
        rest = []
        for known, others in parts:
            if known.isdisjoint(own):
                rest.append((known, others))
            else:
                joined |= known
                nodes = [*others, *nodes]
        parts = [*rest, (joined, nodes)]
    return [nodes for _, nodes in parts if len(nodes) > 1]


def _merged(fgraph: FunctionGraph, nodes: list[NodeOf[Scan]]) -> int:
    """Make one loop of several; return how many went."""
    edit = Edit.of(nodes[0])
    count = 0
    for node in nodes[1:]:
        other = Edit.of(node)
        whole = side_by_side(edit.parts, other.parts)
        if whole.until is not None and not ends_alike(whole, other.parts.until):
            continue
        edit.parts = whole
        edit.carries_for += other.carries_for
        edit.rows_for += other.rows_for
        edit.steps_for += other.steps_for
        edit.merge_equal()
        count += 1
    if count:
        replacements = edit.finish()
        fgraph.replace_all([(old, new) for old, new in replacements.items() if fgraph.clients.get(old)], "merge_loops")
    return count
