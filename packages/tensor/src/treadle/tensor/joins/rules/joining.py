"""Rules for joins and ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Constant
from treadle.rewrite import RuleSet
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.indexing.indexing import Subtensor
from treadle.tensor.indexing.rules.index_algebra import FULL, Stretch, same, taken
from treadle.tensor.indexing.rules.subtensor import items_of
from treadle.tensor.joins.joining import Join
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import filling, is_used_once, made_by
from treadle.tensor.rewrites.analysis.replacements import alloc_like, if_fits
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, shapes_of
from treadle.tensor.types.conversion import constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("joining", features=(SymbolicShapes,))
# Joins of joins are made flat up to so many parts, so that the work on a long chain of them stays linear.
MOST_PARTS = 256


def _joined(node: NodeOf[Join], parts: Sequence[TensorVariable]) -> TensorVariable | None:
    """Return the join of other parts, in the dtype of a node's result."""
    result = parts[0] if len(parts) == 1 else Join(node.op.axis)(*parts)
    return if_fits(node, cast(result, node.outputs[0].dtype))


@RULES.rule(EARLY_AND_LATE, Join, tags=(*BOTH, "local_join_1", "useless"), depth=1)
def join_of_one(node: NodeOf[Join]) -> TensorVariable | None:
    """join(x) -> x."""
    return _joined(node, node.inputs) if len(node.inputs) == 1 else None


@RULES.rule(EARLY_AND_LATE, Join, tags=(*BOTH, "local_join_empty"), depth=1)
def join_with_nothing(node: NodeOf[Join]) -> TensorVariable | None:
    """join(x, part of length 0, y) -> join(x, y)."""
    op = node.op
    parts = list(node.inputs)
    left = [x for x in parts if x.type.shape[op.axis] != 0]
    return _joined(node, left) if 0 < len(left) < len(parts) else None


@RULES.rule(EARLY_AND_LATE, Join, tags=(*BOTH, "local_join_make_vector"), needs_graph=True)
def join_of_joins(fgraph: FunctionGraph, node: NodeOf[Join]) -> TensorVariable | None:
    """join(join(x, y), z) -> join(x, y, z), where the inner join is used only here."""
    parts: list[TensorVariable] = []
    for x in node.inputs:
        inner = made_by(x, Join)
        if inner is not None and inner.op == node.op and is_used_once(fgraph, x):
            parts += inner.inputs
        else:
            parts.append(x)
    return _joined(node, parts) if len(node.inputs) < len(parts) <= MOST_PARTS else None


@RULES.rule(EARLY_AND_LATE, Join, tags=BOTH, depth=1)
def join_of_constants(node: NodeOf[Join]) -> TensorVariable | None:
    """join(x, 1st constant, 2nd constant) -> join(x, both constants joined)."""
    op = node.op
    parts: list[TensorVariable] = []
    for x in node.inputs:
        both = _joined_constants(parts[-1], x, op.axis) if parts else None
        if both is None:
            parts.append(x)
        else:
            parts[-1] = both
    return _joined(node, parts) if len(parts) < len(node.inputs) else None


def _joined_constants(a: TensorVariable, b: TensorVariable, axis: int) -> TensorVariable | None:
    """Return the join of two constants, whose types may differ in their lengths along the axis only; else None."""
    if not isinstance(a, Constant) or not isinstance(b, Constant):
        return None
    shape = a.type.shape
    if b.type != TensorType(a.type.dtype, (*shape[:axis], b.type.shape[axis], *shape[axis + 1 :])):
        return None
    return constant(np.concatenate([a.data, b.data], axis=axis))


@RULES.rule(EARLY_AND_LATE, Join, tags=(*BOTH, "local_join_of_alloc", "local_join_to_repeat"), needs_graph=True)
def join_of_same(fgraph: FunctionGraph, node: NodeOf[Join]) -> TensorVariable | None:
    """join(alloc(x, n), alloc(x, m)) -> alloc(x, n + m); join(x, x, x) -> alloc(x, 3), where x has length 1 there."""
    op = node.op
    first = node.inputs[0]
    if len(node.inputs) < 2 or len({x.type.dtype for x in node.inputs}) > 1:
        return None
    value: TensorVariable | None
    if all(x is first for x in node.inputs) and first.type.shape[op.axis] == 1:
        value = first
    else:
        value = filling(first)
        if value is None or not all(_same_number(value, filling(x)) for x in node.inputs[1:]):
            return None
    shapes = shapes_of(fgraph)
    each = [shapes.of(x) for x in node.inputs]
    if any(a[: op.axis] != each[0][: op.axis] or a[op.axis + 1 :] != each[0][op.axis + 1 :] for a in each[1:]):
        return None
    return alloc_like(fgraph, node, value)


def _same_number(a: TensorVariable, b: TensorVariable | None) -> bool:
    return a is b or (isinstance(a, Constant) and b is not None and a.equals(b))


@RULES.rule(EARLY_AND_LATE, Join, tags=(*BOTH, "local_join_subtensors", "local_useless_split"))
def join_of_consecutive_slices(node: NodeOf[Join]) -> TensorVariable | None:
    """join(x[:n], x[n:]) -> x; join(x[2:4], x[4:7]) -> x[2:7]."""
    op = node.op
    parts: list[TensorVariable] = []
    for x in node.inputs:
        whole = _together(parts[-1], x, op.axis) if parts else None
        if whole is None:
            parts.append(x)
        else:
            parts[-1] = whole
    return _joined(node, parts) if len(parts) < len(node.inputs) else None


def _together(left: TensorVariable, right: TensorVariable, axis: int) -> TensorVariable | None:
    """Return the slice of a tensor that two consecutive slices make, joined along an axis."""
    a, b = made_by(left, Subtensor), made_by(right, Subtensor)
    if a is None or b is None or a.inputs[0] is not b.inputs[0]:
        return None
    one, two = items_of(a), items_of(b)
    stretches = [d for d, item in enumerate(one) if isinstance(item, Stretch)]
    d = stretches[axis]
    first, second = one[d], two[d]
    if not all(same(i, j) for k, (i, j) in enumerate(zip(one, two, strict=True)) if k != d):
        return None
    if not isinstance(first, Stretch) or not isinstance(second, Stretch):
        return None
    if first.step not in {None, 1} or second.step not in {None, 1} or not _meet(first, second):
        return None
    both = Stretch(first.start, second.stop)
    return taken(a.inputs[0], [*one[:d], FULL if both.is_full else both, *one[d + 1 :]])


def _meet(first: Stretch, second: Stretch) -> bool:
    """Whether a slice begins where another one ends, however long the dimension is."""
    bounds: Any = (first.start, first.stop, second.start, second.stop)
    a, b, c, d = bounds
    if b is None or c is None:
        return False
    from_first, to_last = a is None or a == 0, d is None
    if not isinstance(b, int):
        return b is c and from_first and to_last
    if b != c:
        return False
    if from_first and to_last:
        return True
    known = [k for k in (a, d) if k is not None]
    return b >= 0 and all(isinstance(k, int) and k >= 0 for k in known) and (a or 0) <= b and (d is None or b <= d)
