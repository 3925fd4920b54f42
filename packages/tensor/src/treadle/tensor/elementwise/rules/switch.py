"""Rules for choices between two values, and for extrema."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import add, clip, maximum, minimum, mul, neg, sub, true_div
from treadle.tensor.elementwise.cast import cast, second, switch
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.logic import invert, logical_not
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE, TensorPattern, is_commutative
from treadle.tensor.rewrites.analysis.predicates import (
    applies,
    constant_value,
    function_of,
    is_nonnegative,
    kind_of,
)
from treadle.tensor.rewrites.analysis.replacements import broadcast_like, cast_like
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, same_shape, shapes_of
from treadle.tensor.shapes.broadcasting import full_like
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import FunctionGraph, Op
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

RULES = RuleSet("switch", is_commutative=is_commutative, value_of=constant_value, features=(SymbolicShapes,))

x, y, c = TensorPattern("x"), TensorPattern("y"), TensorPattern("c")
low, high = TensorPattern("low"), TensorPattern("high")


def _has_bool_condition(node: TensorNode, match: Mapping[str, TensorVariable]) -> bool:
    """Whether the condition is of dtype bool."""
    return kind_of(match["c"]) == "b"


_law = partial(RULES.law, phase=EARLY_AND_LATE, tags=BOTH)

_law("switch_of_not", switch(logical_not(c), x, y), switch(c, y, x))
_law("switch_of_inverse", switch(invert(c), x, y), switch(c, y, x), when=_has_bool_condition)
# Rules about extrema see what is clipped, and backends compute it, from here on; until then it is one op.
RULES.law("clip_to_extrema", clip(x, low, high), minimum(maximum(x, low), high), phase=Phase.STABILIZE)
_law("maximum_with_itself", maximum(x, x), x)
_law("minimum_with_itself", minimum(x, x), x)


@RULES.rule(EARLY_AND_LATE, switch, tags=BOTH, needs_graph=True)
def switch_of_constant(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """switch(constant, x, y) -> x or y, broadcast to the other's shape."""
    value = constant_value(node.inputs[0])
    condition = node.inputs[0].type
    if value is None or any(n != 1 for n in condition.shape):
        return None
    chosen, other = (node.inputs[1], node.inputs[2]) if value else (node.inputs[2], node.inputs[1])
    return _broadcast_like(fgraph, node, chosen, other)


