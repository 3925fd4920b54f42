"""Rules for indices of what only arranges its operands: they are taken of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.broadcasting import Alloc
from treadle.tensor.dimshuffle import NEW, DimShuffle, dimshuffle
from treadle.tensor.indexing import Subtensor
from treadle.tensor.joining import Join
from treadle.tensor.rewrites.conditions import BOTH, fitting, made_by
from treadle.tensor.rewrites.entries import FULL, Point, Stretch, static_length, taken
from treadle.tensor.rewrites.indexing import items_of
from treadle.tensor.rewrites.lengths import ONE, LengthTable, table_of
from treadle.tensor.scalar.cast import cast
from treadle.tensor.shape import Reshape, shape_i

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.tensor.rewrites.entries import Item
    from treadle.tensor.rewrites.lengths import Length

RULES = RuleSet("lifting", features=(LengthTable,))
EARLY_AND_LATE = (Phase.CANONICALIZE, Phase.SPECIALIZE)


def index_below(items: Sequence[Item], own: Sequence[Length], whole: Sequence[Length], x: Any) -> list[Item] | None:
    """Return the index of an operand that was broadcast to what the items index; None where that is uncertain.

    `own` and `whole` are the lengths of operand and result.
    """
    made: list[Item] = []
    for d, (item, n, m) in enumerate(zip(items, own, whole, strict=True)):
        if n == m:
            made.append(item)
        elif n == ONE and x.type.shape[d] == 1:
            made.append(Point(0) if isinstance(item, Point) else FULL)
        else:
            return None
    return made


@RULES.rule(
    EARLY_AND_LATE,
    Subtensor,
    tags=(*BOTH, "local_subtensor_of_transpose", "local_subtensor_of_expand_dims", "local_subtensor_of_squeeze"),
)
def subtensor_of_dimshuffle(node: Apply) -> Variable | None:
    """dimshuffle(x)[i] -> dimshuffle(x[i rearranged])."""
    inner = made_by(node.inputs[0], DimShuffle)
    if inner is None:
        return None
    op: Any = inner.op
    below: list[Item] = [FULL] * op.ndim
    order: list[int | str] = []
    for item, d in zip(items_of(node), op.order, strict=True):
        if d == NEW:
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
    return fitting(node, dimshuffle(part, *(d if isinstance(d, str) else kept.index(d) for d in order)))


@RULES.rule(EARLY_AND_LATE, Subtensor, tags=(*BOTH, "local_subtensor_of_alloc"), needs_graph=True)
def subtensor_of_alloc(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """alloc(x, lengths)[i] -> alloc(x[i], lengths left)."""
    inner = made_by(node.inputs[0], Alloc)
    if inner is None:
        return None
    x: Any = inner.inputs[0]
    items = items_of(node)
    table = table_of(fgraph)
    whole = table.of(node.inputs[0])
    extra = len(items) - x.ndim
    below = index_below(items[extra:], table.of(x), whole[extra:], x)
    if below is None:
        return None
    # Where the index is not handed down, the error of a position out of bounds must not be lost.
    lost = [d for d, item in enumerate(items) if d < extra or below[d - extra] is not item]
    if not all(_is_within(items[d], node.inputs[0], d) for d in lost):
        return None
    lengths = [table.variable(n, fgraph, avoid=node.outputs[0]) for n in table.of(node.outputs[0])]
    if any(n is None for n in lengths):
        return None
    return fitting(node, Alloc()(taken(x, below), *lengths))


def _is_within(item: Item, x: Any, d: int) -> bool:
    """Whether an index cannot be out of bounds: otherwise the error must stay."""
    n = x.type.shape[d]
    return isinstance(item, Stretch) or (
        isinstance(item, Point) and n is not None and isinstance(item.at, int) and -n <= item.at < n
    )


# Joins


@RULES.rule(
    EARLY_AND_LATE, Subtensor, tags=(*BOTH, "local_subtensor_of_join", "local_subtensor_make_vector"), needs_graph=True
)
def subtensor_of_join(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """join(a, b, …)[i] -> the part that it comes from."""
    inner = made_by(node.inputs[0], Join)
    if inner is None:
        return None
    op: Any = inner.op
    items = items_of(node)
    item = items[op.axis]
    made = _part_at(inner, item) if isinstance(item, Point) else _parts_between(fgraph, inner, item)
    if made is None:
        return None
    parts, left = made
    kind: Any = node.outputs[0].type
    result = parts[0] if len(parts) == 1 else Join(op.axis)(*parts)
    return fitting(node, cast(taken(result, [*items[: op.axis], left, *items[op.axis + 1 :]]), kind.dtype))


def _part_at(inner: Apply, item: Point) -> tuple[list[Any], Item] | None:
    """Return the part of a join that a position is in, and the position there."""
    op: Any = inner.op
    at = item.at
    if not isinstance(at, int):
        return None
    # Counted from the end, the parts come in reverse; the last part that is left has the position or nothing has.
    parts: list[Any] = list(inner.inputs) if at >= 0 else list(reversed(inner.inputs))
    for part in parts[:-1]:
        n = part.type.shape[op.axis]
        if n is None:
            return None
        if -n <= at < n:
            return [part], Point(at)
        at += n if at < 0 else -n
    return [parts[-1]], Point(at)


def _parts_between(fgraph: FunctionGraph, inner: Apply, item: Any) -> tuple[list[Any], Item] | None:
    """Return the parts of a join that a slice is made of, and what is to be taken of these."""
    op: Any = inner.op
    parts: list[Any] = list(inner.inputs)
    sizes = [part.type.shape[op.axis] for part in parts]
    if not isinstance(item, Stretch):
        return None
    if item.is_known and None not in sizes:
        return _known_parts(parts, sizes, item)
    if item.step not in {None, 1}:
        return None
    table = table_of(fgraph)
    ends = [table.fixed(0)]
    for part in parts:
        ends.append(table.joined([ends[-1], table.of(part)[op.axis]]))
    first = 0 if item.start is None else _place(table, item.start, ends)
    last = len(parts) if item.stop is None else _place(table, item.stop, ends)
    if first is None or last is None or first >= last or last - first == len(parts):
        return None
    return parts[first:last], FULL


def _place(table: LengthTable, bound: Any, ends: Sequence[Length]) -> int | None:
    """Return after how many parts a bound of a slice stands; None if it is not between two parts for certain."""
    length = table.fixed(bound) if isinstance(bound, int) else table.of_scalar(bound)
    return ends.index(length) if length in ends else None


def _known_parts(parts: list[Any], sizes: Sequence[int], item: Stretch) -> tuple[list[Any], Item] | None:
    bounds: Any = (item.start, item.stop, item.step)
    positions = range(sum(sizes))[slice(*bounds)]
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


@RULES.rule(EARLY_AND_LATE, Subtensor, tags=BOTH, needs_graph=True)
def subtensor_of_reshape(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """reshape(x, (n, …))[i] -> reshape(x[i], …), where reshape keeps the leading dimensions that i is about."""
    inner = made_by(node.inputs[0], Reshape)
    if inner is None:
        return None
    x: Any = inner.inputs[0]
    items = items_of(node)
    indexed = [d for d, item in enumerate(items) if not (isinstance(item, Stretch) and item.is_full)]
    table = table_of(fgraph)
    own, whole = table.of(x), table.of(node.inputs[0])
    count = indexed[-1] + 1 if indexed else 0
    if not count or count >= x.ndim or own[:count] != whole[:count]:
        return None
    part = taken(x, [*items[:count], *[FULL] * (x.ndim - count)])
    kept = sum(isinstance(i, Stretch) for i in items[:count])
    rest = [table.variable(n, fgraph, avoid=node.inputs[0]) for n in whole[count:]]
    if any(n is None for n in rest):
        return None
    lengths = [*(shape_i(part, d) for d in range(kept)), *rest]
    return fitting(node, Reshape(len(lengths))(part, *lengths))
