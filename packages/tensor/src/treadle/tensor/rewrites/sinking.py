"""Indices, transposes and reshapes of what is computed are taken from the operands instead: less is computed, or fused.

It is done from the outputs down: a view that comes down through a computation meets the views below it before these
have moved, and is one with them from there on. So each computation is passed once by all that lies above it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.broadcasting import Alloc
from treadle.tensor.dimshuffle import NEW, DimShuffle, dimshuffle
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.indexing import Subtensor
from treadle.tensor.joining import Join
from treadle.tensor.normalization import LogSoftmax, LogSumExp, Softmax
from treadle.tensor.product import MatMul
from treadle.tensor.reduction import ArgReduction, Reduction
from treadle.tensor.rewrites.conditions import BOTH, credited, filling, fitting, is_used_once, made_by
from treadle.tensor.rewrites.dimshuffle import dimshuffle_of_dimshuffle, dimshuffle_of_reshape
from treadle.tensor.rewrites.entries import FULL, Point, Stretch, taken
from treadle.tensor.rewrites.indexing import items_of, subtensor_of_subtensor
from treadle.tensor.rewrites.lengths import LengthTable, table_of
from treadle.tensor.rewrites.lifting import index_below, subtensor_of_dimshuffle, subtensor_of_reshape
from treadle.tensor.rewrites.reshape import reshape_of_dimshuffle, reshape_of_reshape, useless_reshape
from treadle.tensor.shape import Reshape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Op, Variable
    from treadle.tensor.rewrites.entries import Item

RULES = RuleSet("sinking", features=(LengthTable,))
_VIEWS = (Subtensor, DimShuffle, Reshape)


@RULES.graph_pass(
    (Phase.CANONICALIZE, Phase.SPECIALIZE),
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
    stack = [node for node in fgraph.toposort() if isinstance(node.op, kinds)]
    count = 0
    while stack:
        node = stack.pop()
        made = _moved_down(fgraph, node) if node in fgraph else None
        if made is None or made is node.outputs[0]:
            continue
        fresh = credited(fgraph, made, node)
        fgraph.replace(node.outputs[0], made, "views_of_operands")
        stack += [n for n in fresh if isinstance(n.op, kinds)]
        count += 1
    return count


def _moved_down(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """Return what takes the place of a view, one computation further down or one with the view below; or None."""
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
    made: Variable | None = crossing(fgraph, node, below)
    return made


def _one_with(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """Return one view for a view of a view."""
    for rule in _TOGETHER[type(node.op)]:
        made: Variable | None = rule(fgraph, node)
        if made is not None:
            return made
    return None


# An index


def _picks_less(items: Sequence[Item]) -> bool:
    """Whether an index leaves something out: reversing alone makes no work less."""
    return not all(
        isinstance(i, Stretch) and i.start is None and i.stop is None and i.step in {None, 1, -1} for i in items
    )


def _index_of_elementwise(fgraph: FunctionGraph, node: Apply, inner: Apply) -> Variable | None:
    """f(x, y)[i] -> f(x[i], y[i]), where nothing is broadcast by chance."""
    items = items_of(node)
    if len(inner.outputs) != 1 or not _picks_less(items):
        return None
    table = table_of(fgraph)
    whole = table.of(node.inputs[0])
    indexed = []
    for x in inner.inputs:
        made = index_below(items, table.of(x), whole, x)
        if made is None:
            return None
        indexed.append(taken(x, made))
    return fitting(node, inner.op(*indexed))


def _index_of_reduction(fgraph: FunctionGraph, node: Apply, inner: Apply) -> Variable | None:
    """sum(x, axes)[i] -> sum(x[i in the other dimensions], axes)."""
    del fgraph
    op: Any = inner.op
    given = items_of(node)
    if not _picks_less(given):
        return None
    x: Any = inner.inputs[0]
    left = iter(given)
    items = [FULL if d in op.axes else next(left) for d in range(x.ndim)]
    axes = _kept(items, op.axes)
    part = taken(x, items)
    if isinstance(op, Reduction):
        return fitting(node, Reduction(op.kind, axes, op.dtype, op.acc_dtype)(part))
    made = ArgReduction(op.kind, axes) if isinstance(op, ArgReduction) else LogSumExp(axes)
    return fitting(node, made(part))


def _kept(items: Sequence[Item], axes: Sequence[int]) -> tuple[int, ...]:
    """Return where axes stand after an index that does not touch them."""
    return tuple(d - sum(isinstance(i, Point) for i in items[:d]) for d in axes)


def _index_of_softmax(fgraph: FunctionGraph, node: Apply, inner: Apply) -> Variable | None:
    """softmax(x, axes)[i] -> softmax(x[i in the other dimensions], axes)[i along the axes]."""
    del fgraph
    op: Any = inner.op
    items = items_of(node)
    outside = [FULL if d in op.axes else item for d, item in enumerate(items)]
    if not _picks_less(outside):
        return None
    made = type(op)(_kept(outside, op.axes))(taken(inner.inputs[0], outside))
    rest = [items[d] if d in op.axes else FULL for d, i in enumerate(outside) if isinstance(i, Stretch)]
    return fitting(node, taken(made, rest))


def _index_of_matmul(fgraph: FunctionGraph, node: Apply, inner: Apply) -> Variable | None:
    """matmul(a, b)[i, j] -> matmul(a[i, :], b[:, j])."""
    items = items_of(node)
    if not _picks_less(items):
        return None
    table = table_of(fgraph)
    whole = table.of(node.inputs[0])
    *stack, row, column = items
    a, b = inner.inputs
    above = [index_below(stack, table.of(x)[:-2], whole[:-2], x) for x in (a, b)]
    if above[0] is None or above[1] is None:
        return None
    left = _matrix(taken(a, [*above[0], row, FULL]), isinstance(row, Point), -2)
    right = _matrix(taken(b, [*above[1], FULL, column]), isinstance(column, Point), -1)
    made = MatMul()(left, right)
    dropped = {made.ndim - 2} if isinstance(row, Point) else set()
    dropped |= {made.ndim - 1} if isinstance(column, Point) else set()
    return fitting(node, dimshuffle(made, *(d for d in range(made.ndim) if d not in dropped)))


def _matrix(x: Any, is_vector: bool, at: int) -> Any:
    """Put back the row or column dimension that a point has dropped."""
    if not is_vector:
        return x
    order: list[int | str] = list(range(x.ndim))
    order.insert(len(order) if at == -1 else len(order) - 1, NEW)
    return dimshuffle(x, *order)


def _index_of_join(fgraph: FunctionGraph, node: Apply, inner: Apply) -> Variable | None:
    """join(a, b)[i] -> join(a[i], b[i]), for an index in other dimensions than the joined one."""
    del fgraph
    op: Any = inner.op
    items = items_of(node)
    others = [*items[: op.axis], FULL, *items[op.axis + 1 :]]
    if not _picks_less(others):
        return None
    at = op.axis - sum(isinstance(i, Point) for i in others[: op.axis])
    joined = Join(at)(*(taken(x, others) for x in inner.inputs))
    along = [items[op.axis] if d == op.axis else FULL for d, item in enumerate(others) if isinstance(item, Stretch)]
    return fitting(node, taken(joined, along))


# A transpose


def _dimshuffle_of_elementwise(fgraph: FunctionGraph, node: Apply, inner: Apply) -> Variable | None:
    """dimshuffle(f(x)) -> f(dimshuffle(x)), where one operand at most needs a node more."""
    del fgraph
    # A scalar is made a tensor once it is computed.
    if len(inner.outputs) != 1 or getattr(node.inputs[0].type, "ndim", 0) == 0:
        return None
    if sum(not _is_cheap(x) for x in inner.inputs) > 1:
        return None
    op: Any = node.op
    return fitting(node, inner.op(*(dimshuffle(x, *op.order) for x in inner.inputs)))


def _is_cheap(x: Any) -> bool:
    """Whether the dimshuffle of an operand disappears into what makes it."""
    return isinstance(x, Constant) or made_by(x, DimShuffle, Alloc) is not None


def _transpose_of_matmul(fgraph: FunctionGraph, node: Apply, inner: Apply) -> Variable | None:
    """transpose(matmul(a, b)) -> matmul(transpose(b), transpose(a))."""
    del fgraph
    op: Any = node.op
    swapped = (*range(op.ndim - 2), op.ndim - 1, op.ndim - 2)
    if op.order != swapped:
        return None
    a, b = inner.inputs
    return fitting(node, MatMul()(dimshuffle(b, *swapped), dimshuffle(a, *swapped)))


# A reshape


def _reshape_of_elementwise(fgraph: FunctionGraph, node: Apply, inner: Apply) -> Variable | None:
    """reshape(f(x, number), lengths) -> f(reshape(x, lengths), number)."""
    del fgraph
    spread = [filling(x) if _is_unit(x) else None for x in inner.inputs]
    if len(inner.outputs) != 1 or sum(value is None for value in spread) != 1:
        return None
    out: Any = node.outputs[0]
    operands = [
        node.op(x, *node.inputs[1:]) if value is None else dimshuffle(value, *[NEW] * out.ndim)
        for x, value in zip(inner.inputs, spread, strict=True)
    ]
    return fitting(node, inner.op(*operands))


def _is_unit(x: Any) -> bool:
    return isinstance(x, Constant) and all(n == 1 for n in x.type.shape)  # type: ignore[attr-defined]  # a tensor


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
# What makes one view of two.
_TOGETHER: Any = {
    Subtensor: (
        lambda _, node: subtensor_of_subtensor(node),
        lambda _, node: subtensor_of_dimshuffle(node),
        subtensor_of_reshape,
    ),
    DimShuffle: (
        lambda _, node: dimshuffle_of_dimshuffle(node),
        lambda _, node: dimshuffle_of_reshape(node),
    ),
    Reshape: (
        useless_reshape,
        lambda _, node: reshape_of_reshape(node),
        lambda _, node: reshape_of_dimshuffle(node),
    ),
}
