"""Functions that undo each other.

Where the inner function is defined on a part of the numbers only, what is outside stays NaN. A result may be finite
where the inner function, computed as written, overflows.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import abs_, neg
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import ge, le, neq
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.exponential import (
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
from treadle.tensor.elementwise.logic import invert, logical_not
from treadle.tensor.elementwise.rounding import ceil, floor, round_half_away_from_zero, round_half_to_even, trunc
from treadle.tensor.elementwise.scalar_op import SCALAR_OPS, ScalarOp
from treadle.tensor.elementwise.trigonometric import (
    arccosh,
    arcsinh,
    arctanh,
    cosh,
    deg2rad,
    rad2deg,
    sinh,
    tanh,
)
from treadle.tensor.rewrites.analysis.patterns import (
    BOTH,
    EARLY_AND_LATE,
    TensorPattern,
    is_commutative,
    is_number,
    is_real,
    is_signed,
)
from treadle.tensor.rewrites.analysis.predicates import (
    applies,
    constant_value,
    function_of,
    is_nonnegative,
    kind_of,
    with_trait,
)
from treadle.tensor.rewrites.analysis.replacements import cast_like

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

RULES = RuleSet("inverse", is_commutative=is_commutative, value_of=constant_value)
NAN = float("nan")

x = TensorPattern("x")


_UNDONE = "where the inner function, as computed, leaves the range, loses digits or drops the sign of a zero"


_law = partial(RULES.law, phase=EARLY_AND_LATE, when=is_real, tags=BOTH)
_undoing = partial(_law, before=("function_undone",), differs=_UNDONE)

# Exact.
_law("negative_of_negative", neg(neg(x)), x, when=None)
_law("invert_of_invert", invert(invert(x)), x, when=None)
_law("inverse_of_not", invert(logical_not(x)), neq(x, 0), when=None)


def _where_nonnegative(value: TensorVariable, var: TensorVariable) -> TensorVariable:
    """Return a value where a variable is 0 or more, otherwise NaN."""
    return value if is_nonnegative(var) else switch(ge(var, 0), value, NAN)


def _itself_if_nonnegative(node: TensorNode, match: Mapping[str, TensorVariable]) -> TensorVariable:
    """Where x >= 0 x, elsewhere NaN."""
    return _where_nonnegative(match["x"], match["x"])


def _x_minus_one_if_nonnegative(node: TensorNode, match: Mapping[str, TensorVariable]) -> TensorVariable:
    """Where x >= 0 x - 1, elsewhere NaN."""
    return _where_nonnegative(match["x"] - 1, match["x"])


def _inverse_of(f: Elemwise) -> None:
    """Declare g(f(x)) -> x for the inverse of a function, where x is in its domain; NaN elsewhere."""
    inner: ScalarOp = f.scalar_op  # type: ignore[assignment]  # a single function
    outer = SCALAR_OPS[str(inner.inverse)]
    low, high = inner.domain
    inside: Any = x
    if low == 0:
        inside = _itself_if_nonnegative
    elif high == -low != math.inf:
        inside = switch(le(abs_(x), high), x, NAN)
    elif low != -math.inf:
        inside = switch(ge(x, low), x, NAN)
    _undoing(f"{outer.name}_of_{inner.name}", Elemwise(outer)(f(x)), inside)


for _function in (reciprocal, sinh, arcsinh, tanh, exp2, rad2deg, deg2rad, log, log2, sqrt, log1p, arccosh, arctanh):
    _inverse_of(_function)

_undoing("arccosh_of_cosh", arccosh(cosh(x)), abs_(x))
_undoing("sqrt_of_sqr", sqrt(sqr(x)), abs_(x))
_undoing("exp_of_softplus", exp(softplus(x)), 1 + exp(x))
_undoing("expm1_of_softplus", expm1(softplus(x)), exp(x))
_undoing("expm1_of_log", expm1(log(x)), _x_minus_one_if_nonnegative)
_undoing("exp_of_log1p", exp(log1p(x)), switch(ge(x, -1), 1 + x, NAN))
_undoing("exp_of_log1mexp", exp(log1mexp(x)), switch(le(x, 0), -expm1(x), NAN))
_undoing("sigmoid_of_logit", sigmoid(log(x / (1 - x))), switch(le(abs_(x - 0.5), 0.5), x, NAN))


# Twice is once.
_law("square_of_abs", sqr(abs_(x)), sqr(x), when=is_number)
_law("square_of_negative", sqr(-x), sqr(x), when=None)
_law("abs_of_negative", abs_(-x), abs_(x), when=is_signed)


@RULES.rule(EARLY_AND_LATE, abs_, tags=BOTH)
def abs_of_nonnegative(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """abs(x) -> x, where x is 0 or more for certain."""
    return node.inputs[0] if is_nonnegative(node.inputs[0]) else None


@RULES.rule(EARLY_AND_LATE, Elemwise, tags=BOTH, below=(with_trait(idempotent=True),))
def idempotent_twice(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """f(f(x)) -> f(x) where the function is idempotent."""
    function, inner = function_of(node), node.inputs[0].owner
    if function is None or not function.idempotent or inner is None or inner.op != node.op:
        return None
    return node.inputs[0]


# After the laws of single functions, some of which are stable forms.
@RULES.rule(Phase.SPECIALIZE, Elemwise, tags=BOTH, differs=_UNDONE, below=(with_trait(inverse=str),))
def function_undone(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """g(f(x)) -> x where g is the inverse of f, and x is in the domain of f; NaN elsewhere."""
    inner = node.inputs[0].owner
    function, outer = function_of(inner), function_of(node)
    if inner is None or function is None or outer is None or function.inverse != outer.name:
        return None
    x, out = inner.inputs[0], node.outputs[0]
    if kind_of(out) != "f" or not x.dtype == node.inputs[0].dtype == out.dtype:
        return None
    return cast_like(out, _where_defined(function, x))


def _where_defined(function: ScalarOp, x: TensorVariable) -> TensorVariable:
    """Return x where it is in the domain of a function, otherwise NaN."""
    low, high = function.domain
    if math.isinf(low) and math.isinf(high):
        return x
    if math.isinf(high):
        return _where_nonnegative(x, x) if low == 0 else switch(ge(x, low), x, NAN)
    if math.isinf(low):
        return switch(le(x, high), x, NAN)
    middle = (low + high) / 2
    return switch(le(abs_(x - middle if middle else x), (high - low) / 2), x, NAN)


@RULES.rule(EARLY_AND_LATE, Elemwise, tags=BOTH, below=(neg, abs_))
def even_function(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """f(-x) -> f(x), and f(abs(x)) -> f(x), for a function that is even in that operand."""
    function = function_of(node)
    if function is None or function.parity in {None, "odd"}:
        return None
    operands = list(node.inputs)
    for at, var in enumerate(node.inputs):
        # The negative of an unsigned integer has wrapped around.
        if applies(var.owner, neg, abs_) and kind_of(var.owner.inputs[0]) in "if":
            is_even = function.sign_of([k == at for k in range(function.nin)]) == 1
            operands[at] = var.owner.inputs[0] if is_even else var
    changed = any(new is not old for new, old in zip(operands, node.inputs, strict=True))
    return cast_like(node.outputs[0], node.op(*operands)) if changed else None


@RULES.rule(EARLY_AND_LATE, ceil, floor, trunc, round_half_to_even, round_half_away_from_zero, tags=BOTH, depth=1)
def rounding_of_integer(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """round(i) -> i, for the rounding functions and integers."""
    i = node.inputs[0]
    return i if i.type == node.outputs[0].type and kind_of(i) in "iu" else None
