"""Rules for set_subtensor and inc_subtensor: writes that follow each other or change nothing, sums of increments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Constant
from treadle.rewrite import RuleSet
from treadle.tensor.elementwise.arithmetic import add
from treadle.tensor.indexing.indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from treadle.tensor.indexing.rules.index_algebra import (
    Picks,
    Point,
    Stretch,
    all_same,
    has_unchecked_mask,
    increasing,
    is_whole,
    packed,
)
from treadle.tensor.indexing.rules.subtensor import items_of
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import applies, filling, is_used_once, is_zero, made_by
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.shape_inference.symbolic_shapes import ONE, SymbolicShapes, shapes_of
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.shape import lengths

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

    Write = IncSubtensor | AdvancedIncSubtensor

RULES = RuleSet("increments", features=(SymbolicShapes,))
_WRITES: tuple[type[Write], ...] = (IncSubtensor, AdvancedIncSubtensor)


def is_distinct(node: TensorNode) -> bool:
    """Whether a write is certain to touch no element twice."""
    if isinstance(node.op, IncSubtensor):
        return True
    x = node.inputs[0]
    for d, item in enumerate(items_of(node)):
        if isinstance(item, Picks) and _all_different(item, x.type.shape[d]):
            # One array whose positions all differ is enough, if the others do not broadcast it.
            return all(not isinstance(i, Picks) or i is item or _follows(i, item) for i in items_of(node))
    return False


def _all_different(item: Picks, n: int | None) -> bool:
    if not isinstance(item.positions, Constant):
        return False
    data = item.positions.data.astype(np.int64)
    if n is not None:
        data = np.where(data < 0, data + n, data)
    elif data.size and data.min() < 0 <= data.max():
        return False
    return bool(data.ndim == 1 and np.unique(data).size == data.size)


def _follows(other: Picks, item: Picks) -> bool:
    kind: Any = other.positions.type
    own = item.positions.type
    return bool(kind.ndim == 0 or (kind.ndim == 1 and kind.shape == own.shape))


_OF_ALLOCS = ("local_incsubtensor_of_allocs", "local_setsubtensor_of_allocs")
_SIGN = "in the sign of a zero: 0 + -0.0 is 0"


@RULES.rule(
    EARLY_AND_LATE,
    *_WRITES,
    tags=(*BOTH, "local_incsubtensor_of_zeros_to_setsubtensor", "local_incsubtensor_of_allocs"),
    depth=3,
    differs=_SIGN,
)
def increment_of_zeros(node: NodeOf[Write]) -> TensorVariable | None:
    """inc(zeros, y, at i) -> set(zeros, y, at i), where no element is picked twice."""
    op = node.op
    if op.set or not is_zero(node.inputs[0]) or not is_distinct(node):
        return None
    return if_fits(node, replace(op, set=True)(*node.inputs))


@RULES.rule(
    EARLY_AND_LATE,
    *_WRITES,
    tags=(*BOTH, "local_useless_inc_subtensor", "local_incsubtensor_of_zeros", *_OF_ALLOCS),
    needs_graph=True,
    differs=_SIGN,
)
def useless_write(fgraph: FunctionGraph, node: NodeOf[Write]) -> TensorVariable | None:
    """inc(x, 0, at i) -> x; set(x, x[i], at i) -> x; set(filled with c, c, at i) -> filled with c."""
    x, y = node.inputs[:2]
    op = node.op
    if not op.set:
        return x if is_zero(y) and _fits_part(fgraph, node) else None
    if _is_read_of(node, y):
        return None if has_unchecked_mask(items_of(node)) else x
    one, other = filling(x), filling(y)
    if one is None or other is None or not _fits_part(fgraph, node):
        return None
    equal = one is other or (isinstance(one, Constant) and one.equals(other))
    return x if equal else None


def _fits_part(fgraph: FunctionGraph, node: NodeOf[Write]) -> bool:
    """Whether the values that a node writes are certain to broadcast to the part, within bounds."""
    x = node.inputs[0]
    y = node.inputs[1]
    items = items_of(node)
    for d, item in enumerate(items):
        n = x.type.shape[d]
        if isinstance(item, Picks):
            if not _are_within(item, n):
                return False
            continue
        if isinstance(item, Point) and (n is None or not isinstance(item.at, int) or not -n <= item.at < n):
            return False
    if all(n == 1 for n in y.type.shape):
        return True
    return shapes_of(fgraph).of(y) == shapes_of(fgraph).of(_part(node))


def _are_within(item: Picks, n: int | None) -> bool:
    """Whether positions are known to be in bounds."""
    if n is None or item.length is not None or not isinstance(item.positions, Constant):
        return False
    data = item.positions.data
    return bool(data.size == 0 or (data.min() >= -n and data.max() < n))


def _part(node: NodeOf[Write]) -> TensorVariable:
    """Return the part that a node writes, of the tensor that it writes into."""
    op = node.op
    take = Subtensor if isinstance(op, IncSubtensor) else AdvancedSubtensor
    return take(op.entries)(node.inputs[0], *node.inputs[2:])


def _is_read_of(node: TensorNode, y: TensorVariable) -> bool:
    """Whether values were read from where a node writes them."""
    read = made_by(y, Subtensor, AdvancedSubtensor)
    return read is not None and read.inputs[0] is node.inputs[0] and all_same(items_of(read), items_of(node))


@RULES.rule(EARLY_AND_LATE, *_WRITES, tags=(*BOTH, "local_set_to_inc_subtensor"), depth=3, needs_graph=True)
def set_of_sum(fgraph: FunctionGraph, node: NodeOf[Write]) -> TensorVariable | None:
    """set(x, x[i] + y, at i) -> inc(x, y, at i), where no element is picked twice."""
    op = node.op
    total = node.inputs[1].owner
    if not op.set or not applies(total, add) or not is_distinct(node):
        return None
    a, b = total.inputs
    if getattr(a.type, "dtype", "") != getattr(b.type, "dtype", ""):
        return None
    for read, other in ((a, b), (b, a)):
        if _is_read_of(node, read) and shapes_of(fgraph).of(total.outputs[0]) == shapes_of(fgraph).of(read):
            return if_fits(node, replace(op, set=False)(node.inputs[0], other, *node.inputs[2:]))
    return None


@RULES.rule(
    EARLY_AND_LATE,
    *_WRITES,
    tags=(*BOTH, "local_write_of_write_same_indices"),
    needs_graph=True,
    differs="where y + z leaves the range",
)
def write_of_write(fgraph: FunctionGraph, node: NodeOf[Write]) -> TensorVariable | None:
    """set(write(x, y, at i), z, at i) -> set(x, z, at i); inc(write(x, y, at i), z, at i) -> write(x, y + z, at i)."""
    inner = made_by(node.inputs[0], *_WRITES)
    if inner is None or type(inner.op) is not type(node.op) or not all_same(items_of(inner), items_of(node)):
        return None
    op = node.op
    below = inner.op
    x, y = inner.inputs[:2]
    z = node.inputs[1]
    if op.set:
        return if_fits(node, op(x, z, *node.inputs[2:]))
    if not is_used_once(fgraph, node.inputs[0]) or (below.set and not is_distinct(node)):
        return None
    if getattr(z.type, "dtype", "") == "bool" or not _broadcasts(fgraph, node, y, z):
        return None
    return if_fits(node, below(x, add(y, z), *node.inputs[2:]))


def _broadcasts(fgraph: FunctionGraph, node: NodeOf[Write], y: TensorVariable, z: TensorVariable) -> bool:
    """Whether two values are certain to have one shape, or each to broadcast to the written part."""
    shapes = shapes_of(fgraph)
    a, b = shapes.of(y), shapes.of(z)
    if a == b:
        return True
    part = shapes.of(_part(node))
    return all(n in {m, ONE} for own in (a, b) for n, m in zip(own, part[len(part) - len(own) :], strict=True))


@RULES.rule(EARLY_AND_LATE, IncSubtensor, tags=(*BOTH, "local_useless_inc_subtensor"), depth=1, needs_graph=True)
def write_of_everything(fgraph: FunctionGraph, node: NodeOf[IncSubtensor]) -> TensorVariable | None:
    """set(x, y, at :) -> y broadcast to x's shape; inc(x, y, at :) -> x + y."""
    x = node.inputs[0]
    y = node.inputs[1]
    op = node.op
    if not all(map(is_whole, items_of(node), x.type.shape)):
        return None
    shapes = shapes_of(fgraph)
    if op.set:
        return if_fits(node, y if shapes.of(y) == shapes.of(x) else Alloc()(y, *lengths(x)))
    own, whole = shapes.of(y), shapes.of(x)
    if any(n not in {m, ONE} for n, m in zip(own, whole[len(whole) - len(own) :], strict=True)):
        return None
    return None if x.dtype == "bool" else if_fits(node, add(x, y))


