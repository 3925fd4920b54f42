"""In-place work: nodes overwrite inputs that nothing needs any more, as one walk over the graph decides.

The walk follows an order of evaluation in which nodes that can work in place come late, after all others that are
ready: so that they are, wherever possible, the last to read their inputs. A value may be overwritten by the last node
that reads its memory, be it through the value itself or through a view of it, unless the memory belongs to somebody
else: to a protected input, a constant, a shared variable, or an output of the graph. What the graph then computes is
checked once, by the destroy handler, which from then on has readers come before the node that overwrites.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from treadle.graph import CycleError, DestroyHandler, InconsistencyError, Supervisor, memory_roots, node_at, roots_of
from treadle.rewrite.errors import RewriteError
from treadle.rewrite.phase import Phase
from treadle.rewrite.rules import RuleSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Op, Roots, Variable

RULES = RuleSet("inplace")


def _followers(fgraph: FunctionGraph, order: Sequence[Apply]) -> dict[Apply, dict[Apply, None]]:
    """Return for each node those that must come after it: its clients, and what the features put there."""
    after: dict[Apply, dict[Apply, None]] = {node: {} for node in order}
    for node in order:
        for x in node.inputs:
            if x.owner is not None:
                after[x.owner][node] = None
    for node, later in fgraph.orderings().items():
        for client in later:
            after[client][node] = None
    return after


def late_order(fgraph: FunctionGraph) -> list[Apply]:
    """Return an order of evaluation in which a node that can work in place waits for all others that are ready."""
    nodes = fgraph.toposort()
    after = _followers(fgraph, nodes)
    waits = dict.fromkeys(nodes, 0)
    for followers in after.values():
        for node in followers:
            waits[node] += 1
    # Ops are not used as keys: hashing a fused one costs more than asking it.
    keys = {
        node: (node.op.inplace_on_inputs(range(len(node.inputs))) is not node.op, at) for at, node in enumerate(nodes)
    }
    ready = [keys[node] for node in nodes if not waits[node]]
    heapify(ready)
    order = []
    while ready:
        node = nodes[heappop(ready)[1]]
        order.append(node)
        for client in after[node]:
            waits[client] -= 1
            if not waits[client]:
                heappush(ready, keys[client])
    return order


def protected_variables(fgraph: FunctionGraph) -> set[Variable]:
    """Return what may not be overwritten: orphans, outputs, and inputs, unless a Supervisor protects some only."""
    supervisors = [feature for feature in fgraph.features if isinstance(feature, Supervisor)]
    free = set(fgraph.inputs) if supervisors else set()
    free.difference_update(var for feature in supervisors for var in feature.protected)
    protected = {var for var in fgraph.variables if var.owner is None and var not in free}
    return protected | set(fgraph.outputs)


def allowed_inputs(node: Apply, roots: Roots, dying: frozenset[Variable]) -> list[int]:
    """Return the positions of inputs that a node may overwrite, those of an output's very type first.

    `dying` are the variables whose memory nothing reads after the node, and which belong to nobody else. An input that
    the op would only work in (`Op.working_inputs`) need not be of the type of an output.
    """
    memory = [roots_of(x, roots) for x in node.inputs]
    allowed = []
    for i, (x, own) in enumerate(zip(node.inputs, memory, strict=True)):
        if not own <= dying or any(k != i and own & other for k, other in enumerate(memory)):
            continue
        if i in node.op.working_inputs or any(x.type.in_same_class(out.type) for out in node.outputs):
            allowed.append(i)
    exact = {i for i in allowed if any(node.inputs[i].type == out.type for out in node.outputs)}
    return [*(i for i in allowed if i in exact), *(i for i in allowed if i not in exact)]


def in_place_version(op: Op, allowed: Sequence[int]) -> Op | None:
    """Return the version of an op that overwrites some of the allowed inputs, or None if there is none."""
    version = op.inplace_on_inputs(allowed)
    overwritten = {i for inputs in version.destroy_map.values() for i in inputs}
    if version is op or not overwritten:
        return None
    if not overwritten <= set(allowed):
        msg = (
            f"{op}: inplace_on_inputs({list(allowed)}) answered with {version}, which overwrites the inputs "
            f"{sorted(overwritten)}. Overwrite allowed ones only."
        )
        raise RewriteError(msg)
    return version


def _replace(fgraph: FunctionGraph, node: Apply, op: Op, name: str) -> None:
    """Let a node of another op take the place of a node, with its inputs as they are now."""
    replacement = node_at(node.user_line, op, node.inputs, [out.clone() for out in node.outputs])
    if node._tag is not None:
        replacement.tag = node.tag.copy()
    fgraph.replace_all(zip(node.outputs, replacement.outputs, strict=True), name)


# The tags of every pass that overwrites inputs; without a destroy handler there is no in-place work at all.
IN_PLACE = ("fast_run", "inplace", "add_destroy_handler")


@RULES.graph_pass(Phase.INPLACE, tags=IN_PLACE)
def work_in_place(fgraph: FunctionGraph) -> int:
    """f(x) where nothing reads x afterwards -> f(x) written over x."""
    return overwrite(fgraph, "work_in_place")


def overwrite(fgraph: FunctionGraph, name: str) -> int:
    """Let ops overwrite inputs that nothing reads afterwards; return the number of nodes that now work in place.

    These are the ops that name the pass as theirs (`Op.inplace_pass`).
    """
    if not any(node.op.inplace_pass == name for node in fgraph.apply_nodes):
        return 0
    order = late_order(fgraph)
    roots = memory_roots(order, versions=True)
    last: dict[Variable, int] = {}
    for at, node in enumerate(order):
        last.update((root, at) for x in node.inputs for root in roots_of(x, roots))
    protected = {root for var in protected_variables(fgraph) for root in roots_of(var, roots)}
    changes: list[tuple[Apply, Op]] = []
    for at, node in enumerate(order):
        if node.op.destroy_map or node.op.inplace_pass != name:
            continue
        read = frozenset(root for x in node.inputs for root in roots_of(x, roots))
        dying = frozenset(root for root in read if last[root] == at and root not in protected)
        allowed = allowed_inputs(node, roots, dying) if dying else ()
        op = in_place_version(node.op, allowed) if allowed else None
        if op is not None:
            changes.append((node, op))
    if changes and not any(isinstance(feature, DestroyHandler) for feature in fgraph.features):
        fgraph.attach_feature(DestroyHandler())
    return _make_accepted(fgraph, changes, name)


def _make_accepted(fgraph: FunctionGraph, changes: Sequence[tuple[Apply, Op]], name: str) -> int:
    """Make the changes that no feature of the graph refuses; return how many these are."""
    try:
        with fgraph.transaction():
            for node, op in changes:
                _replace(fgraph, node, op, name)
            fgraph.validate()
    except CycleError:
        raise
    except InconsistencyError:
        if len(changes) < 2:
            return 0
        half = len(changes) // 2
        return _make_accepted(fgraph, changes[:half], name) + _make_accepted(fgraph, changes[half:], name)
    return len(changes)
