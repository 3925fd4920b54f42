"""Fusion: stretches of elementwise nodes become one node, computed element by element without temporaries.

Two steps make the groups, each in one walk over the graph, and neither can make a cycle:

1. A node joins the group of its clients if all of them are in that one group: nothing leads out of such a group but
   its root. The values inside it may have smaller shapes, as long as the same dimensions are known to have length 1.
2. Groups of one level and one shape come together, with several outputs, if one uses another or both read an array of
   that shape. A group's level counts how often the way to it from the inputs changes shape, or passes a node that is
   not elementwise: a way out of a merged group and back into it would have raised the level. Shapes must be certain to
   be equal, whatever the inputs turn out to be, since all outputs of a node come from one loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Apply, Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elemwise import Composite, Elemwise, Step
from treadle.tensor.rewrites.lengths import LengthTable, table_of
from treadle.tensor.row import ScalarOp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from treadle.graph import FunctionGraph, Variable
    from treadle.tensor.rewrites.lengths import Lengths

RULES = RuleSet("fusion", features=(LengthTable,))
# A group has at most so many nodes: what backends need to compile one stays bounded, all of it linear.
MOST_STEPS = 200
# Inputs and outputs of a group with several outputs, at most: each is a stream of memory.
MOST_OPERANDS = 32


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


def _trees(order: Sequence[Apply], fgraph: FunctionGraph) -> dict[Apply, list[Apply]]:
    """Return the groups of the first step, each in order of evaluation, by their roots in order of evaluation."""
    group_of: dict[Apply, list[Apply]] = {}
    for node in reversed(order):
        if _is_candidate(node):
            group = _group_of_clients(fgraph, node, group_of)
            if group is None:
                group = []
            group.append(node)
            group_of[node] = group
    return {node: group_of[node][::-1] for node in order if node in group_of and group_of[node][0] is node}


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


def _operands(group: Sequence[Apply]) -> list[Variable]:
    """Return what a group takes from outside, each once."""
    made = {node.outputs[0] for node in group}
    return [x for x in dict.fromkeys(x for node in group for x in node.inputs) if x not in made]


def _classes(
    order: Sequence[Apply], trees: dict[Apply, list[Apply]], table: LengthTable
) -> Iterable[tuple[Lengths, list[Apply]]]:
    """Return the roots of the trees by level and shape, each class with its shape and in order of evaluation."""
    inner = {node for root, tree in trees.items() for node in tree if node is not root}
    level: dict[Apply, int] = {}
    shapes: dict[Apply, Lengths | None] = {}
    found: dict[tuple[int, Lengths], list[Apply]] = {}
    for node in order:
        if node in inner:
            continue
        tree = trees.get(node)
        shape = None if tree is None else table.of(node.outputs[0])
        # What depends on nothing elementwise lies below every level.
        at = -1 if tree is None else 0
        for x in node.inputs if tree is None else _operands(tree):
            if x.owner is not None:
                at = max(at, level[x.owner] + (shapes[x.owner] != shape))
        level[node], shapes[node] = at, shape
        if shape is not None:
            found.setdefault((at, shape), []).append(node)
    return ((shape, roots) for (_, shape), roots in found.items())


def _components(
    shape: Lengths, roots: Sequence[Apply], trees: dict[Apply, list[Apply]], table: LengthTable
) -> Iterable[list[Apply]]:
    """Split the roots of one class into those that use each other, or read one array of their shape."""
    number = {root: i for i, root in enumerate(roots)}
    parent = list(range(len(roots)))

    def find(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    reader: dict[Variable, int] = {}
    for i, root in enumerate(roots):
        for x in _operands(trees[root]):
            other = number.get(x.owner) if x.owner is not None else None
            if other is None and not isinstance(x, Constant) and table.of(x) == shape:
                other = reader.setdefault(x, i)
            if other is not None:
                parent[find(i)] = find(other)
    parts: dict[int, list[Apply]] = {}
    for i, root in enumerate(roots):
        parts.setdefault(find(i), []).append(root)
    return parts.values()


def _slices(roots: Sequence[Apply], trees: dict[Apply, list[Apply]]) -> Iterator[list[Apply]]:
    """Join trees, in order of evaluation, into groups of bounded size."""
    group: list[Apply] = []
    operands: set[Variable] = set()
    for root in roots:
        tree = trees[root]
        more = operands.union(_operands(tree), [root.outputs[0]])
        if group and (len(group) + len(tree) > MOST_STEPS or len(more) > MOST_OPERANDS):
            yield group
            group, more = [], {*_operands(tree), root.outputs[0]}
        group = [*group, *tree]
        operands = more
    yield group


def groups(fgraph: FunctionGraph, table: LengthTable) -> list[list[Apply]]:
    """Return the groups of elementwise nodes that belong into one loop, each in order of evaluation."""
    order = fgraph.toposort()
    trees = _trees(order, fgraph)
    found = []
    for shape, roots in _classes(order, trees, table):
        for part in _components(shape, roots, trees, table):
            found += [group for group in _slices(part, trees) if len(group) > 1]
    return found


def fused(group: Sequence[Apply], outputs: Sequence[Variable]) -> Apply:
    """Return one node that computes some results of a group; ``tag.origins`` lists the group's nodes, step by step."""
    place: dict[Variable, int] = {x: i for i, x in enumerate(_operands(group))}
    inputs = list(place)
    steps = []
    for node in group:
        op: Any = node.op
        out: Any = node.outputs[0].type
        loops = tuple(d.name for d in op.loop_dtypes(node))
        steps.append(Step(op.scalar_op, tuple(place[x] for x in node.inputs), loops, out.dtype))
        place[node.outputs[0]] = len(place)
    dtypes = tuple(getattr(x.type, "dtype", "") for x in inputs)
    composite = Composite(len(inputs), dtypes, tuple(steps), tuple(place[out] for out in outputs))
    node = Apply(Elemwise(composite), inputs, [out.clone() for out in outputs])
    node.user_line = group[-1].user_line
    tag: Any = node.tag
    tag.origins = list(group)
    return node


@RULES.graph_pass(Phase.FUSION, tags=("fast_run", "fusion", "elemwise_fusion"))
def elementwise_fusion(fgraph: FunctionGraph) -> int:
    """f(g(x), h(y)), k(g(x)) -> one elementwise node."""
    found = groups(fgraph, table_of(fgraph))
    for group in found:
        inside = set(group)
        outputs = [
            node.outputs[0]
            for node in group
            if any(client not in inside for client, _ in fgraph.clients[node.outputs[0]])
        ]
        made = fused(group, outputs)
        fgraph.replace_all(zip(outputs, made.outputs, strict=True), "elementwise_fusion")
    return len(found)