@RULES.rule(
    EARLY_AND_LATE,
    *_WRITES,
    tags=(*BOTH, "local_useless_inc_subtensor_alloc", "shape_unsafe", "local_setsubtensor_of_allocs"),
    needs_graph=True,
)
def write_of_alloc(fgraph: FunctionGraph, node: NodeOf[Write]) -> TensorVariable | None:
    """write(x, alloc(y, shape of the part), at i) -> write(x, y, at i): writing broadcasts anyway."""
    inner = made_by(node.inputs[1], Alloc)
    if inner is None:
        return None
    value = inner.inputs[0]
    shapes = shapes_of(fgraph)
    part = shapes.of(_part(node))
    own = shapes.of(node.inputs[1])
    # Only dimensions that are the part's may go: a longer alloc is an error, which must stay one.
    if len(own) > len(part) or own != part[len(part) - len(own) :]:
        return None
    op = node.op
    return if_fits(node, op(node.inputs[0], value, *node.inputs[2:]))


@RULES.rule(
    EARLY_AND_LATE,
    add,
    tags=(*BOTH, "local_IncSubtensor_serialize", "pre_local_IncSubtensor_serialize", "local_add_of_sparse_write"),
    depth=3,
    needs_graph=True,
    differs="in the sign of a zero, and where several increments are added to x one by one",
    below=_WRITES,
)
def sum_with_increment(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """X + write(zeros, y, at i) -> inc(x, y, at i), where the write is used only here."""
    if not any(isinstance(x.owner.op, _WRITES) for x in node.inputs if x.owner is not None):
        return None
    shapes = shapes_of(fgraph)
    for at in (1, 0):
        written, x = node.inputs[at], node.inputs[1 - at]
        inner = made_by(written, *_WRITES)
        if inner is None or not is_used_once(fgraph, written):
            continue
        base = _base_of_zeros(fgraph, inner)
        if base is None or x.type.dtype != written.type.dtype or x.type.dtype == "bool":
            continue
        if shapes.of(x) != shapes.of(written):
            continue
        return if_fits(node, _onto(x, inner))
    return None


# So many increments on zeros move onto another tensor at once; their number is what they cost anyway.
_MOST_INCREMENTS = 64


def _base_of_zeros(fgraph: FunctionGraph, node: NodeOf[Write]) -> TensorVariable | None:
    """Return the zeros that a node writes into, below other increments; None if these do not end in zeros."""
    base = node.inputs[0]
    for _ in range(_MOST_INCREMENTS):
        above = node.op
        if above.set and not is_distinct(node):
            return None
        if is_zero(base):
            return base
        inner = made_by(base, *_WRITES)
        # A set on top of other writes would hide them.
        if inner is None or above.set or not is_used_once(fgraph, base):
            return None
        node, base = inner, inner.inputs[0]
    return None


def _onto(x: TensorVariable, node: NodeOf[Write]) -> TensorVariable:
    """Return a tensor with the increments that a node and those below it make on zeros."""
    chain = []
    current: NodeOf[Write] | None = node
    while current is not None:
        chain.append(current)
        current = made_by(current.inputs[0], *_WRITES)
    for write in reversed(chain):
        x = replace(write.op, set=False)(x, *write.inputs[1:])
    return x


@RULES.rule(EARLY_AND_LATE, AdvancedIncSubtensor, tags=(*BOTH, "local_adv_idx_to_slice"), depth=1)
def write_at_a_slice(node: NodeOf[AdvancedIncSubtensor]) -> TensorVariable | None:
    """write(x, y, at [1, 2, 3]) -> write(x, y, at 1:4), where x is known to be long enough."""
    x = node.inputs[0]
    op = node.op
    items = items_of(node)
    at = [d for d, item in enumerate(items) if isinstance(item, Picks)]
    if len(at) != 1:
        return None
    d = at[0]
    item: Any = items[d]
    steps = increasing(item.positions)
    n = x.type.shape[d]
    if item.length is not None or steps is None or n is None or steps.step < 0 or steps[0] < 0 or steps[-1] >= n:
        return None
    stretch = Stretch(steps[0], steps[-1] + 1, steps.step if steps.step > 1 else None)
    entries, parts = packed([*items[:d], stretch, *items[d + 1 :]])
    return if_fits(node, IncSubtensor(entries, op.set)(x, node.inputs[1], *parts))
