"""Rules for sums, products, powers, signs, logic and choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.broadcasting import ones_like, zeros_like
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.rewrites.lengths import LengthTable, same_lengths, table_of
from treadle.tensor.rewrites.patterns import (
    TensorPattern,
    constant_value,
    is_commutative,
    is_integer,
    is_not_complex,
    is_real,
    keeps_dtype,
)
from treadle.tensor.scalar.arithmetic import abs_, maximum, minimum, neg
from treadle.tensor.scalar.cast import second, switch
from treadle.tensor.scalar.exponential import reciprocal, sqr
from treadle.tensor.scalar.logic import bitwise_and, bitwise_or, invert, logical_not

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import Apply, FunctionGraph, Variable

RULES = RuleSet("arithmetic", is_commutative=is_commutative, value_of=constant_value, features=(LengthTable,))
# Constants of floats are folded late, so that laws about numbers are wanted then too.
EARLY_AND_LATE = (Phase.CANONICALIZE, Phase.SPECIALIZE)
BOTH = ("fast_run", "fast_compile")

x, y, c = TensorPattern("x"), TensorPattern("y"), TensorPattern("c")


def _law(name: str, lhs: Any, rhs: Any, when: Any = None) -> None:
    RULES.law(name, lhs, rhs, phase=EARLY_AND_LATE, when=when, tags=BOTH)


# Neutral operands. A sum with a zero may keep the sign of a negative zero that IEEE addition would drop.
_law("sum_with_zero", x + 0, x)
_law("sum_with_negative_zero", x + -0.0, x)
_law("difference_with_zero", x - 0, x)
_law("zero_minus", 0 - x, neg(x), when=is_integer)
_law("product_with_one", x * 1, x)
_law("product_with_minus_one", x * -1, neg(x), when=keeps_dtype)
_law("quotient_by_one", x / 1, x)
_law("quotient_by_minus_one", x / -1, neg(x), when=keeps_dtype)

# Signs.
_law("negative_of_negative", neg(neg(x)), x)
_law("sum_with_negative", x + -y, x - y)
_law("difference_with_negative", x - -y, x + y)
_law("product_of_negatives", (-x) * (-y), x * y)
_law("quotient_of_negatives", (-x) / (-y), x / y)
_law("abs_of_negative", abs_(-x), abs_(x), when=is_not_complex)
_law("square_of_negative", sqr(-x), sqr(x))
_law("square_of_abs", sqr(abs_(x)), sqr(x), when=is_not_complex)

# Powers. x**0.5 stays: at minus infinity and at negative zero C and NumPy do not agree on it.
_law("power_one", x**1, x)
_law("power_two", x**2, sqr(x), when=is_not_complex)
_law("power_minus_one", x**-1, reciprocal(x), when=is_real)
_law("product_with_itself", x * x, sqr(x), when=is_not_complex)


def _ones(node: Apply, match: Mapping[str, Variable]) -> Variable:
    del node
    return ones_like(match["x"])


def _zeros(node: Apply, match: Mapping[str, Variable]) -> Variable:
    del node
    return zeros_like(match["x"])


# NumPy: anything to the power of 0 is 1, a NaN too.
_law("power_zero", x**0, _ones, when=is_not_complex)
# Of floats these would lose NaN and infinity.
_law("difference_with_itself", x - x, _zeros, when=is_integer)
_law("product_with_zero", x * 0, _zeros, when=is_integer)

# Logic and extrema.
_law("invert_of_invert", invert(invert(x)), x)
_law("not_of_not", logical_not(logical_not(x)), x)
_law("and_with_itself", bitwise_and(x, x), x)
_law("or_with_itself", bitwise_or(x, x), x)
_law("maximum_with_itself", maximum(x, x), x)
_law("minimum_with_itself", minimum(x, x), x)


@RULES.rule(EARLY_AND_LATE, Elemwise, tags=BOTH)
def idempotent_twice(node: Apply) -> Variable | None:
    """f(f(x)) -> f(x) where the function's row says that it is idempotent."""
    op: Any = node.op
    inner = node.inputs[0].owner
    if not getattr(op.scalar_op, "idempotent", False) or inner is None or inner.op != op:
        return None
    return node.inputs[0]


@RULES.rule(EARLY_AND_LATE, switch, tags=BOTH, needs_graph=True)
def switch_of_constant(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """switch(constant, x, y) -> x or y, broadcast to the other's shape."""
    value = constant_value(node.inputs[0])
    condition: Any = node.inputs[0].type
    if value is None or any(n != 1 for n in condition.shape):
        return None
    chosen, other = (node.inputs[1], node.inputs[2]) if value else (node.inputs[2], node.inputs[1])
    return _broadcast_like(fgraph, node, chosen, other)


@RULES.rule(EARLY_AND_LATE, switch, tags=BOTH, needs_graph=True)
def switch_of_same(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """switch(c, x, x) -> x, broadcast to the condition's shape."""
    condition, yes, no = node.inputs
    if yes is not no and not (isinstance(yes, Constant) and yes.equals(no)):
        return None
    return _broadcast_like(fgraph, node, yes, condition)


def _broadcast_like(fgraph: FunctionGraph, node: Apply, chosen: Any, other: Any) -> Variable | None:
    """Return one operand of a node in the node's dtype, and in its shape, which the other operand may widen."""
    out: Any = node.outputs[0]
    value = chosen.astype(out.dtype)
    if same_lengths(table_of(fgraph), chosen, out):
        return value if out.type.is_super(value.type) else None
    result: Variable = second(other, value)
    return result if out.type.is_super(result.type) else None
