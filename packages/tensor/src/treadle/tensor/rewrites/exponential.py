"""Stable forms of exponentials and logarithms, and those of their gradients.

Each law holds for real numbers; the right side is as exact where the left side overflows, underflows or cancels. So a
result may be finite where the left side, computed as written, is infinite or not a number.
"""

from __future__ import annotations

from typing import Any

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.rewrites.patterns import TensorPattern, constant_value, is_commutative, is_real
from treadle.tensor.scalar.arithmetic import neg
from treadle.tensor.scalar.exponential import (
    exp,
    expm1,
    log,
    log1mexp,
    log1p,
    logaddexp,
    reciprocal,
    sigmoid,
    softplus,
)

RULES = RuleSet("exponential", is_commutative=is_commutative, value_of=constant_value)
x, y, c, d = (TensorPattern(name) for name in "xycd")


def _stable(name: str, lhs: Any, rhs: Any) -> None:
    RULES.law(name, lhs, rhs, phase=Phase.STABILIZE, when=is_real)


# Signs are taken out of products, so that the other laws meet what they are about.
_stable("stable_negative_of_negative", neg(neg(x)), x)
_stable("stable_product_with_negative", -x * y, -(x * y))
_stable("stable_quotient_of_negative", -x / y, -(x / y))

# Logarithms.
_stable("log_of_exp", log(exp(x)), x)
_stable("log_of_one_plus_exp", log(1 + exp(x)), softplus(x))
_stable("log_of_minus_expm1", log(-expm1(x)), log1mexp(x))
_stable("log_of_sigmoid", log(sigmoid(x)), -softplus(-x))
_stable("log_of_sum_of_exps", log(exp(x) + exp(y)), logaddexp(x, y))
_stable("log_of_one_plus", log(1 + x), log1p(x))
_stable("log_of_one_minus", log(1 - x), log1p(-x))
_stable("log1p_of_exp", log1p(exp(x)), softplus(x))
_stable("log1p_of_minus_exp", log1p(-exp(x)), log1mexp(x))
_stable("log1p_of_minus_sigmoid", log1p(-sigmoid(x)), -softplus(x))
_stable("log1p_of_expm1", log1p(expm1(x)), x)

# Exponentials.
_stable("exp_minus_one", exp(x) - 1, expm1(x))
_stable("one_minus_exp", 1 - exp(x), -expm1(x))
_stable("one_minus_sigmoid", 1 - sigmoid(x), sigmoid(-x))
_stable("exp_of_minus_softplus", exp(-softplus(x)), sigmoid(-x))

# Quotients. A quotient by 1 + exp(x) is a product with a sigmoid.
_stable("reciprocal_of_one_plus_exp", reciprocal(1 + exp(x)), sigmoid(-x))
_stable("one_over_one_plus_exp", 1 / (1 + exp(x)), sigmoid(-x))
_stable("exp_over_one_plus_exp", exp(x) / (1 + exp(x)), sigmoid(x))
_stable("quotient_by_one_plus_exp", c / (1 + exp(x)), c * sigmoid(-x))

# Products that gradients of the forms above leave: an overflowing factor meets one that vanishes.
_stable("sigmoid_times_exp", sigmoid(-x) * exp(x), sigmoid(x))
_stable("sigmoid_times_exp_of_minus", sigmoid(x) * exp(-x), sigmoid(-x))
_stable("scaled_sigmoid_times_exp", (c * sigmoid(-x)) * exp(x), c * sigmoid(x))
_stable("scaled_sigmoid_times_exp_of_minus", (c * sigmoid(x)) * exp(-x), c * sigmoid(-x))
_stable("gradient_of_log_sigmoid", (c / sigmoid(x)) * (sigmoid(x) * sigmoid(-x)), c * sigmoid(-x))
_stable("gradient_of_log_of_quotient", ((c / sigmoid(x)) * sigmoid(x)) * sigmoid(-x), c * sigmoid(-x))
_stable("gradient_of_minus_log_one_minus_sigmoid", (c / sigmoid(-x)) * (sigmoid(x) * sigmoid(-x)), c * sigmoid(x))
_stable(
    "gradient_of_cross_entropy",
    (c / sigmoid(x) - d / sigmoid(-x)) * (sigmoid(x) * sigmoid(-x)),
    c * sigmoid(-x) - d * sigmoid(x),
)
_stable(
    "gradient_of_sum_of_log_sigmoids",
    (c / sigmoid(x) + d / sigmoid(-x)) * (sigmoid(x) * sigmoid(-x)),
    c * sigmoid(-x) + d * sigmoid(x),
)
