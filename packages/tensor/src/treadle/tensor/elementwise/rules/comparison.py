"""Rules for comparisons and predicates whose outcome is known."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from treadle.rewrite import RuleSet
from treadle.tensor.elementwise.comparison import (
    eq,
    ge,
    gt,
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
    le,
    lt,
    neq,
)
from treadle.tensor.elementwise.logic import logical_not
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE, TensorPattern, is_commutative
from treadle.tensor.rewrites.analysis.predicates import constant_value, converse_of, is_nonnegative, kind_of
from treadle.tensor.rewrites.analysis.replacements import broadcast_like
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.broadcasting import full_like, ones_like, zeros_like

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import FunctionGraph
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

RULES = RuleSet("comparison", is_commutative=is_commutative, value_of=constant_value, features=(SymbolicShapes,))
COMPARISONS = (eq, neq, lt, le, gt, ge)

x = TensorPattern("x")


_law = partial(RULES.law, phase=EARLY_AND_LATE, tags=BOTH)


def _always(node: TensorNode, match: Mapping[str, TensorVariable]) -> TensorVariable:
    """True everywhere."""
    return ones_like(match["x"], "bool")


def _never(node: TensorNode, match: Mapping[str, TensorVariable]) -> TensorVariable:
    """False everywhere."""
    return zeros_like(match["x"], "bool")


def _has_no_nan(node: TensorNode, match: Mapping[str, TensorVariable]) -> bool:
    """Whether the operands of a comparison cannot be NaN."""
    return kind_of(match["x"]) in "biu"


_law("less_than_itself", lt(x, x), _never)
_law("greater_than_itself", gt(x, x), _never)
_law("at_most_itself", le(x, x), _always, when=_has_no_nan)
_law("at_least_itself", ge(x, x), _always, when=_has_no_nan)
_law("equal_to_itself", eq(x, x), _always, when=_has_no_nan)
_law("unequal_to_itself", neq(x, x), _never, when=_has_no_nan)
_law("nan_among_integers", isnan(x), _never, when=_has_no_nan)
_law("infinity_among_integers", isinf(x), _never, when=_has_no_nan)
_law("plus_infinity_among_integers", isposinf(x), _never, when=_has_no_nan)
_law("minus_infinity_among_integers", isneginf(x), _never, when=_has_no_nan)
_law("finite_among_integers", isfinite(x), _always, when=_has_no_nan)


def _compared(node: NodeOf[Elemwise]) -> tuple[Elemwise, TensorVariable, float | None]:
    """Return the comparison with the constant on its right: the op, the left operand, the number; or no number."""
    a, b = node.inputs
    value = constant_value(b)
    if value is not None:
        return node.op, a, value
    return converse_of(node.op), b, constant_value(a)


@RULES.rule(EARLY_AND_LATE, *COMPARISONS, tags=BOTH, needs_graph=True)
def nonnegative_compared(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """abs(x) < 0 -> False, i >= 0 -> True, for what is 0 or more for certain.

    Certain are lengths, unsigned integers, exp and the like. Where there may be a NaN, only what is false for it too
    is decided.
    """
    op, var, value = _compared(node)
    # A NaN is neither more than 0 nor less: nothing is decided by it.
    if value is None or isinstance(value, complex) or not value <= 0 or not is_nonnegative(var):
        return None
    if value == 0:
        outcome = {lt: False, ge: True}.get(op)
    else:
        outcome = {lt: False, le: False, eq: False, gt: True, ge: True, neq: True}.get(op)
    if outcome is None or (outcome and kind_of(var) not in "biu"):
        return None
    return broadcast_like(fgraph, node.outputs[0], full_like(var, outcome, "bool"), node.inputs)


@RULES.rule(EARLY_AND_LATE, eq, neq, tags=BOTH, needs_graph=True)
def bool_compared(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(b == True) -> b, (b == False) -> not b, and so for !=."""
    op, var, value = _compared(node)
    if value is None or kind_of(var) != "b" or value not in {0, 1}:
        return None
    truth = var if (value == 1) is (op == eq) else logical_not(var)
    return broadcast_like(fgraph, node.outputs[0], truth, node.inputs)
