"""Fusion: stretches of elementwise nodes become one node, computed element by element without temporaries.

Groups have one output. A node joins the group of its clients if all of them are in that one group: then nothing leads
out of a group and back into it, so that no cycle can arise, and each group is as large as possible. One walk over the
graph, from outputs to inputs, decides everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Apply
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elemwise import Composite, Elemwise, Step
from treadle.tensor.row import ScalarOp

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph, Variable

RULES = RuleSet("fusion")
# A group has at most so many nodes: what backends need to compile one stays bounded, all of it linear.
MOST_STEPS = 200


def _is_candidate(node: Apply) -> bool:
    """Whether a node is elementwise, with real numbers throughout."""
    op = node.op
    if not isinstance(op, Elemwise) or not isinstance(op.scalar_op, ScalarOp):
        return False
    kinds: list[Any] = [v.type for v in (*node.inputs, node.outputs[0])]
    if any(t.numpy_dtype.kind not in "biuf" for t in kinds):
        return False
    loops = op.loop_dtypes(node)
    return all(d.kind in "biuf" for d in loops) and op.scalar_op.c_text(loops[0].kind) is not None


def _pattern(node: Apply) -> tuple[bool, ...]:
    """Return which dimensions of a node's result are known to have length 1."""
    kind: Any = node.outputs[0].type
    return tuple(n == 1 for n in kind.shape)


def groups(fgraph: FunctionGraph) -> list[list[Apply]]:
    """Return the groups of elementwise nodes, each in order of evaluation and ending with its root."""
    group_of: dict[Apply, list[Apply]] = {}
    found: list[list[Apply]] = []
    for node in reversed(fgraph.toposort()):
        if not _is_candidate(node):
            continue
        group = _group_of_clients(fgraph, node, group_of)
        if group is None:
            group = []
            found.append(group)
        group.append(node)
        group_of[node] = group
    return [group[::-1] for group in found if len(group) > 1]


def _group_of_clients(fgraph: FunctionGraph, node: Apply, group_of: dict[Apply, list[Apply]]) -> list[Apply] | None:
    """Return the one group that all clients of a node belong to, if the node may join it."""
    group: list[Apply] | None = None
    for client, _ in fgraph.clients[node.outputs[0]]:
        theirs = group_of.get(client)
        if theirs is None or (group is not None and theirs is not group):
            return None
        group = theirs
    if group is None or len(group) >= MOST_STEPS or _pattern(node) != _pattern(group[0]):
        return None
    return group


def fused(group: list[Apply]) -> Apply:
    """Return one node that computes what a group computes; ``tag.origins`` lists the group's nodes, step by step."""
    made = {node.outputs[0] for node in group}
    inputs: dict[Variable, int] = {}
    for node in group:
        for x in node.inputs:
            if x not in made:
                inputs.setdefault(x, len(inputs))
    place = dict(inputs)
    steps = []
    for node in group:
        op: Any = node.op
        out: Any = node.outputs[0].type
        loops = tuple(d.name for d in op.loop_dtypes(node))
        steps.append(Step(op.scalar_op, tuple(place[x] for x in node.inputs), loops, out.dtype))
        place[node.outputs[0]] = len(place)
    dtypes = tuple(getattr(x.type, "dtype", "") for x in inputs)
    root = group[-1]
    composite = Composite(len(inputs), dtypes, tuple(steps), (place[root.outputs[0]],))
    node = Apply(Elemwise(composite), list(inputs), [root.outputs[0].clone()])
    node.user_line = root.user_line
    tag: Any = node.tag
    tag.origins = list(group)
    return node


@RULES.graph_pass(Phase.FUSION, tags=("fast_run", "fusion", "elemwise_fusion"))
def elementwise_fusion(fgraph: FunctionGraph) -> int:
    """f(g(x), h(y)) -> one elementwise node."""
    found = groups(fgraph)
    for group in found:
        fgraph.replace(group[-1].outputs[0], fused(group).outputs[0], "elementwise_fusion")
    return len(found)
