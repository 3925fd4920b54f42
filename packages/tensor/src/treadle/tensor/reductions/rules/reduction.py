"""Rules for reductions."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import add, maximum, minimum, mul, neg
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.exponential import power
from treadle.tensor.elementwise.logic import bitwise_and, bitwise_or, invert, logical_not
from treadle.tensor.joins.joining import Join
from treadle.tensor.lengths.numbers import number as as_number
from treadle.tensor.lengths.numbers import times
from treadle.tensor.reductions.reduction import ArgReduction, Reduction
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import (
    applies,
    filling,
    function_of,
    is_used_once,
    kind_of,
    made_by,
    never_shrinks,
)
from treadle.tensor.rewrites.analysis.replacements import alloc_like, if_fits, with_operand
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, shapes_of
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle, dimshuffle
from treadle.tensor.shapes.shape import LENGTH, Reshape
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph
    from treadle.tensor.elementwise.scalar_op import ScalarOp
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.types.tensor_type import TensorType
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("reduction", features=(SymbolicShapes,))
# A reduction over the joined axis becomes an expression of that many parts at most.
MOST_PARTS = 16
_COMBINED: Any = {"sum": add, "prod": mul, "max": maximum, "min": minimum, "all": bitwise_and, "any": bitwise_or}
_OTHER = {"max": "min", "min": "max", "all": "any", "any": "all", "argmax": "argmin", "argmin": "argmax"}


def _cast_through(op: Reduction, x: TensorVariable) -> TensorVariable:
    """Return single elements as a reduction gives them: in the dtype it combines in, then in that of the result."""
    return cast(cast(x, op.acc_dtype), op.dtype)


def _moved(axes: Sequence[int], dropped: Sequence[int]) -> tuple[int, ...]:
    """Return where axes stand after others were dropped."""
    return tuple(d - sum(e < d for e in dropped) for d in axes)


@RULES.rule(
    EARLY_AND_LATE,
    Reduction,
    tags=(*BOTH, "local_reduce_broadcastable", "local_useless_reduce", "local_cut_useless_reduce", "useless"),
    depth=1,
    differs="in the sign of a negative zero: the sum of one is a positive zero",
)
def useless_reduction(node: NodeOf[Reduction]) -> TensorVariable | None:
    """sum(x, axes of length 1, or none) -> x without these axes, and without them where others are left."""
    op = node.op
    x = node.inputs[0]
    unit = [d for d in op.axes if x.type.shape[d] == 1]
    if len(unit) < len(op.axes) and not unit:
        return None
    kept = dimshuffle(x, *(d for d in range(x.ndim) if d not in unit))
    left = [d for d in op.axes if d not in unit]
    if left:
        return if_fits(node, Reduction(op.kind, _moved(left, unit), op.dtype, op.acc_dtype)(kept))
    return if_fits(node, _cast_through(op, kept))


@RULES.rule(
    EARLY_AND_LATE,
    ArgReduction,
    tags=(*BOTH, "local_useless_reduce", "local_cut_useless_reduce"),
    depth=1,
    needs_graph=True,
)
def useless_position(fgraph: FunctionGraph, node: NodeOf[ArgReduction]) -> TensorVariable | None:
    """argmax(x, axes of length 1, or none) -> zeros."""
    op = node.op
    x = node.inputs[0]
    if any(x.type.shape[d] != 1 for d in op.axes):
        return None
    return alloc_like(fgraph, node, constant(0, dtype="int64"))


@RULES.rule(EARLY_AND_LATE, Reduction, tags=(*BOTH, "local_reduce_chain"), needs_graph=True, below=(Reduction,))
def reduction_of_reduction(fgraph: FunctionGraph, node: NodeOf[Reduction]) -> TensorVariable | None:
    """sum(sum(x, a), b) -> sum(x, a and b), and so for every kind of reduction, the inner one being used only here."""
    op = node.op
    inner = made_by(node.inputs[0], Reduction)
    if inner is None or not is_used_once(fgraph, node.inputs[0]):
        return None
    first = inner.op
    if (first.kind, first.dtype, first.acc_dtype) != (op.kind, op.dtype, op.acc_dtype):
        return None
    # Inner sums of half precision that overflow must not disappear in the dtype that they are computed in.
    if op.dtype != op.acc_dtype and kind_of(node.outputs[0]) == "f":
        return None
    x = inner.inputs[0]
    left = [d for d in range(x.ndim) if d not in first.axes]
    axes = tuple(sorted((*first.axes, *(left[d] for d in op.axes))))
    return Reduction(op.kind, axes, op.dtype, op.acc_dtype)(x)


@RULES.rule(EARLY_AND_LATE, Reduction, ArgReduction, tags=BOTH, below=(DimShuffle,))
def reduction_of_dimshuffle(node: NodeOf[Reduction | ArgReduction]) -> TensorVariable | None:
    """sum(dimshuffle(x), axes) -> dimshuffle(sum(x, axes))."""
    inner = made_by(node.inputs[0], DimShuffle)
    if inner is None:
        return None
    op = node.op
    order = inner.op.order
    axes = [d for d in (order[d] for d in op.axes) if isinstance(d, int)]
    x = inner.inputs[0]
    if isinstance(op, ArgReduction):
        # Positions count over the axes in order.
        if not axes or axes != sorted(axes):
            return None
        result = ArgReduction(op.kind, tuple(axes))(x)
    elif axes:
        result = Reduction(op.kind, tuple(sorted(axes)), op.dtype, op.acc_dtype)(x)
    else:
        result = _cast_through(op, x)
    left = [d for d in range(x.ndim) if d not in axes]
    kept = [d for k, d in enumerate(order) if k not in op.axes]
    return if_fits(node, dimshuffle(result, *(left.index(d) if isinstance(d, int) else NEW for d in kept)))


@RULES.rule(EARLY_AND_LATE, Reduction, ArgReduction, tags=(*BOTH, "local_sum_prod_all_to_none"), below=(Reshape,))
def reduction_of_reshape(node: NodeOf[Reduction | ArgReduction]) -> TensorVariable | None:
    """sum(reshape(x, lengths)) -> sum(x), over all axes."""
    inner = made_by(node.inputs[0], Reshape)
    op = node.op
    if inner is None or len(op.axes) != node.inputs[0].ndim:
        return None
    x = inner.inputs[0]
    every = tuple(range(x.ndim))
    if isinstance(op, ArgReduction):
        return if_fits(node, ArgReduction(op.kind, every)(x))
    return if_fits(node, Reduction(op.kind, every, op.dtype, op.acc_dtype)(x))


@RULES.rule(
    EARLY_AND_LATE,
    Reduction,
    tags=(*BOTH, "local_reduce_join", "local_sum_make_vector"),
    needs_graph=True,
    differs="where the sum or product of some parts leaves the range, and in the sign of a zero",
    below=(Join,),
)
def reduction_of_join(fgraph: FunctionGraph, node: NodeOf[Reduction]) -> TensorVariable | None:
    """sum(join(x, y)) -> sum(x) + sum(y), or the join of the sums along other axes; the join being used only here."""
    var = node.inputs[0]
    inner = made_by(var, Join)
    if inner is None or not is_used_once(fgraph, var):
        return None
    op = node.op
    kind = var.type
    at = inner.op.axis
    parts = [cast(x, kind.dtype) for x in inner.inputs]
    if at not in op.axes:
        reduced = [Reduction(op.kind, op.axes, op.dtype, op.acc_dtype)(x) for x in parts]
        return if_fits(node, Join(at - sum(d < at for d in op.axes))(*reduced))
    if len(parts) > MOST_PARTS or op.dtype not in {op.acc_dtype, kind.dtype}:
        return None
    if op.kind in {"max", "min"} and not all(x.type.shape[at] for x in parts):
        # The extremum of nothing is an error, that of a part only must not be one.
        return None
    each = [Reduction(op.kind, op.axes, op.acc_dtype, op.acc_dtype)(x) for x in parts]
    total = each[0]
    for one in each[1:]:
        total = _COMBINED[op.kind](total, one)
    return if_fits(node, cast(total, op.dtype))


# Reductions of what is broadcast


@RULES.rule(EARLY_AND_LATE, Reduction, tags=(*BOTH, "local_careduce_of_alloc"), needs_graph=True, below=(Alloc,))
def reduction_of_alloc(fgraph: FunctionGraph, node: NodeOf[Reduction]) -> TensorVariable | None:
    """sum(alloc(x, n)) -> n * x; prod -> x ** n; max, min, all, any -> x, for lengths n, certain not to be 0."""
    inner = made_by(node.inputs[0], Alloc)
    if inner is None:
        return None
    op = node.op
    x = inner.inputs[0]
    shapes = shapes_of(fgraph)
    own, whole = shapes.of(x), shapes.of(node.inputs[0])
    extra = len(whole) - len(own)
    spread = [d for d in op.axes if d < extra or own[d - extra] != whole[d]]
    if not spread or any(d >= extra and x.type.shape[d - extra] != 1 for d in spread):
        return None
    if not all(shapes.is_natural(whole[d]) for d in spread):
        return None  # a negative length is an error, which the array makes
    counts = shapes.variables([whole[d] for d in spread], fgraph, avoid=node.inputs[0])
    if counts is None or not _is_sure(op, x, counts):
        return None
    real = tuple(d - extra for d in op.axes if d not in spread)
    value = Reduction(op.kind, real, op.acc_dtype, op.acc_dtype)(x) if real else cast(x, op.acc_dtype)
    unit = _moved([d - extra for d in spread if d >= extra], real)
    value = dimshuffle(value, *(d for d in range(value.ndim) if d not in unit))
    return alloc_like(fgraph, node, cast(_repeated(op, value, counts), op.dtype))


def _is_sure(op: Reduction, x: TensorVariable, counts: Sequence[TensorVariable]) -> bool:
    """Whether the result is the same even if there turn out to be no elements."""
    if all(isinstance(n, Constant) and n.data.item() > 0 for n in counts):
        return True
    if op.kind == "sum" and kind_of(x) not in "fc":
        return True
    value = filling(x)
    if (
        op.kind not in {"sum", "prod"}
        or value is None
        or not isinstance(value, Constant)
        or not np.isfinite(value.data).all()
    ):
        return False
    # No times a negative number is a negative zero.
    return op.kind == "prod" or not np.signbit([value.data.real, value.data.imag]).any()


def _repeated(op: Reduction, value: TensorVariable, counts: Sequence[TensorVariable]) -> TensorVariable:
    """Return the reduction of a value repeated, in the dtype that the reduction combines in."""
    if op.kind not in {"sum", "prod"}:
        return value
    number = reduce(times, map(as_number, counts))
    count = constant(number, dtype=LENGTH) if isinstance(number, int) else number
    if op.kind == "sum":
        return mul(value, cast(count, op.acc_dtype))
    # The number may be more than a short dtype holds. Integers wrap around in the widest dtype, and then in their own.
    wide = _WIDEST[np.dtype(op.acc_dtype).kind]
    return cast(power(cast(value, wide), cast(count, wide)), op.acc_dtype)


_WIDEST = {"b": "uint64", "u": "uint64", "i": "int64", "f": "float64", "c": "complex128"}


# Reductions of simple functions


@RULES.rule(
    EARLY_AND_LATE,
    Reduction,
    tags=(*BOTH, "local_sum_of_neg_to_neg_of_sum"),
    differs="in the sign of a zero",
    below=(neg, logical_not, invert),
)
def reduction_of_negative(node: NodeOf[Reduction]) -> TensorVariable | None:
    """sum(-x) -> -sum(x); all(not x) -> not any(x)."""
    inner = node.inputs[0].owner
    if not applies(inner, neg, logical_not, invert):
        return None
    op = node.op
    x = inner.inputs[0]
    if inner.op != neg:
        if op.kind not in {"all", "any"} or x.dtype != "bool":
            return None
        return if_fits(node, logical_not(Reduction(_OTHER[op.kind], op.axes, "bool", "bool")(x)))
    # Short integers wrap around before they are summed.
    if op.kind != "sum" or x.dtype not in {op.acc_dtype, "float16"} or op.dtype != x.dtype:
        return None
    return if_fits(node, neg(op(x)))


@RULES.rule(
    Phase.SPECIALIZE,
    Reduction,
    ArgReduction,
    tags=(*BOTH, "local_max_to_min"),
    differs="in the sign of a zero",
    below=(neg,),
)
def extremum_of_negative(node: NodeOf[Reduction | ArgReduction]) -> TensorVariable | None:
    """max(-x) -> -min(x); argmax(-x) -> argmin(x); for floats: the smallest integer is its own negative."""
    inner = node.inputs[0].owner
    op = node.op
    if not applies(inner, neg) or op.kind not in _OTHER:
        return None
    x = inner.inputs[0]
    if kind_of(x) != "f":
        return None
    if isinstance(op, ArgReduction):
        return if_fits(node, ArgReduction(_OTHER[op.kind], op.axes)(x))
    if op.kind not in {"max", "min"}:
        return None
    return if_fits(node, neg(Reduction(_OTHER[op.kind], op.axes, op.dtype, op.acc_dtype)(x)))


@RULES.rule(
    EARLY_AND_LATE,
    Reduction,
    tags=(*BOTH, "local_sum_prod_of_mul_or_div"),
    needs_graph=True,
    differs="where c * x overflows, and in the sign of a zero",
    below=(Elemwise,),
)
def sum_of_scaled(fgraph: FunctionGraph, node: NodeOf[Reduction]) -> TensorVariable | None:
    """sum(c * x) -> c * sum(x); sum(x / c) -> sum(x) / c, for c that the axes broadcast: finite constants, integers.

    Of floats only for a c that makes nothing smaller: so the sum of what is not scaled overflows only if the other one
    does. Half precision has no room for it.
    """
    op = node.op
    if op.kind != "sum":
        return None
    inner = made_by(node.inputs[0], Elemwise)
    function = function_of(inner)
    if inner is None or function is None or not op.axes:
        return None
    kind = node.inputs[0].type
    if any(x.type.dtype != kind.dtype for x in inner.inputs) or op.dtype != kind.dtype or kind.dtype == "bool":
        return None
    if not is_used_once(fgraph, node.inputs[0]):
        return None
    kept = [d for d in range(kind.ndim) if d not in op.axes]
    for at in reversed(function.linear):
        others = [*inner.inputs[:at], *inner.inputs[at + 1 :]]
        if all(c.type.shape[d] == 1 for c in others for d in op.axes) and _is_scale(function, at, others, kind):
            scales = [dimshuffle(c, *kept) for c in others]
            return if_fits(node, with_operand(inner, at, op(inner.inputs[at]), scales))
    return None


def _is_scale(function: ScalarOp, at: int, others: Sequence[TensorVariable], kind: TensorType) -> bool:
    """Whether a function that is linear in one operand may be applied to a sum of it, the others being numbers."""
    if kind.numpy_dtype.kind in "iu":
        return True
    # An infinite number, or one that may be infinite, could make NaN of zeros and of nothing.
    numbers = []
    for c in others:
        known = filling(c)
        if known is None or not isinstance(known, Constant):
            return False
        numbers.append(known.data.item())
    return never_shrinks(function, at, numbers, kind.dtype)