@RULES.rule(EARLY_AND_LATE, switch, tags=BOTH, needs_graph=True)
def switch_of_same(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """switch(c, x, x) -> x, broadcast to the condition's shape."""
    condition, yes, no = node.inputs
    if yes is not no and not (isinstance(yes, Constant) and yes.equals(no)):
        return None
    return _broadcast_like(fgraph, node, yes, condition)


def _broadcast_like(
    fgraph: FunctionGraph, node: TensorNode, chosen: TensorVariable, other: TensorVariable
) -> TensorVariable | None:
    """Return one operand of a node in the node's dtype, and in its shape, which the other operand may widen."""
    out = node.outputs[0]
    value = cast(chosen, out.dtype)
    if same_shape(shapes_of(fgraph), chosen, out):
        return value if out.type.is_super(value.type) else None
    result: TensorVariable = second(other, value)
    return result if out.type.is_super(result.type) else None


@RULES.rule(EARLY_AND_LATE, switch, tags=BOTH, needs_graph=True)
def switch_in_switch(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """switch(c, switch(c, x, y), z) -> switch(c, x, z), and so in the other branch."""
    condition = node.inputs[0]
    branches = list(node.inputs[1:])
    dropped = []
    for at in (0, 1):
        inner = branches[at].owner
        if inner is not None and inner.op == switch and inner.inputs[0] is condition:
            dropped.append(inner.inputs[2 - at])
            branches[at] = cast(inner.inputs[1 + at], branches[at].dtype)
    if not dropped:
        return None
    return broadcast_like(fgraph, node.outputs[0], switch(condition, *branches), dropped)


@RULES.rule(Phase.SPECIALIZE, switch, tags=BOTH, needs_graph=True, depth=1)
def switch_of_one_and_zero(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """switch(c, 1, 0) -> cast(c), switch(c, 0, 1) -> cast(not c), for a condition of dtype bool."""
    condition = node.inputs[0]
    values = tuple(constant_value(v) for v in node.inputs[1:])
    if kind_of(condition) != "b" or None in values or any(isinstance(v, complex) for v in values):
        return None
    if values not in {(1, 0), (0, 1)} or any(math.copysign(1, v) < 0 for v in values):
        return None
    truth = condition if values == (1, 0) else invert(condition)
    out = node.outputs[0]
    return broadcast_like(fgraph, out, cast(truth, out.dtype), node.inputs)


def _is_zero(var: TensorVariable) -> bool:
    """Whether a tensor is a constant 0 that widens nothing."""
    kind = var.type
    return constant_value(var) == 0 and all(n == 1 for n in kind.shape)


@RULES.rule(
    EARLY_AND_LATE,
    mul,
    true_div,
    tags=BOTH,
    needs_graph=True,
    differs="where 0 is chosen and y is infinite, NaN or negative: the result is 0",
    below=(switch,),
)
def product_with_switch(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """switch(c, 0, x) * y -> switch(c, 0, x * y), and so in the other branch, and for quotients by a constant.

    Where 0 is chosen, the result is 0 even if y is infinite or NaN there. Not for a switch that is used elsewhere too,
    and not for a divisor that may be 0: the mean of nothing is NaN.
    """
    operands = list(enumerate(node.inputs)) if node.op == mul else [(0, node.inputs[0])]
    out = node.outputs[0]
    if node.op == true_div:
        divisor = constant_value(node.inputs[1])
        if divisor is None or divisor == 0 or divisor != divisor:
            return None
    for i, operand in operands:
        inner = operand.owner
        if not applies(inner, switch) or len(fgraph.clients[operand]) > 1:
            continue
        zeros = [_is_zero(v) for v in inner.inputs[1:]]
        if zeros[0] is zeros[1]:
            continue
        at = 2 if zeros[0] else 1
        factors = [*node.inputs]
        # In the switch's dtype: what is multiplied must not wrap around, or be rounded, before.
        factors[i] = cast(inner.inputs[at], operand.dtype)
        zero, product = constant(np.zeros((), out.dtype)), node.op(*factors)
        return cast_like(out, switch(inner.inputs[0], *((product, zero) if at == 1 else (zero, product))))
    return None


@RULES.rule(
    EARLY_AND_LATE,
    add,
    sub,
    tags=BOTH,
    needs_graph=True,
    differs="in the sign of a negative zero",
    below=(switch,),
)
def sum_of_switches(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """switch(c, x, 0) + switch(c, 0, y) -> switch(c, x, y), and so for all sums in which each branch has a zero."""
    first, second_ = (v.owner for v in node.inputs)
    if not applies(first, switch) or not applies(second_, switch):
        return None
    if first.inputs[0] is not second_.inputs[0] or any(len(fgraph.clients[v]) > 1 for v in node.inputs):
        return None
    out = node.outputs[0]
    branches = []
    for a, b in zip(first.inputs[1:], second_.inputs[1:], strict=True):
        if _is_zero(b):
            branches.append(cast(a, out.dtype))
        elif _is_zero(a):
            branches.append(neg(cast(b, out.dtype)) if node.op == sub else cast(b, out.dtype))
        else:
            return None
    return broadcast_like(fgraph, out, switch(first.inputs[0], *branches), node.inputs)


# Extrema


def _bound(op: Op, dtype: np.dtype) -> float:
    """Return the number that an extremum with it does not change."""
    if dtype.kind == "f":
        return -np.inf if op == maximum else np.inf
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return info.min if op == maximum else info.max
    return op == minimum


@RULES.rule(EARLY_AND_LATE, maximum, minimum, tags=BOTH, needs_graph=True)
def extremum_with_bound(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """maximum(x, smallest number) -> x, maximum(x, 0) -> x where x is 0 or more for certain, and so for minimum."""
    out = node.outputs[0]
    for c, var in (node.inputs, node.inputs[::-1]):
        value = constant_value(c)
        kind = var.type
        if value is None or kind_of(out) == "c" or kind.dtype != out.dtype:
            continue
        is_low = value < 0 or (value == 0 and math.copysign(1, value) > 0)
        if value == _bound(node.op, kind.numpy_dtype) or (node.op == maximum and is_low and is_nonnegative(var)):
            return broadcast_like(fgraph, out, var, [c])
        if node.op == minimum and value == 0 and kind_of(var) == "u":
            return broadcast_like(fgraph, out, full_like(var, 0), [c])
    return None


@RULES.rule(
    EARLY_AND_LATE, maximum, minimum, tags=BOTH, needs_graph=True, differs="in which of two zeros of both signs it is"
)
def extremum_in_extremum(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """maximum(maximum(x, y), y) -> maximum(x, y), maximum(maximum(x, 1), 2) -> maximum(x, 2), and so for minimum."""
    out = node.outputs[0]
    if kind_of(out) == "c":
        return None
    for inner_var, other in (node.inputs, node.inputs[::-1]):
        inner = inner_var.owner
        if inner is None or inner.op != node.op or getattr(inner_var, "dtype", "") != out.dtype:
            continue
        if other in inner.inputs:
            return cast_like(out, inner_var)
        outer_value = constant_value(other)
        for c, var in (inner.inputs, inner.inputs[::-1]):
            value = constant_value(c)
            if value is None or outer_value is None:
                continue
            picked = max(value, outer_value) if node.op == maximum else min(value, outer_value)
            if math.isnan(picked) or math.isnan(value) or math.isnan(outer_value):
                continue
            return broadcast_like(fgraph, out, node.op(var, constant(picked, dtype=out.dtype)), [c, other])
    return None


@RULES.rule(EARLY_AND_LATE, maximum, minimum, clip, tags=BOTH, needs_graph=True)
def extremum_of_opposite(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """minimum(maximum(x, a), b) -> b, for constants b <= a and integers, and so the other way round, and for clip.

    Of floats only where the bounds are equal does nothing change but NaN, which must stay.
    """
    out = node.outputs[0]
    if node.op == clip:
        lower, upper = map(constant_value, node.inputs[1:])
        if lower is None or upper is None or lower < upper or kind_of(out) not in "iu":
            return None
        return broadcast_like(fgraph, out, constant(upper, dtype=out.dtype), node.inputs)
    opposite = minimum if node.op == maximum else maximum
    for inner_var, other in (node.inputs, node.inputs[::-1]):
        inner = inner_var.owner
        outer_value = constant_value(other)
        if inner is None or inner.op != opposite or outer_value is None or kind_of(out) not in "iu":
            continue
        value = constant_value(inner.inputs[1])
        value = constant_value(inner.inputs[0]) if value is None else value
        if value is None:
            continue
        if value >= outer_value if node.op == minimum else value <= outer_value:
            return broadcast_like(fgraph, out, constant(outer_value, dtype=out.dtype), node.inputs)
    return None


@RULES.rule(EARLY_AND_LATE, Elemwise, tags=BOTH, needs_graph=True, below=(switch,))
def choice_of_same(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """f(switch(c, x, y), switch(c, z, w)) -> switch(c, f(x, z), f(y, w)), where both are constant in each branch."""
    # Values that are spread over a shape would be spread again.
    if function_of(node) is None or len(node.inputs) != 2 or applies(node, second):
        return None
    first, second_ = (v.owner for v in node.inputs)
    if not applies(first, switch) or not applies(second_, switch):
        return None
    branches = [*first.inputs[1:], *second_.inputs[1:]]
    if first.inputs[0] is not second_.inputs[0] or not all(isinstance(v, Constant) for v in branches):
        return None
    # In the dtypes of the switches, as written.
    dtypes = [getattr(v, "dtype", "") for v in node.inputs for _ in range(2)]
    branches = [cast(v, dtype) for v, dtype in zip(branches, dtypes, strict=True)]
    choice = switch(first.inputs[0], node.op(branches[0], branches[2]), node.op(branches[1], branches[3]))
    return broadcast_like(fgraph, node.outputs[0], choice, node.inputs)
