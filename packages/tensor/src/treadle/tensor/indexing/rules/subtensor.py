"""Rules for reads of parts of tensors: canonical indices, indices of indices, reads of shapes and of written parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from treadle.graph import Constant
from treadle.rewrite import RuleSet
from treadle.tensor.elementwise.arithmetic import add
from treadle.tensor.indexing.expressions import Span
from treadle.tensor.indexing.indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from treadle.tensor.indexing.ranges import ARange
from treadle.tensor.indexing.rules.index_algebra import (
    FULL,
    Picks,
    Point,
    Stretch,
    all_same,
    as_slice,
    canonical,
    followed,
    has_unchecked_mask,
    increasing,
    is_whole,
    packed,
    same,
    taken,
    unpacked,
)
from treadle.tensor.joins.joining import Join
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import is_used_once, made_by
from treadle.tensor.rewrites.analysis.replacements import alloc_like, if_fits
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, shapes_of
from treadle.tensor.shapes.dimshuffle import dimshuffle
from treadle.tensor.shapes.shape import Shape, shape_i

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.indexing.rules.index_algebra import Item
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

    Indexed = Subtensor | AdvancedSubtensor | IncSubtensor | AdvancedIncSubtensor

RULES = RuleSet("indexing", features=(SymbolicShapes,))


def items_of(node: TensorNode) -> list[Item]:
    """Return a node's index."""
    op: Indexed = node.op  # type: ignore[assignment]  # its callers know
    return unpacked(op.entries, node.inputs[first_part(node) :])


def first_part(node: TensorNode) -> int:
    """Return the position of the first index input of a node."""
    return 1 if isinstance(node.op, Subtensor | AdvancedSubtensor) else 2


@RULES.rule(EARLY_AND_LATE, Subtensor, tags=(*BOTH, "local_useless_subtensor", "useless"), depth=1, needs_graph=True)
def subtensor_of_everything(fgraph: FunctionGraph, node: NodeOf[Subtensor]) -> TensorVariable | None:
    """x[:, :] -> x, where each slice is certain to take its whole dimension."""
    x = node.inputs[0]
    items = items_of(node)
    if all(map(is_whole, items, x.type.shape)):
        return x
    if not all(isinstance(i, Stretch) and i.start is None and i.step is None for i in items):
        return None
    shapes = shapes_of(fgraph)
    return if_fits(node, x) if shapes.of(x) == shapes.of(node.outputs[0]) else None


_INDEXED = (Subtensor, AdvancedSubtensor, IncSubtensor, AdvancedIncSubtensor)


@RULES.rule(EARLY_AND_LATE, *_INDEXED, tags=(*BOTH, "local_subtensor_shape_constant"), depth=1)
def constant_positions(
    node: NodeOf[Indexed],
) -> TensorVariable | None:
    """x[i], i known -> x[its value]: shapes become known, and backends compile the index in."""
    first = first_part(node)
    # Most indices have no input, or none that is constant; arrays of positions stay inputs.
    if not any(isinstance(part, Constant) and part.data.ndim == 0 for part in node.inputs[first:]):
        return None
    return _with(node, items_of(node))


def _with(node: NodeOf[Indexed], items: list[Item]) -> TensorVariable | None:
    """Return a node with another index."""
    op = node.op
    entries, parts = packed(items)
    if entries == op.entries or any(isinstance(e, Span) and e.step == 0 for e in entries):
        return None
    return if_fits(node, replace(op, entries=entries)(*node.inputs[: first_part(node)], *parts))


@RULES.rule(
    EARLY_AND_LATE,
    *_INDEXED,
    tags=(*BOTH, "local_convert_negative_indices", "local_useless_slice"),
    depth=1,
    after=["constant_positions"],
)
def canonical_positions(node: NodeOf[Indexed]) -> TensorVariable | None:
    """x[0:n:1, -1] -> x[:, n - 1] for known lengths n, so that equal indices look equal."""
    x = node.inputs[0]
    items = items_of(node)
    replacements = [canonical(item, n) for item, n in zip(items, x.type.shape, strict=True)]
    return None if all(map(_are_alike, items, replacements)) else _with(node, replacements)


