"""Functions that undo each other.

Where the inner function is defined on a part of the numbers only, what is outside stays NaN. A result may be finite
where the inner function, computed as written, overflows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import RuleSet
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.rewrites.analysis.patterns import (
    BOTH,
    EARLY_AND_LATE,
    TensorPattern,
    is_commutative,
    is_number,
    is_real,
    is_signed,
)
from treadle.tensor.rewrites.analysis.predicates import constant_value, is_nonnegative, scalar_name
from treadle.tensor.scalar.arithmetic import abs_, neg
from treadle.tensor.scalar.cast import switch
from treadle.tensor.scalar.comparison import ge, le, neq
from treadle.tensor.scalar.exponential import (
    exp,
    exp2,
    expm1,
    log,
    log1mexp,
    log1p,
    log2,
    reciprocal,
    sigmoid,
    softplus,
    sqr,
    sqrt,
)
from treadle.tensor.scalar.logic import invert, logical_not
from treadle.tensor.scalar.trigonometric import (
    arccosh,
    arcsinh,
    arctanh,
    cosh,
    deg2rad,
    rad2deg,
    sinh,
    tanh,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variable import TensorNode, TensorVariable

RULES = RuleSet("inverse", is_commutative=is_commutative, value_of=constant_value)
NAN = float("nan")

x = TensorPattern("x")


_UNDONE = "where the inner function, as computed, leaves the range, loses digits or drops the sign of a zero"


def _law(name: str, lhs: Any, rhs: Any, when: Any = is_real, differs: str = "") -> None:
    RULES.law(name, lhs, rhs, phase=EARLY_AND_LATE, when=when, tags=BOTH, differs=differs)


def _undoing(name: str, lhs: Any, rhs: Any) -> None:
    _law(name, lhs, rhs, differs=_UNDONE)


# Exact.
_law("negative_of_negative", neg(neg(x)), x, when=None)
_law("invert_of_invert", invert(invert(x)), x, when=None)
_law("inverse_of_not", invert(logical_not(x)), neq(x, 0), when=None)

# Defined everywhere.
_undoing("reciprocal_of_reciprocal", reciprocal(reciprocal(x)), x)
_undoing("arcsinh_of_sinh", arcsinh(sinh(x)), x)
_undoing("sinh_of_arcsinh", sinh(arcsinh(x)), x)
_undoing("arccosh_of_cosh", arccosh(cosh(x)), abs_(x))
_undoing("arctanh_of_tanh", arctanh(tanh(x)), x)
_undoing("log2_of_exp2", log2(exp2(x)), x)
_undoing("deg2rad_of_rad2deg", deg2rad(rad2deg(x)), x)
_undoing("rad2deg_of_deg2rad", rad2deg(deg2rad(x)), x)
_undoing("sqrt_of_sqr", sqrt(sqr(x)), abs_(x))
_undoing("exp_of_softplus", exp(softplus(x)), 1 + exp(x))
_undoing("expm1_of_softplus", expm1(softplus(x)), exp(x))


# Defined on a part of the numbers.
def _where_nonnegative(value: Any, var: Any) -> TensorVariable:
    """Return a value where a variable is 0 or more, otherwise NaN."""
    result: TensorVariable = value if is_nonnegative(var) else switch(ge(var, 0), value, NAN)
    return result


def _itself_if_nonnegative(node: TensorNode, match: Mapping[str, TensorVariable]) -> TensorVariable:
    """The argument where it is 0 or more, else NaN."""
    del node
    return _where_nonnegative(match["x"], match["x"])


def _x_minus_one_if_nonnegative(node: TensorNode, match: Mapping[str, TensorVariable]) -> TensorVariable:
    """The argument less 1 where it is 0 or more, else NaN."""
    del node
    var: Any = match["x"]
    return _where_nonnegative(var - 1, var)


_undoing("exp_of_log", exp(log(x)), _itself_if_nonnegative)
_undoing("exp2_of_log2", exp2(log2(x)), _itself_if_nonnegative)
_undoing("sqr_of_sqrt", sqr(sqrt(x)), _itself_if_nonnegative)
_undoing("expm1_of_log", expm1(log(x)), _x_minus_one_if_nonnegative)
_undoing("exp_of_log1p", exp(log1p(x)), switch(ge(x, -1), 1 + x, NAN))
_undoing("expm1_of_log1p", expm1(log1p(x)), switch(ge(x, -1), x, NAN))
_undoing("exp_of_log1mexp", exp(log1mexp(x)), switch(le(x, 0), -expm1(x), NAN))
_undoing("cosh_of_arccosh", cosh(arccosh(x)), switch(ge(x, 1), x, NAN))
_undoing("tanh_of_arctanh", tanh(arctanh(x)), switch(le(abs_(x), 1), x, NAN))
_undoing("sigmoid_of_logit", sigmoid(log(x / (1 - x))), switch(le(abs_(x - 0.5), 0.5), x, NAN))


# Twice is once.
_law("square_of_abs", sqr(abs_(x)), sqr(x), when=is_number)
_law("square_of_negative", sqr(-x), sqr(x), when=None)
_law("abs_of_negative", abs_(-x), abs_(x), when=is_signed)


@RULES.rule(EARLY_AND_LATE, abs_, tags=BOTH)
def abs_of_nonnegative(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """abs(x) -> x, where x is 0 or more for certain."""
    return node.inputs[0] if is_nonnegative(node.inputs[0]) else None


@RULES.rule(EARLY_AND_LATE, Elemwise, tags=BOTH)
def idempotent_twice(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """f(f(x)) -> f(x) where the function's row says that it is idempotent."""
    op = node.op
    inner = node.inputs[0].owner
    if not getattr(op.scalar_op, "idempotent", False) or inner is None or inner.op != op:
        return None
    return node.inputs[0]


@RULES.rule(EARLY_AND_LATE, Elemwise, tags=BOTH, depth=1)
def rounding_of_integer(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """round(i) -> i, for the rounding functions and integers."""
    if scalar_name(node) not in _ROUNDING:
        return None
    i, out = node.inputs[0].type, node.outputs[0].type
    return node.inputs[0] if i == out and getattr(i, "numpy_dtype", None) is not None and _is_integer(i) else None


_ROUNDING = frozenset({"ceil", "floor", "trunc", "round_half_to_even", "round_half_away_from_zero"})


def _is_integer(kind: Any) -> bool:
    return kind.numpy_dtype.kind in "iu"
