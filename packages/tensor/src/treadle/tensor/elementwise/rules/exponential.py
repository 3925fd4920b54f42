"""Stable forms of exponentials and logarithms.

Each law holds for real numbers; the right side is as exact where the left side overflows, underflows or cancels. So a
result may be finite where the left side, computed as written, is infinite or not a number.

These rules carry the tag ``minimum_compile``: every mode runs them, also one that asks for no rewrites. Sums and
products of several exponentials, and what gradients leave of them, are the matter of `logistic` and `logarithms`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import add, neg, sub
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.exponential import (
    exp,
    expm1,
    log,
    log1mexp,
    log1p,
    reciprocal,
    sigmoid,
    softplus,
    sqr,
)
from treadle.tensor.rewrites.analysis.patterns import EVERY_MODE, TensorPattern, is_commutative, is_real
from treadle.tensor.rewrites.analysis.predicates import applies, constant_value, kind_of
from treadle.tensor.rewrites.analysis.replacements import cast_like

if TYPE_CHECKING:
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("exponential", is_commutative=is_commutative, value_of=constant_value)
x, y, c = (TensorPattern(name) for name in "xyc")


STABLE = "where an intermediate value overflows, underflows, cancels or is infinite"


_exact = partial(RULES.law, phase=Phase.STABILIZE, when=is_real, tags=EVERY_MODE)
_stable = partial(_exact, differs=STABLE)

# Signs are taken out of products, so that the other laws meet what they are about.
_exact("stable_negative_of_negative", neg(neg(x)), x)
_exact("stable_product_with_negative", -x * y, -(x * y))
_exact("stable_quotient_of_negative", -x / y, -(x / y))
_exact("stable_sum_with_negative", x + -y, x - y)

# Logarithms.
_stable("log_of_exp", log(exp(x)), x)
_stable("log_of_one_plus_exp", log(1 + exp(x)), softplus(x))
_stable("log_of_minus_expm1", log(-expm1(x)), log1mexp(x))
_stable("log_of_expm1", log(expm1(x)), x + log1mexp(-x))
_stable("log_of_sigmoid", log(sigmoid(x)), -softplus(-x))
_stable("log_of_one_plus", log(1 + x), log1p(x))
_stable("log_of_one_minus", log(1 - x), log1p(-x))
_stable("log_of_product_with_exp", log(x * exp(y)), log(x) + y)
_stable("log_of_quotient_by_exp", log(x / exp(y)), log(x) - y)
_stable("log_of_exp_over", log(exp(y) / x), y - log(x))
_stable("log_of_product_with_sigmoid", log(x * sigmoid(y)), log(x) - softplus(-y))
_stable("log_of_quotient_by_sigmoid", log(x / sigmoid(y)), log(x) + softplus(-y))
_stable("log1p_of_exp", log1p(exp(x)), softplus(x))
_stable("log1p_of_minus_exp", log1p(-exp(x)), log1mexp(x))
_stable("log1p_of_minus_sigmoid", log1p(-sigmoid(x)), -softplus(x))
_stable("log1p_of_expm1", log1p(expm1(x)), x)
_stable("softplus_minus_argument", softplus(x) - x, softplus(-x))
_stable("argument_minus_softplus", x - softplus(x), -softplus(-x))

# Exponentials.
_stable("exp_minus_one", exp(x) - 1, expm1(x))
_stable("exp_plus_minus_one", exp(x) + -1, expm1(x))
_stable("one_minus_exp", 1 - exp(x), -expm1(x))
_stable("one_minus_sigmoid", 1 - sigmoid(x), sigmoid(-x))
_stable("sigmoid_minus_its_square", sigmoid(x) - sqr(sigmoid(x)), sigmoid(x) * sigmoid(-x))
_stable("scaled_sigmoid_minus_its_square", c * sigmoid(x) - c * sqr(sigmoid(x)), c * (sigmoid(x) * sigmoid(-x)))
_stable("exp_of_minus_softplus", exp(-softplus(x)), sigmoid(-x))

# Quotients. A quotient by 1 + exp(x) is a product with a sigmoid.
_stable("reciprocal_of_one_plus_exp", reciprocal(1 + exp(x)), sigmoid(-x))
_stable("one_over_one_plus_exp", 1 / (1 + exp(x)), sigmoid(-x))
_stable("quotient_by_one_plus_exp", c / (1 + exp(x)), c * sigmoid(-x))
_stable("exp_over_expm1", exp(x) / expm1(x), reciprocal(-expm1(-x)))
_stable("quotient_by_expm1_times_exp", (c / expm1(x)) * exp(x), c / -expm1(-x))


# A list, not a trait: the functions in sums with a number that laws of stable forms are about.
_IN_SUMS = (exp, expm1, sigmoid, softplus, log1p, log)


@RULES.rule(
    Phase.STABILIZE,
    add,
    sub,
    tags=EVERY_MODE,
    differs="by the digits, and the range, of the narrower dtype",
    below=_IN_SUMS,
)
def exponential_in_wider_sum(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """1 + exp(x) -> 1 + exp(cast(x)), where the sum is of a wider dtype than x: the laws of stable forms see it."""
    out = node.outputs[0]
    if kind_of(out) != "f" or all(constant_value(v) is None for v in node.inputs):
        return None
    operands = list(node.inputs)
    for i, operand in enumerate(operands):
        inner = operand.owner
        if applies(inner, *_IN_SUMS) and kind_of(operand) == "f" and operand.dtype != out.dtype:
            operands[i] = inner.op(cast(inner.inputs[0], out.dtype))
    if all(new is old for new, old in zip(operands, node.inputs, strict=True)):
        return None
    return cast_like(out, node.op(*operands))


@RULES.rule(Phase.STABILIZE, exp, sigmoid, log, tags=EVERY_MODE, depth=1)
def exponential_of_integer(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """exp(i) -> exp(cast(i)), for integers and bool: the laws of stable forms see it."""
    out = node.outputs[0]
    if kind_of(node.inputs[0]) not in "biu" or kind_of(out) != "f":
        return None
    return cast_like(out, node.op(cast(node.inputs[0], out.dtype)))