def _are_alike(a: Item, b: Item) -> bool:
    """Whether two items are equal and written alike."""
    if a is b or not isinstance(a, Stretch) or not isinstance(b, Stretch):
        return a is b or same(a, b)
    return same(a, b) and (a.start, a.step) == (b.start, b.step)


@RULES.rule(EARLY_AND_LATE, Subtensor, tags=(*BOTH, "local_subtensor_remove_broadcastable_index"), depth=1)
def subtensor_of_unit_dimensions(node: NodeOf[Subtensor]) -> TensorVariable | None:
    """x[:, 0] -> dimshuffle(x, 0), where the second dimension has length 1."""
    x = node.inputs[0]
    kept = []
    for d, (item, n) in enumerate(zip(items_of(node), x.type.shape, strict=True)):
        if isinstance(item, Point) and n == 1 and not isinstance(item.at, int):
            return None
        if isinstance(item, Point) and n != 1:
            return None
        if isinstance(item, Stretch):
            if not is_whole(item, n):
                return None
            kept.append(d)
    return None if len(kept) == x.ndim else dimshuffle(x, *kept)


@RULES.rule(EARLY_AND_LATE, Subtensor, tags=BOTH, below=(Shape,))
def element_of_shape(node: NodeOf[Subtensor]) -> TensorVariable | None:
    """shape(x)[d] -> length of dimension d of x; of several, their join."""
    inner = made_by(node.inputs[0], Shape)
    (item,) = items_of(node) if inner is not None else (None,)
    if inner is None or item is None:
        return None
    x = inner.inputs[0]
    if isinstance(item, Point):
        return shape_i(x, item.at) if isinstance(item.at, int) else None
    if not isinstance(item, Stretch) or not item.is_known:
        return None
    chosen = [dimshuffle(shape_i(x, d), "x") for d in range(x.ndim)[as_slice(item)]]
    return if_fits(node, Join(0)(*chosen)) if chosen else None


@RULES.rule(
    EARLY_AND_LATE,
    Subtensor,
    tags=(*BOTH, "local_subtensor_merge_slice", "local_subtensor_merge_integer"),
    below=(Subtensor,),
)
def subtensor_of_subtensor(node: NodeOf[Subtensor]) -> TensorVariable | None:
    """x[i][j] -> x[k], where one index picks the same for every length, and is out of bounds just when the two are."""
    inner = made_by(node.inputs[0], Subtensor)
    if inner is None:
        return None
    x = inner.inputs[0]
    outer = iter(items_of(node))
    items: list[Item] = []
    for item, n in zip(items_of(inner), x.type.shape, strict=True):
        if not isinstance(item, Stretch):
            items.append(item)
            continue
        one = followed(item, next(outer), n)
        if one is None:
            return None
        items.append(one)
    return if_fits(node, taken(x, items))


# Arrays of positions


@RULES.rule(EARLY_AND_LATE, AdvancedSubtensor, tags=(*BOTH, "local_adv_idx_to_slice"), needs_graph=True)
def positions_that_are_a_slice(fgraph: FunctionGraph, node: NodeOf[AdvancedSubtensor]) -> TensorVariable | None:
    """x[[1, 2, 3]] -> x[1:4], where x is known to be long enough; x[arange(length of x)] -> x."""
    x = node.inputs[0]
    items = items_of(node)
    at = [d for d, item in enumerate(items) if isinstance(item, Picks)]
    if all(i.positions.ndim == 0 for i in items if isinstance(i, Picks)):
        return if_fits(node, taken(x, [Point(i.positions) if isinstance(i, Picks) else i for i in items]))
    if len(at) != 1:
        return None
    stretch = _as_stretch(fgraph, x, at[0], items[at[0]])
    return None if stretch is None else if_fits(node, taken(x, [*items[: at[0]], stretch, *items[at[0] + 1 :]]))


