"""Fusion: stretches of elementwise nodes become one node, computed element by element without temporaries.

Three steps make the groups, each in one walk over the graph, and none can make a cycle:

1. A node joins the group of its clients if all of them are in that one group: only the root of such a group is used
   outside of it. The values inside it may have smaller shapes, as long as the same dimensions are known to have
   length 1.
2. Groups of one level and one shape come together, with several outputs, if one uses another or both read an array of
   that shape. A group's level counts how often a path from the inputs to it changes shape or passes a node that is
   not elementwise: a path that leaves a merged group and comes back would have raised the level. Shapes must be
   certain to be equal, whatever the inputs turn out to be, since all outputs of a node come from one loop. What belongs
   to a branch of a conditional stays in it: paths out of a branch pass the conditional, which is not elementwise.
3. Groups join the one group that all their clients belong to, as nodes did in the first step.

Then reductions join the node that makes what they reduce, so that it need not be stored. They take nothing else, so
that no cycle can arise either.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from treadle.graph import Branching, Constant, node_at
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.composite import Composite, Step
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.scalar_op import ScalarOp
from treadle.tensor.reductions.fused_reduction import FusedReduction
from treadle.tensor.reductions.reduction import Reduction
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, shapes_of
from treadle.tensor.types.conversion import tensors
from treadle.tensor.types.tensor_type import DTYPE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeGuard

    import numpy as np

    from treadle.graph import Apply, Block, FunctionGraph, Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.shape_inference.symbolic_shapes import Lengths

    # What each tree reads from outside, by its root.
    Read = Mapping[Apply, Sequence[Variable]]

RULES = RuleSet("fusion", features=(SymbolicShapes,))
# A group has at most so many nodes: what backends need to compile one stays bounded, all of it linear.
MOST_STEPS = 200
# Inputs and outputs of a group with several outputs, at most: each is a stream of memory.
MOST_OPERANDS = 32
# Reductions in one node, at most: each takes a share of the first-level cache.
MOST_REDUCTIONS = 8
# So many functions, with the dtypes they are applied to, are remembered.
MOST_SIGNATURES = 512


def _is_candidate(node: Apply) -> bool:
    """Whether a node is elementwise, with real numbers throughout or arithmetic of complex ones.

    Other functions of complex numbers are not computed on vectors, and nor would be what stands beside them in a loop:
    exponentials and others that are not cheap, and comparisons and signs, which take jumps.
    """
    op = node.op
    if not isinstance(op, Elemwise) or not isinstance(op.scalar_op, ScalarOp):
        return False
    dtypes = tuple([v.type.numpy_dtype for v in tensors((*node.inputs, node.outputs[0]))])
    return _is_fusible(op.scalar_op, dtypes)


@lru_cache(MOST_SIGNATURES)
def _is_fusible(function: ScalarOp, dtypes: tuple[np.dtype, ...]) -> bool:
    """Whether a function is a step of a loop on these dtypes, the last one that of its result."""
    kinds = {d.kind for d in (*dtypes, *function.signature(dtypes[:-1])[0])}
    return kinds <= set("biufc") and ("c" not in kinds or (function.cheap and not function.discrete))


def _pattern(node: Apply) -> tuple[bool, ...]:
    """Return which dimensions of a node's result are known to have length 1."""
    return tuple(n == 1 for n in tensors(node.outputs)[0].type.shape)


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
    """Return the variables from outside that a group reads, each once."""
    computed = {node.outputs[0] for node in group}
    return list({x: None for node in group for x in node.inputs if x not in computed})


def _reduced_axes(fgraph: FunctionGraph, root: Apply) -> tuple[int, ...] | None:
    """Return the axes over which all clients of a tree reduce its result, so that it need not be stored, or None."""
    axes: set[tuple[int, ...]] = set()
    for client, _ in fgraph.clients[root.outputs[0]]:
        if not _reducible(client):
            return None
        axes.add(client.op.axes)
    return axes.pop() if len(axes) == 1 else None


