"""Lifting: indices, transposes and reshapes of a computed value are applied to its operands instead.

Less is computed then, or more is fused. Rules take indices through ops that only arrange their operands. One pass
takes every kind of view through computations, from the outputs to the inputs: a view that is lifted meets the views
above it before these have moved, and merges with them. So each computation is passed once by all views below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Constant
from treadle.rewrite import RuleSet
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.indexing.indexing import Subtensor
from treadle.tensor.indexing.rules.index_algebra import FULL, Point, Stretch, as_slice, static_length, taken
from treadle.tensor.indexing.rules.subtensor import items_of, subtensor_of_subtensor
from treadle.tensor.joins.joining import Join
from treadle.tensor.products.product import MatMul
from treadle.tensor.reductions.normalization import LogSoftmax, LogSumExp, Softmax
from treadle.tensor.reductions.reduction import ArgReduction, Reduction
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import filling, is_used_once, made_by
from treadle.tensor.rewrites.analysis.replacements import alloc_like, credited, if_fits
from treadle.tensor.shape_inference.symbolic_shapes import ONE, SymbolicShapes, shapes_of
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle, dimshuffle
from treadle.tensor.shapes.rules.dimshuffle import dimshuffle_of_dimshuffle, dimshuffle_of_reshape
from treadle.tensor.shapes.rules.shape import reshape_of_dimshuffle, reshape_of_reshape, useless_reshape
from treadle.tensor.shapes.shape import Reshape, shape_i

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import FunctionGraph, Op
    from treadle.tensor.indexing.rules.index_algebra import Item
    from treadle.tensor.lengths.numbers import Number
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.shape_inference.symbolic_shapes import Length
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

RULES = RuleSet("lifting", features=(SymbolicShapes,))
_VIEWS = (Subtensor, DimShuffle, Reshape)


def index_below(
    items: Sequence[Item], own: Sequence[Length], whole: Sequence[Length], x: TensorVariable
) -> list[Item] | None:
    """Return the index of an operand that was broadcast to what the items index; None where that is uncertain.

    `own` and `whole` are the lengths of operand and result.
    """
    index: list[Item] = []
    for d, (item, n, m) in enumerate(zip(items, own, whole, strict=True)):
        if n == m:
            index.append(item)
        elif n == ONE and x.type.shape[d] == 1:
            index.append(Point(0) if isinstance(item, Point) else FULL)
        else:
            return None
    return index


@RULES.rule(
    EARLY_AND_LATE,
    Subtensor,
    tags=(*BOTH, "local_subtensor_of_transpose", "local_subtensor_of_expand_dims", "local_subtensor_of_squeeze"),
    below=(DimShuffle,),
)
def subtensor_of_dimshuffle(node: NodeOf[Subtensor]) -> TensorVariable | None:
    """dimshuffle(x)[i] -> dimshuffle(x[i rearranged])."""
    inner = made_by(node.inputs[0], DimShuffle)
    if inner is None:
        return None
    op = inner.op
    below: list[Item] = [FULL] * op.ndim
    order: list[int | str] = []
    for item, d in zip(items_of(node), op.order, strict=True):
        if isinstance(d, str):
            if isinstance(item, Stretch) and static_length(item, 1) == 1:
                order.append(NEW)
            elif not (isinstance(item, Point) and item.at in {0, -1}):
                return None
            continue
        below[d] = item
        if isinstance(item, Stretch):
            order.append(d)
    kept = [d for d, item in enumerate(below) if isinstance(item, Stretch)]
    part = taken(inner.inputs[0], below)
    return if_fits(node, dimshuffle(part, *(d if isinstance(d, str) else kept.index(d) for d in order)))


@RULES.rule(EARLY_AND_LATE, Subtensor, tags=(*BOTH, "local_subtensor_of_alloc"), needs_graph=True, below=(Alloc,))
def subtensor_of_alloc(fgraph: FunctionGraph, node: NodeOf[Subtensor]) -> TensorVariable | None:
    """alloc(x, lengths)[i] -> alloc(x[i], lengths left)."""
    inner = made_by(node.inputs[0], Alloc)
    if inner is None:
        return None
    x = inner.inputs[0]
    items = items_of(node)
    shapes = shapes_of(fgraph)
    whole = shapes.of(node.inputs[0])
    extra = len(items) - x.ndim
    below = index_below(items[extra:], shapes.of(x), whole[extra:], x)
    if below is None:
        return None
    # Where the index is not handed down, the error of a position out of bounds must not be lost.
    lost = [d for d, item in enumerate(items) if d < extra or below[d - extra] is not item]
    if not all(_is_within(items[d], node.inputs[0], d) for d in lost):
        return None
    return alloc_like(fgraph, node, taken(x, below))


def _is_within(item: Item, x: TensorVariable, d: int) -> bool:
    """Whether an index cannot be out of bounds: otherwise the error must stay."""
    n = x.type.shape[d]
    return isinstance(item, Stretch) or (
        isinstance(item, Point) and n is not None and isinstance(item.at, int) and -n <= item.at < n
    )


# Joins


@RULES.rule(
    EARLY_AND_LATE,
    Subtensor,
    tags=(*BOTH, "local_subtensor_of_join", "local_subtensor_make_vector"),
    needs_graph=True,
    below=(Join,),
)
def subtensor_of_join(fgraph: FunctionGraph, node: NodeOf[Subtensor]) -> TensorVariable | None:
    """join(a, b, …)[i] -> the part that it comes from."""
    inner = made_by(node.inputs[0], Join)
    if inner is None:
        return None
    op = inner.op
    items = items_of(node)
    item = items[op.axis]
    picked = _part_at(inner, item) if isinstance(item, Point) else _parts_between(fgraph, inner, item)
    if picked is None:
        return None
    parts, left = picked
    kind = node.outputs[0].type
    result = parts[0] if len(parts) == 1 else Join(op.axis)(*parts)
    return if_fits(node, cast(taken(result, [*items[: op.axis], left, *items[op.axis + 1 :]]), kind.dtype))


def _part_at(inner: NodeOf[Join], item: Point) -> tuple[list[TensorVariable], Item] | None:
    """Return the part of a join that a position is in, and the position there."""
    op = inner.op
    at = item.at
    if not isinstance(at, int):
        return None
    # Counted from the end, the parts come in reverse; the last part that is left has the position or nothing has.
    parts = list(inner.inputs) if at >= 0 else list(reversed(inner.inputs))
    for part in parts[:-1]:
        n = part.type.shape[op.axis]
        if n is None:
            return None
        if -n <= at < n:
            return [part], Point(at)
        at += n if at < 0 else -n
    return [parts[-1]], Point(at)


def _parts_between(fgraph: FunctionGraph, inner: NodeOf[Join], item: Item) -> tuple[list[TensorVariable], Item] | None:
    """Return the parts of a join that a slice is made of, and the index to apply to their join."""
    op = inner.op
    parts = list(inner.inputs)
    sizes = [n for part in parts if (n := part.type.shape[op.axis]) is not None]
    if not isinstance(item, Stretch):
        return None
    if item.is_known and len(sizes) == len(parts):
        return _known_parts(parts, sizes, item)
    if item.step not in {None, 1}:
        return None
    shapes = shapes_of(fgraph)
    ends = [shapes.fixed(0)]
    for part in parts:
        ends.append(shapes.joined([ends[-1], shapes.of(part)[op.axis]]))
    first = 0 if item.start is None else _place(shapes, item.start, ends)
    last = len(parts) if item.stop is None else _place(shapes, item.stop, ends)
    if first is None or last is None or first >= last or last - first == len(parts):
        return None
    return parts[first:last], FULL


def _place(shapes: SymbolicShapes, bound: Number, ends: Sequence[Length]) -> int | None:
    """Return after how many parts a bound of a slice stands; None if it is not between two parts for certain."""
    length = shapes.fixed(bound) if isinstance(bound, int) else shapes.of_scalar(bound)
    return ends.index(length) if length in ends else None


def _known_parts(
    parts: list[TensorVariable], sizes: Sequence[int], item: Stretch
) -> tuple[list[TensorVariable], Item] | None:
    positions = range(sum(sizes))[as_slice(item)]
    if not positions:
        return None
    low, high = min(positions[0], positions[-1]), max(positions[0], positions[-1])
    start, chosen, before = 0, [], 0
    for part, n in zip(parts, sizes, strict=True):
        if start + n > low and start <= high and n > 0:
            chosen.append(part)
        elif not chosen:
            before += n
        start += n
    if len(chosen) == len(parts):
        return None
    stop = positions[-1] - before + (1 if positions.step > 0 else -1)
    return chosen, Stretch(positions[0] - before, None if stop < 0 else stop, positions.step)


@RULES.rule(EARLY_AND_LATE, Subtensor, tags=BOTH, needs_graph=True, below=(Reshape,))
def subtensor_of_reshape(fgraph: FunctionGraph, node: NodeOf[Subtensor]) -> TensorVariable | None:
    """reshape(x, (n, …))[i] -> reshape(x[i], …), where reshape keeps the leading dimensions that i is about."""
    inner = made_by(node.inputs[0], Reshape)
    if inner is None:
        return None
    x = inner.inputs[0]
    items = items_of(node)
    indexed = [d for d, item in enumerate(items) if not (isinstance(item, Stretch) and item.is_full)]
    shapes = shapes_of(fgraph)
    own, whole = shapes.of(x), shapes.of(node.inputs[0])
    count = indexed[-1] + 1 if indexed else 0
    if not count or count >= x.ndim or own[:count] != whole[:count]:
        return None
    part = taken(x, [*items[:count], *[FULL] * (x.ndim - count)])
    kept = sum(isinstance(i, Stretch) for i in items[:count])
    rest = shapes.variables(whole[count:], fgraph, avoid=node.inputs[0])
    if rest is None:
        return None
    lengths = [*(shape_i(part, d) for d in range(kept)), *rest]
    return if_fits(node, Reshape(len(lengths))(part, *lengths))


# Views of what computes


@RULES.graph_pass(
    EARLY_AND_LATE,
    tags=(
        *BOTH,
        "local_subtensor_lift",
        "local_subtensor_of_reduce",
        "local_subtensor_of_softmax",
        "local_subtensor_of_dot",
        "local_subtensor_of_batch_dims",
        "local_lift_transpose_through_dot",
        "local_reshape_lift",
    ),
)
def views_of_operands(fgraph: FunctionGraph) -> int:
    """view(f(x, y)) -> f(view(x), view(y)) for an index, a transpose or a reshape, where f is used only there."""
    # Indices go through transposes and reshapes; these would stop above an index, and have to begin again.
    return _down(fgraph, Subtensor) + _down(fgraph, DimShuffle, Reshape)


def _down(fgraph: FunctionGraph, *kinds: type[Op]) -> int:
    """Move views of some kinds as far down as they go; return how many steps that were."""
    stack: list[TensorNode] = [node for node in fgraph.toposort() if isinstance(node.op, kinds)]  # type: ignore[misc]
    count = 0
    while stack:
        node = stack.pop()
        replacement = _moved_down(fgraph, node) if node in fgraph else None
        if replacement is None or replacement is node.outputs[0]:
            continue
        fresh = credited(fgraph, replacement, node)
        fgraph.replace(node.outputs[0], replacement, "views_of_operands")
        stack += [n for n in fresh if isinstance(n.op, kinds)]
        count += 1
    return count


def _moved_down(fgraph: FunctionGraph, node: TensorNode) -> TensorVariable | None:
    """Return the replacement of a view: moved below a computation, or merged with the view below it; or None."""
    below = node.inputs[0].owner
    if below is None:
        return None
    if isinstance(below.op, _VIEWS):
        return _one_with(fgraph, node)
    if isinstance(node.op, Subtensor):
        crossing = _CROSSED_BY_INDEX.get(type(below.op))
    else:
        crossing = _CROSSED.get((type(node.op), type(below.op)))
    if crossing is None or not is_used_once(fgraph, node.inputs[0]):
        return None
    return crossing(fgraph, node, below)


def _one_with(fgraph: FunctionGraph, node: TensorNode) -> TensorVariable | None:
    """Return one view for a view of a view."""
    for rule in _TOGETHER[type(node.op)]:
        view: TensorVariable | None = rule(fgraph, node)
        if view is not None:
            return view
    return None


# An index


def _picks_less(items: Sequence[Item]) -> bool:
    """Whether an index leaves something out: reversing alone makes no work less."""
    return not all(
        isinstance(i, Stretch) and i.start is None and i.stop is None and i.step in {None, 1, -1} for i in items
    )


def _index_of_elementwise(fgraph: FunctionGraph, node: TensorNode, inner: TensorNode) -> TensorVariable | None:
    """f(x, y)[i] -> f(x[i], y[i]), where nothing is broadcast by chance."""
    items = items_of(node)
    if len(inner.outputs) != 1 or not _picks_less(items):
        return None
    shapes = shapes_of(fgraph)
    whole = shapes.of(node.inputs[0])
    indexed = []
    for x in inner.inputs:
        index = index_below(items, shapes.of(x), whole, x)
        if index is None:
            return None
        indexed.append(taken(x, index))
    return if_fits(node, inner.op(*indexed))


def _index_of_reduction(
    fgraph: FunctionGraph, node: TensorNode, inner: NodeOf[Reduction | ArgReduction | LogSumExp]
) -> TensorVariable | None:
    """sum(x, axes)[i] -> sum(x[i in the other dimensions], axes)."""
    op = inner.op
    picks = items_of(node)
    if not _picks_less(picks):
        return None
    x = inner.inputs[0]
    left = iter(picks)
    items = [FULL if d in op.axes else next(left) for d in range(x.ndim)]
    axes = _kept(items, op.axes)
    part = taken(x, items)
    if isinstance(op, Reduction):
        return if_fits(node, Reduction(op.kind, axes, op.dtype, op.acc_dtype)(part))
    reduction = ArgReduction(op.kind, axes) if isinstance(op, ArgReduction) else LogSumExp(axes)
    return if_fits(node, reduction(part))


def _kept(items: Sequence[Item], axes: Sequence[int]) -> tuple[int, ...]:
    """Return where axes stand after an index that does not touch them."""
    return tuple(d - sum(isinstance(i, Point) for i in items[:d]) for d in axes)


def _index_of_softmax(
    fgraph: FunctionGraph, node: TensorNode, inner: NodeOf[Softmax | LogSoftmax]
) -> TensorVariable | None:
    """softmax(x, axes)[i] -> softmax(x[i in the other dimensions], axes)[i along the axes]."""
    op = inner.op
    items = items_of(node)
    outside = [FULL if d in op.axes else item for d, item in enumerate(items)]
    if not _picks_less(outside):
        return None
    part = type(op)(_kept(outside, op.axes))(taken(inner.inputs[0], outside))
    rest = [items[d] if d in op.axes else FULL for d, i in enumerate(outside) if isinstance(i, Stretch)]
    return if_fits(node, taken(part, rest))


def _index_of_matmul(fgraph: FunctionGraph, node: TensorNode, inner: TensorNode) -> TensorVariable | None:
    """matmul(a, b)[i, j] -> matmul(a[i, :], b[:, j])."""
    items = items_of(node)
    if not _picks_less(items):
        return None
    shapes = shapes_of(fgraph)
    whole = shapes.of(node.inputs[0])
    *stack, row, column = items
    a, b = inner.inputs
    above = [index_below(stack, shapes.of(x)[:-2], whole[:-2], x) for x in (a, b)]
    if above[0] is None or above[1] is None:
        return None
    left = _matrix(taken(a, [*above[0], row, FULL]), isinstance(row, Point), -2)
    right = _matrix(taken(b, [*above[1], FULL, column]), isinstance(column, Point), -1)
    result = MatMul()(left, right)
    kept = [d for d, i in zip((-2, -1), (row, column), strict=True) if not isinstance(i, Point)]
    return if_fits(node, dimshuffle(result, *range(result.ndim - 2), *(result.ndim + d for d in kept)))


def _matrix(x: TensorVariable, is_vector: bool, at: int) -> TensorVariable:
    """Put back the row or column dimension that a point has dropped."""
    if not is_vector:
        return x
    order: list[int | str] = list(range(x.ndim))
    order.insert(len(order) if at == -1 else len(order) - 1, NEW)
    return dimshuffle(x, *order)


def _index_of_join(fgraph: FunctionGraph, node: TensorNode, inner: NodeOf[Join]) -> TensorVariable | None:
    """join(a, b)[i] -> join(a[i], b[i]), for an index in other dimensions than the joined one."""
    op = inner.op
    items = items_of(node)
    others = [*items[: op.axis], FULL, *items[op.axis + 1 :]]
    if not _picks_less(others):
        return None
    at = op.axis - sum(isinstance(i, Point) for i in others[: op.axis])
    joined = Join(at)(*(taken(x, others) for x in inner.inputs))
    along = [items[op.axis] if d == op.axis else FULL for d, item in enumerate(others) if isinstance(item, Stretch)]
    return if_fits(node, taken(joined, along))


# A transpose


def _dimshuffle_of_elementwise(
    fgraph: FunctionGraph, node: NodeOf[DimShuffle], inner: TensorNode
) -> TensorVariable | None:
    """dimshuffle(f(x)) -> f(dimshuffle(x)), where one operand at most needs a node more."""
    # A scalar is made a tensor once it is computed.
    if len(inner.outputs) != 1 or node.inputs[0].ndim == 0:
        return None
    # The dimshuffle of a constant, an alloc or a dimshuffle disappears into it.
    if sum(not isinstance(x, Constant) and made_by(x, DimShuffle, Alloc) is None for x in inner.inputs) > 1:
        return None
    return if_fits(node, inner.op(*(dimshuffle(x, *node.op.order) for x in inner.inputs)))


def _transpose_of_matmul(fgraph: FunctionGraph, node: NodeOf[DimShuffle], inner: TensorNode) -> TensorVariable | None:
    """transpose(matmul(a, b)) -> matmul(transpose(b), transpose(a))."""
    op = node.op
    swapped = (*range(op.ndim - 2), op.ndim - 1, op.ndim - 2)
    if op.order != swapped:
        return None
    a, b = inner.inputs
    return if_fits(node, MatMul()(dimshuffle(b, *swapped), dimshuffle(a, *swapped)))


# A reshape


def _reshape_of_elementwise(fgraph: FunctionGraph, node: TensorNode, inner: TensorNode) -> TensorVariable | None:
    """reshape(f(x, number), lengths) -> f(reshape(x, lengths), number)."""
    numbers = [
        filling(x) if isinstance(x, Constant) and all(n == 1 for n in x.type.shape) else None for x in inner.inputs
    ]
    if len(inner.outputs) != 1 or sum(value is None for value in numbers) != 1:
        return None
    out = node.outputs[0]
    operands = [
        node.op(x, *node.inputs[1:]) if value is None else dimshuffle(value, *[NEW] * out.ndim)
        for x, value in zip(inner.inputs, numbers, strict=True)
    ]
    return if_fits(node, inner.op(*operands))


_CROSSED_BY_INDEX: Any = {
    Elemwise: _index_of_elementwise,
    Reduction: _index_of_reduction,
    ArgReduction: _index_of_reduction,
    LogSumExp: _index_of_reduction,
    Softmax: _index_of_softmax,
    LogSoftmax: _index_of_softmax,
    MatMul: _index_of_matmul,
    Join: _index_of_join,
}
_CROSSED: Any = {
    (DimShuffle, Elemwise): _dimshuffle_of_elementwise,
    (DimShuffle, MatMul): _transpose_of_matmul,
    (Reshape, Elemwise): _reshape_of_elementwise,
}


def _alone(rule: Callable[..., TensorVariable | None]) -> Callable[..., TensorVariable | None]:
    """Adapt a rule that takes a node alone to be called with the graph too."""
    return lambda _, node: rule(node)


# What makes one view of two.
_TOGETHER: Any = {
    Subtensor: (_alone(subtensor_of_subtensor), _alone(subtensor_of_dimshuffle), subtensor_of_reshape),
    DimShuffle: (_alone(dimshuffle_of_dimshuffle), _alone(dimshuffle_of_reshape)),
    Reshape: (useless_reshape, _alone(reshape_of_reshape), _alone(reshape_of_dimshuffle)),
}