def _as_stretch(fgraph: FunctionGraph, x: TensorVariable, d: int, item: Any) -> Stretch | None:
    """Return the slice that positions of a dimension are, if they are one."""
    if item.length is not None:
        return None
    n = x.type.shape[d]
    if n is not None:
        steps = increasing(item.positions)
        if steps is None or not all(-n <= k < n for k in (steps[0], steps[-1])) or (steps[0] < 0) != (steps[-1] < 0):
            return None
        shift = n if steps[0] < 0 else 0
        stop = steps[-1] + shift + (1 if steps.step > 0 else -1)
        stretch = canonical(Stretch(steps[0] + shift, None if stop < 0 else stop, steps.step), n)
        return stretch if isinstance(stretch, Stretch) else None
    node = made_by(item.positions, ARange)
    if node is None or not isinstance(node.inputs[0], Constant) or not isinstance(node.inputs[2], Constant):
        return None
    if node.inputs[0].data.item() != 0 or node.inputs[2].data.item() != 1:
        return None
    shapes = shapes_of(fgraph)
    return FULL if shapes.of(item.positions)[0] == shapes.of(x)[d] else None


@RULES.rule(
    EARLY_AND_LATE,
    Subtensor,
    tags=(*BOTH, "local_subtensor_of_adv_subtensor"),
    needs_graph=True,
    below=(AdvancedSubtensor,),
)
def subtensor_of_picked(fgraph: FunctionGraph, node: NodeOf[Subtensor]) -> TensorVariable | None:
    """x[positions][i] -> x[positions[i]], where the positions are a vector."""
    inner = made_by(node.inputs[0], AdvancedSubtensor)
    if inner is None or not is_used_once(fgraph, node.inputs[0]):
        return None
    items, outer = items_of(inner), items_of(node)
    at = [d for d, item in enumerate(items) if isinstance(item, Picks)]
    if len(at) != 1:
        return None
    d = at[0]
    chosen: Any = items[d]
    if (
        chosen.positions.ndim != 1
        or isinstance(outer[d], Picks)
        or not all(isinstance(o, Stretch) and o.is_full for i, o in enumerate(outer) if i != d)
    ):
        return None
    positions = taken(chosen.positions, [outer[d]])
    x = inner.inputs[0]
    if positions.ndim == 0:
        if chosen.length is not None:
            return None
        return if_fits(node, taken(x, [*items[:d], Point(positions), *items[d + 1 :]]))
    entries, parts = packed([*items[:d], Picks(positions, chosen.length), *items[d + 1 :]])
    return if_fits(node, AdvancedSubtensor(entries)(x, *parts))


# Reading what was written


@RULES.rule(
    EARLY_AND_LATE,
    Subtensor,
    AdvancedSubtensor,
    tags=(*BOTH, "local_read_of_write_same_indices"),
    needs_graph=True,
)
def read_of_write(fgraph: FunctionGraph, node: NodeOf[Subtensor | AdvancedSubtensor]) -> TensorVariable | None:
    """set(x, y, at i)[i] -> y broadcast to its shape; inc(x, y, at i)[i] -> x[i] + y."""
    inner = made_by(node.inputs[0], IncSubtensor, AdvancedIncSubtensor)
    if inner is None or not all_same(items_of(inner), items_of(node)) or not _distinct(node):
        return None
    if has_unchecked_mask(items_of(node)):
        return None
    x, y = inner.inputs[:2]
    op = inner.op
    shapes = shapes_of(fgraph)
    wanted = shapes.of(node.outputs[0])
    if op.set:
        return if_fits(node, y) if shapes.of(y) == wanted else alloc_like(fgraph, node, y)
    own = shapes.of(y)
    padded = (frozenset[int](),) * (len(wanted) - len(own)) + own
    if any(shapes.broadcast((n, m)) != m for n, m in zip(padded, wanted, strict=True)):
        return None
    return if_fits(node, add(node.op(x, *node.inputs[1:]), y))


def _distinct(node: TensorNode) -> bool:
    """Whether an index is certain to pick no element twice."""
    arrays = [item for item in items_of(node) if isinstance(item, Picks)]
    steps = increasing(arrays[0].positions) if len(arrays) == 1 else None
    # Of positions that count from both ends, two may be the same.
    return not arrays or (steps is not None and (steps[0] < 0) == (steps[-1] < 0))