def _classes(
    fgraph: FunctionGraph, order: Sequence[Apply], trees: dict[Apply, list[Apply]], read: Read, shapes: SymbolicShapes
) -> Iterable[tuple[Lengths, list[Apply]]]:
    """Return the roots of the trees by level, shape and reduced axes, each class with its shape and in order."""
    inner = {node for root, tree in trees.items() for node in tree if node is not root}
    level: dict[Apply, int] = {}
    shape_of: dict[Apply, Lengths | None] = {}
    home = Branching.of(fgraph).home
    classes: dict[tuple[int, Lengths, tuple[int, ...] | None, Block], list[Apply]] = {}
    for node in order:
        if node in inner:
            continue
        tree = trees.get(node)
        shape = None if tree is None else shapes.of(node.outputs[0])
        # What depends on nothing elementwise lies below every level.
        at = -1 if tree is None else 0
        for x in node.inputs if tree is None else read[node]:
            if x.owner is not None:
                at = max(at, level[x.owner] + (shape_of[x.owner] != shape))
        level[node], shape_of[node] = at, shape
        if shape is not None:
            classes.setdefault((at, shape, _reduced_axes(fgraph, node), home[node]), []).append(node)
    return ((shape, roots) for (_, shape, _, _), roots in classes.items())


def _components(shape: Lengths, roots: Sequence[Apply], read: Read, shapes: SymbolicShapes) -> Iterable[list[Apply]]:
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
        for x in read[root]:
            other = number.get(x.owner) if x.owner is not None else None
            if other is None and not isinstance(x, Constant) and shapes.of(x) == shape:
                other = reader.setdefault(x, i)
            if other is not None:
                parent[find(i)] = find(other)
    parts: dict[int, list[Apply]] = {}
    for i, root in enumerate(roots):
        parts.setdefault(find(i), []).append(root)
    return parts.values()


def _slices(roots: Sequence[Apply], trees: dict[Apply, list[Apply]], read: Read) -> Iterator[list[Apply]]:
    """Join trees, in order of evaluation, into groups of bounded size."""
    group: list[Apply] = []
    operands: set[Variable] = set()
    for root in roots:
        tree = trees[root]
        more = operands.union(read[root], [root.outputs[0]])
        if group and (len(group) + len(tree) > MOST_STEPS or len(more) > MOST_OPERANDS):
            yield group
            group, more = [], {*read[root], root.outputs[0]}
        group = [*group, *tree]
        operands = more
    yield group


def _absorb(
    fgraph: FunctionGraph, parts: Sequence[list[Apply]], trees: dict[Apply, list[Apply]], order: Sequence[Apply]
) -> list[list[Apply]]:
    """Let parts join the one part that all their clients belong to, the last in order of evaluation first."""
    place = {node: i for i, node in enumerate(order)}
    part_of = {node: part for part in parts for root in part for node in trees[root]}
    size = {id(part): sum(len(trees[root]) for root in part) for part in parts}
    kept = []
    for part in sorted(parts, key=lambda part: -place[part[-1]]):
        clients = [client for root in part for client, _ in fgraph.clients[root.outputs[0]]]
        target = part_of.get(clients[0]) if clients else None
        fits = target is not None and size[id(target)] + size[id(part)] <= MOST_STEPS
        if target is None or not fits or any(part_of.get(client) is not target for client in clients):
            kept.append(part)
        elif target is not part and _pattern(part[0]) == _pattern(target[0]):
            target += part
            size[id(target)] += size[id(part)]
            part_of.update((node, target) for root in part for node in trees[root])
        else:
            kept.append(part)
    return [sorted(part, key=place.__getitem__) for part in kept]


def groups(fgraph: FunctionGraph, shapes: SymbolicShapes) -> list[list[Apply]]:
    """Return the groups of elementwise nodes that belong into one loop, each in order of evaluation."""
    order = fgraph.toposort()
    trees = _trees(order, fgraph)
    read = {root: _operands(tree) for root, tree in trees.items()}
    parts = [
        part
        for shape, roots in _classes(fgraph, order, trees, read, shapes)
        for part in _components(shape, roots, read, shapes)
    ]
    slices = [group for part in _absorb(fgraph, parts, trees, order) for group in _slices(part, trees, read)]
    return [group for group in slices if len(group) > 1]


def fused(group: Sequence[Apply], outputs: Sequence[Variable]) -> Apply:
    """Return one node that computes some results of a group; ``tag.origins`` lists the group's nodes, step by step."""
    place: dict[Variable, int] = {x: i for i, x in enumerate(_operands(group))}
    inputs = list(place)
    steps = []
    for node in group:
        op: Elemwise = node.op  # type: ignore[assignment]  # these are candidates
        loops = tuple(DTYPE_NAMES[d] for d in op.loop_dtypes(node))
        scalar: ScalarOp = op.scalar_op  # type: ignore[assignment]  # as before
        steps.append(Step(scalar, tuple(place[x] for x in node.inputs), loops, tensors(node.outputs)[0].dtype))
        place[node.outputs[0]] = len(place)
    dtypes = tuple(x.dtype for x in tensors(inputs))
    composite = Composite(len(inputs), dtypes, tuple(steps), tuple(place[out] for out in outputs))
    node = node_at(group[-1].user_line, Elemwise(composite), inputs, [out.clone() for out in outputs])
    node.tag.origins = list(group)
    return node


