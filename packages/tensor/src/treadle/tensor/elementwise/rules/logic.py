"""Rules for bitwise and logical functions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.rewrite import RuleSet
from treadle.tensor.elementwise.comparison import eq, ge, gt, le, lt, neq
from treadle.tensor.elementwise.logic import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    invert,
    left_shift,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    right_shift,
)
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE, TensorPattern, is_commutative, keeps_dtype
from treadle.tensor.rewrites.analysis.predicates import constant_value, kind_of, negation_of
from treadle.tensor.rewrites.analysis.replacements import broadcast_like, cast_like
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.broadcasting import full_like, zeros_like

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import FunctionGraph
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

RULES = RuleSet("logic", is_commutative=is_commutative, value_of=constant_value, features=(SymbolicShapes,))

x, y = TensorPattern("x"), TensorPattern("y")


_law = partial(RULES.law, phase=EARLY_AND_LATE, tags=BOTH)


def _zeros(node: TensorNode, match: Mapping[str, TensorVariable]) -> TensorVariable:
    """Zeros of the result's dtype."""
    out = node.outputs[0]
    return zeros_like(match["x"], out.dtype)


def _all_bits(node: TensorNode, match: Mapping[str, TensorVariable]) -> TensorVariable:
    """All bits set, in the result's dtype."""
    out = node.outputs[0]
    kind = out.type.numpy_dtype
    return full_like(
        match["x"], True if kind.kind == "b" else -1 if kind.kind == "i" else np.iinfo(kind).max, out.dtype
    )


_law("and_with_itself", bitwise_and(x, x), x)
_law("or_with_itself", bitwise_or(x, x), x)
_law("xor_with_itself", bitwise_xor(x, x), _zeros)
_law("and_with_inverse", bitwise_and(x, invert(x)), _zeros)
_law("or_with_inverse", bitwise_or(x, invert(x)), _all_bits)
_law("and_of_inverses", bitwise_and(invert(x), invert(y)), invert(bitwise_or(x, y)), when=keeps_dtype)
_law("or_of_inverses", bitwise_or(invert(x), invert(y)), invert(bitwise_and(x, y)), when=keeps_dtype)
_law("xor_of_inverses", bitwise_xor(invert(x), invert(y)), bitwise_xor(x, y), when=keeps_dtype)

# What is equal is not unequal, a NaN too. Of floats that are not less, some are not greater or equal either: NaN.


def _compares_integers(node: TensorNode, match: Mapping[str, TensorVariable]) -> bool:
    """Whether the operands of a comparison cannot be NaN."""
    return all(kind_of(v) in "biu" for v in match.values())


for _not in (logical_not, invert):
    _prefix = "not" if _not is logical_not else "inverse"
    for _of, _comparison in {
        "equal": eq, "unequal": neq, "less": lt, "less_or_equal": le, "greater": gt, "greater_or_equal": ge,
    }.items():  # fmt: skip
        _law(
            f"{_prefix}_of_{_of}", _not(_comparison(x, y)), negation_of(_comparison)(x, y),
            when=None if _comparison in {eq, neq} else _compares_integers,
        )  # fmt: skip


def _with_constant(node: TensorNode) -> tuple[Any, Any]:
    """Return the operand that is not constant, and the number that the other holds; None for no such number."""
    a, b = node.inputs
    for c, other in ((b, a), (a, b)):
        value = constant_value(c)
        if value is not None:
            return other, value
    return None, None


def _is_full(value: float, var: TensorVariable) -> bool:
    """Whether a number has all bits of a dtype set."""
    dtype = var.type.numpy_dtype
    if dtype.kind == "b":
        return bool(value)
    return bool(int(value) == (-1 if dtype.kind == "i" else int(np.iinfo(dtype).max)))


@RULES.rule(EARLY_AND_LATE, bitwise_and, bitwise_or, bitwise_xor, tags=BOTH, needs_graph=True, depth=1)
def bits_with_constant(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(x & 0) -> 0, (x & -1) -> x, (x | 0) -> x, (x | -1) -> -1, (x ^ 0) -> x, (x ^ -1) -> ~x, and so for bool."""
    var, value = _with_constant(node)
    out = node.outputs[0]
    if var is None or var.dtype != out.dtype:
        return None
    full = _is_full(value, var)
    if not full and value != 0:
        return None
    if node.op == bitwise_xor:
        result = invert(var) if full else var
    elif full is (node.op == bitwise_and):
        result = var
    else:
        result = full_like(var, value)
    return broadcast_like(fgraph, out, result, node.inputs)


@RULES.rule(EARLY_AND_LATE, logical_and, logical_or, logical_xor, tags=BOTH, needs_graph=True, depth=1)
def logic_with_constant(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(x and False) -> False, x and True -> x, x or True -> True, x or False -> x, x xor c -> x or its inverse."""
    var, value = _with_constant(node)
    if var is None:
        return None
    holds = var if var.dtype == "bool" else neq(var, 0)
    if node.op == logical_xor:
        result = logical_not(var) if value else holds
    elif bool(value) is (node.op == logical_and):
        result = holds
    else:
        result = full_like(var, bool(value), "bool")
    return broadcast_like(fgraph, node.outputs[0], result, node.inputs)


@RULES.rule(EARLY_AND_LATE, logical_and, logical_or, tags=BOTH, depth=1)
def logic_with_itself(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(x and x) -> x, (x or x) -> x, as bool."""
    a = node.inputs[0]
    if a is not node.inputs[1]:
        return None
    return cast_like(node.outputs[0], a if kind_of(a) == "b" else neq(a, 0))


@RULES.rule(EARLY_AND_LATE, logical_and, logical_or, logical_xor, tags=BOTH, depth=1)
def logic_of_bools(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(x and y) -> x & y, x or y -> x | y, x xor y -> x ^ y, for bool."""
    if any(kind_of(v) != "b" for v in node.inputs):
        return None
    op = node.op
    bitwise = {logical_and: bitwise_and, logical_or: bitwise_or, logical_xor: bitwise_xor}[op]
    return cast_like(node.outputs[0], bitwise(*node.inputs))


@RULES.rule(EARLY_AND_LATE, logical_not, tags=BOTH, depth=1)
def not_of_bool(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """Not x -> ~x, for bool."""
    return invert(node.inputs[0]) if kind_of(node.inputs[0]) == "b" else None


@RULES.rule(EARLY_AND_LATE, left_shift, right_shift, tags=BOTH, depth=1)
def shift_by_zero(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(x << 0) -> x, x >> 0 -> x."""
    return cast_like(node.outputs[0], node.inputs[0]) if constant_value(node.inputs[1]) == 0 else None