@RULES.rule(
    EARLY_AND_LATE, Subtensor, tags=(*BOTH, "local_slice_read_of_write"), needs_graph=True, below=(IncSubtensor,)
)
def read_inside_write(fgraph: FunctionGraph, node: NodeOf[Subtensor]) -> TensorVariable | None:
    """set(x, y, at 2:8)[3:5] -> y[1:3]; set(x, y, at 2:8)[9] -> x[9], for known positions."""
    inner = made_by(node.inputs[0], IncSubtensor)
    if inner is None:
        return None
    read = items_of(node)
    below = _below_writes_apart(node.inputs[0], read)
    if below is not None:
        return if_fits(node, taken(below, read))
    x = inner.inputs[0]
    y = inner.inputs[1]
    written = items_of(inner)
    op = inner.op
    rank = sum(isinstance(item, Stretch) for item in written)
    if not op.set or y.type.ndim != rank or all_same(written, read):
        return None
    inside = [_inside(w, r, n) for w, r, n in zip(written, read, x.type.shape, strict=True)]
    if any(part is None for part in inside):
        return None
    shapes = shapes_of(fgraph)
    if shapes.of(y) != shapes.of(Subtensor(op.entries)(x, *inner.inputs[2:])):
        return None
    return if_fits(node, taken(y, [i for i, w in zip(inside, written, strict=True) if isinstance(w, Stretch) and i]))


# So many writes one on another are looked through for the one that a read is from.
_MOST_WRITES = 16


def _below_writes_apart(var: TensorVariable, read: list[Item]) -> TensorVariable | None:
    """Return the variable below writes that do not touch the part that is read; None if that is uncertain."""
    below = var
    for _ in range(_MOST_WRITES):
        node = made_by(below, IncSubtensor)
        if node is None:
            return None if below is var else below
        written = items_of(node)
        if not any(_apart(w, r) for w, r in zip(written, read, strict=True)):
            return below if below is not var and all_same(written, read) else None
        below = node.inputs[0]
    return None


def _covered(item: Item, n: int | None) -> range | None:
    """Return positions that an item picks, or a range that holds them however long the dimension is; or None."""
    if isinstance(item, Point) and isinstance(item.at, int):
        at = item.at + n if item.at < 0 and n is not None else item.at
        return range(at, at + 1) if at >= 0 else None
    if not isinstance(item, Stretch) or not item.is_known or item.step == 0:
        return None
    if n is not None:
        return range(n)[as_slice(item)]
    start, stop, stride = item.start or 0, item.stop, item.stride
    if not (isinstance(start, int) and isinstance(stop, int) and isinstance(stride, int)) or stride < 0:
        return None
    return range(start, stop, stride) if start >= 0 and stop >= 0 else None


def _apart(written: Item, read: Item) -> bool:
    """Whether two items are certain to pick different positions."""
    w, r = _covered(written, None), _covered(read, None)
    if w is None or r is None:
        return False
    fewer, more = (w, r) if len(w) <= len(r) else (r, w)
    return len(fewer) <= _MOST_POSITIONS and not any(k in more for k in fewer)


# Positions are compared one by one up to so many.
_MOST_POSITIONS = 1_000


def _inside(written: Item, read: Item, n: int | None) -> Item | None:
    """Return what a read picks of what was written; None where that is not certain."""
    if same(written, read):
        return FULL
    if n is None or not isinstance(written, Stretch):
        return None
    w, r = _covered(written, n), _covered(read, n)
    if w is None or r is None or not w or not r or len(r) > _MOST_POSITIONS or not all(k in w for k in r):
        return None
    if isinstance(read, Point):
        return Point(w.index(r[0]))
    first, last = w.index(r[0]), w.index(r[-1])
    step = 1 if len(r) == 1 else w.index(r[1]) - first
    part = canonical(Stretch(first, last + (1 if step > 0 else -1), step), len(w))
    if step < 0 and last == 0:
        part = canonical(Stretch(first, None, step), len(w))
    return part