@RULES.graph_pass(Phase.FUSION, tags=("fast_run", "fusion", "elemwise_fusion"))
def elementwise_fusion(fgraph: FunctionGraph) -> int:
    """f(g(x), h(y)), k(g(x)) -> one elementwise node."""
    fusible = groups(fgraph, shapes_of(fgraph))
    for group in fusible:
        inside = set(group)
        outputs = [
            node.outputs[0]
            for node in group
            if any(client not in inside for client, _ in fgraph.clients[node.outputs[0]])
        ]
        fused_node = fused(group, outputs)
        fgraph.replace_all(zip(outputs, fused_node.outputs, strict=True), "elementwise_fusion")
    return len(fusible)


def _reducible(client: Apply) -> TypeGuard[NodeOf[Reduction]]:
    """Whether a client of an elementwise node is a reduction that can be made in its loop."""
    op = client.op
    if not isinstance(op, Reduction) or not op.axes:
        return False
    return all(v.type.numpy_dtype.kind in "biuf" for v in tensors((client.inputs[0], client.outputs[0])))


def _reductions_of(fgraph: FunctionGraph, node: Apply, home: Mapping[Apply, Block]) -> list[NodeOf[Reduction]]:
    """Return reductions of a node's results that are over the same axes: the axes that most of them have.

    A reduction that belongs to a branch of a choice stays there, unless the node does too.
    """
    by_axes: dict[tuple[int, ...], list[NodeOf[Reduction]]] = {}
    for out in node.outputs:
        for client, _ in fgraph.clients[out]:
            if _reducible(client) and home[client] is home[node]:
                by_axes.setdefault(client.op.axes, []).append(client)
    return max(by_axes.values(), key=len, default=[])[:MOST_REDUCTIONS]


def reduced(
    fgraph: FunctionGraph, node: Apply, reductions: Sequence[NodeOf[Reduction]]
) -> tuple[list[Variable], Apply]:
    """Return the variables that a fused reduction replaces, the stored ones before the reduced ones, and its node."""
    scalar: ScalarOp | Composite = node.op.scalar_op  # type: ignore[attr-defined]  # an Elemwise
    whole = node if isinstance(scalar, Composite) else fused([node], node.outputs)
    composite: Composite = whole.op.scalar_op  # type: ignore[attr-defined]  # an Elemwise
    inside = set(reductions)
    stored = [out for out in node.outputs if any(client not in inside for client, _ in fgraph.clients[out])]
    places = [composite.outputs[out.index or 0] for out in (*stored, *(r.inputs[0] for r in reductions))]
    ops = (*(None for _ in stored), *(r.op for r in reductions))
    op = FusedReduction(replace(composite, outputs=tuple(places)), ops)
    old = [*stored, *(r.outputs[0] for r in reductions)]
    fused_node = node_at(reductions[0].user_line, op, whole.inputs, [out.clone() for out in old])
    fused_node.tag.origins = list(getattr(whole.tag, "origins", ()))
    return old, fused_node


@RULES.graph_pass(Phase.FUSION, tags=("fast_run", "fusion", "local_careduce_fusion"), after=("elementwise_fusion",))
def reduction_fusion(fgraph: FunctionGraph) -> int:
    """sum(f(x)), max(f(x)) -> one node that does not store f(x)."""
    changes = 0
    home = Branching.of(fgraph).home
    for node in fgraph.toposort():
        reductions = _reductions_of(fgraph, node, home) if _is_loop(node) else ()
        if reductions:
            old, fused_node = reduced(fgraph, node, reductions)
            fgraph.replace_all(zip(old, fused_node.outputs, strict=True), "reduction_fusion")
            changes += 1
    return changes


def _is_loop(node: Apply) -> bool:
    """Whether a node is elementwise and could be fused, or is."""
    return isinstance(node.op, Elemwise) and (isinstance(node.op.scalar_op, Composite) or _is_candidate(node))
