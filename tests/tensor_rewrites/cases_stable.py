"""Cases of the rules for stable forms: exponentials, logarithms, logistic products, softmax and their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import treadle.tensor as tt
from tests.tensor_rewrites.expressions import Case

if TYPE_CHECKING:
    from collections.abc import Callable


def _stable(rule: str, build: Callable[[Any], Any], expected: str, keeps_nan: bool = True, rtol: float = 1e-12) -> Case:
    return Case(rule, build, expected, exact=False, keeps_nan=keeps_nan, rtol=rtol)


EXPONENTIAL = [
    _stable("log_of_exp", lambda v: tt.log(tt.exp(v.x)), "x"),
    _stable("log_of_one_plus_exp", lambda v: tt.log(tt.exp(v.x) + 1), "softplus(x)"),
    _stable("log_of_minus_expm1", lambda v: tt.log(-tt.expm1(v.x)), "log1mexp(x)"),
    _stable("log_of_minus_expm1", lambda v: tt.log(1 - tt.exp(v.x)), "log1mexp(x)"),
    _stable("log_of_expm1", lambda v: tt.log(tt.exp(v.x) - 1), "add(x, log1mexp(neg(x)))"),
    _stable("log_of_sigmoid", lambda v: tt.log(tt.sigmoid(v.x)), "neg(softplus(neg(x)))"),
    _stable("log_of_sigmoid", lambda v: tt.log(1 / (1 + tt.exp(-v.x))), "neg(softplus(neg(x)))"),
    _stable("stable_negative_of_negative", lambda v: tt.log(1 - tt.sigmoid(v.x)), "neg(softplus(x))"),
    _stable("stable_product_with_negative", lambda v: -v.x * v.y, "neg(mul(x, y))"),
    _stable("stable_quotient_of_negative", lambda v: -v.x / v.y, "neg(true_div(x, y))"),
    _stable("stable_sum_with_negative", lambda v: tt.exp(v.x) + tt.log(tt.reciprocal(v.y)), "sub(exp(x), log(y))"),
    _stable("log_of_one_plus", lambda v: tt.log(1 + v.x), "log1p(x)"),
    _stable("log_of_one_minus", lambda v: tt.log(1 - v.x), "log1p(neg(x))"),
    _stable("log_of_product_with_exp", lambda v: tt.log(v.x * tt.exp(v.y)), "add(log(x), y)"),
    _stable("log_of_quotient_by_exp", lambda v: tt.log(v.x / tt.exp(v.y)), "sub(log(x), y)"),
    _stable("log_of_exp_over", lambda v: tt.log(tt.exp(v.y) / v.x), "sub(y, log(x))"),
    _stable("log_of_product_with_sigmoid", lambda v: tt.log(tt.sigmoid(v.y) * v.x), "sub(log(x), softplus(neg(y)))"),
    _stable("log_of_quotient_by_sigmoid", lambda v: tt.log(v.x / tt.sigmoid(v.y)), "add(log(x), softplus(neg(y)))"),
    _stable("log1p_of_exp", lambda v: tt.log1p(tt.exp(v.x)), "softplus(x)"),
    _stable("log1p_of_minus_exp", lambda v: tt.log1p(-tt.exp(v.x)), "log1mexp(x)"),
    _stable("log1p_of_minus_sigmoid", lambda v: tt.log1p(-tt.sigmoid(v.x)), "neg(softplus(x))"),
    _stable("log1p_of_expm1", lambda v: tt.log1p(tt.expm1(v.x)), "x"),
    _stable("softplus_minus_argument", lambda v: tt.softplus(v.x) - v.x, "softplus(neg(x))"),
    _stable("argument_minus_softplus", lambda v: v.x - tt.softplus(v.x), "neg(softplus(neg(x)))"),
    _stable("exp_minus_one", lambda v: tt.exp(v.x) - 1, "expm1(x)"),
    _stable("exp_plus_minus_one", lambda v: tt.exp(v.x) + -1, "expm1(x)"),
    _stable("one_minus_exp", lambda v: 1 - tt.exp(v.x), "neg(expm1(x))"),
    _stable("one_minus_sigmoid", lambda v: 1 - tt.sigmoid(v.x), "sigmoid(neg(x))"),
    _stable(
        "sigmoid_minus_its_square", lambda v: tt.sigmoid(v.x) - tt.sigmoid(v.x) ** 2, "mul(sigmoid(x), sigmoid(neg(x)))"
    ),
    _stable(
        "scaled_sigmoid_minus_its_square",
        lambda v: v.y * tt.sigmoid(v.x) - v.y * tt.sigmoid(v.x) ** 2,
        "mul(y, mul(sigmoid(x), sigmoid(neg(x))))",
    ),
    _stable("exp_of_minus_softplus", lambda v: tt.exp(-tt.softplus(v.x)), "sigmoid(neg(x))"),
    _stable("reciprocal_of_one_plus_exp", lambda v: tt.reciprocal(1 + tt.exp(v.x)), "sigmoid(neg(x))"),
    _stable("one_over_one_plus_exp", lambda v: 1 / (1 + tt.exp(-v.x)), "sigmoid(x)"),
    _stable("quotient_by_one_plus_exp", lambda v: v.y / (1 + tt.exp(v.x)), "mul(y, sigmoid(neg(x)))"),
    _stable("exp_over_expm1", lambda v: tt.exp(v.x) / tt.expm1(v.x), "reciprocal(neg(expm1(neg(x))))"),
    _stable(
        "quotient_by_expm1_times_exp", lambda v: v.y / tt.expm1(v.x) * tt.exp(v.x), "true_div(y, neg(expm1(neg(x))))"
    ),
    _stable(
        "exponential_in_wider_sum",
        lambda v: tt.log(tt.constant(1, dtype="int64") + tt.exp(v.f)),
        "softplus(cast_float64(f))",
        rtol=1e-5,
    ),
    _stable("exponential_of_integer", lambda v: tt.log(1 + tt.exp(v.i)), "softplus(cast_float64(i))"),
]

LOGARITHMS = [
    _stable("log_of_sum_of_exps", lambda v: tt.log(tt.exp(v.x) + tt.exp(v.y)), "logaddexp(x, y)"),
    _stable(
        "log_of_sum_of_exps",
        lambda v: tt.log(tt.exp(v.x) + tt.exp(v.y) + tt.exp(v.s)),
        "logaddexp(logaddexp(x, y), dimshuffle{x}(s))",
    ),
    _stable(
        "log_of_sum_of_exps",
        lambda v: tt.log(2 + 3 * tt.exp(v.x)),
        "logaddexp([0.6931471805599453], add(x, [1.0986122886681098]))",
    ),
    _stable(
        "log_of_difference_of_exps",
        lambda v: tt.log(tt.exp(v.x) - tt.exp(v.y)),
        "switch(eq(y, [-inf]), x, add(x, log1mexp(sub(y, x))))",
    ),
    _stable("log_of_sum_of_exp", lambda v: tt.log(tt.exp(v.m).sum(axis=0)), "logsumexp(axes=(0,))(m)"),
    _stable(
        "log_of_sum_of_exp",
        lambda v: tt.log(tt.exp(v.m).sum(axis=1, keepdims=True)),
        "dimshuffle{0,x}(logsumexp(axes=(1,))(m))",
    ),
    _stable(
        "log_of_scaled_sum_of_exp",
        lambda v: tt.log(tt.exp(v.m).sum(axis=0) / 3),
        "sub(logsumexp(axes=(0,))(m), [1.0986122886681098])",
    ),
    _stable(
        "log_of_scaled_sum_of_exp",
        lambda v: tt.log(tt.exp(v.m).sum(axis=1) * v.s),
        "add(logsumexp(axes=(1,))(m), log(dimshuffle{x}(s)))",
    ),
    _stable("log_of_prod", lambda v: tt.log(tt.sqr(v.m).prod(axis=1)), "mul([2.0], sum{axes=[1]}(log(abs(m))))"),
    _stable(
        "quotient_by_sum_of_exps", lambda v: tt.exp(v.x) / (tt.exp(v.x) + tt.exp(v.y)), "exp(sub(x, logaddexp(x, y)))"
    ),
    _stable(
        "quotient_by_sum_of_exps",
        lambda v: v.s / tt.exp(v.m).sum(axis=1, keepdims=True) * tt.exp(v.m),
        "mul(dimshuffle{x,x}(s), softmax(axes=(1,))(m))",
    ),
    _stable(
        "sum_of_quotients_by_sum_of_exps",
        lambda v: (tt.sin(v.m) / tt.exp(v.m).sum(axis=1, keepdims=True)).sum(axis=1),
        "true_div(sum{axes=[1]}(sin(m)), sum{axes=[1]}(exp(m)))",
    ),
]

LOGISTIC = [
    _stable("logistic_product", lambda v: tt.exp(v.x) / (tt.exp(v.x) + 1), "sigmoid(x)"),
    _stable("logistic_product", lambda v: tt.exp(v.x) * tt.sigmoid(-v.x), "sigmoid(x)"),
    _stable("logistic_product", lambda v: tt.exp(-v.x) * tt.sigmoid(v.x), "sigmoid(neg(x))"),
    _stable("logistic_product", lambda v: tt.exp(v.x) * (v.y * tt.sigmoid(-v.x)), "mul(y, sigmoid(x))"),
    _stable("logistic_product", lambda v: tt.exp(-v.x) / (1 + tt.exp(-v.x)) ** 2, "mul(sigmoid(x), sigmoid(neg(x)))"),
    _stable(
        "common_factors",
        lambda v: (v.y / tt.sigmoid(v.x)) * (tt.sigmoid(v.x) * (1 - tt.sigmoid(v.x))),
        "mul(y, sigmoid(neg(x)))",
        keeps_nan=False,
    ),
    _stable(
        "common_factors",
        lambda v: (v.y / tt.sigmoid(v.x)) * tt.sigmoid(v.x) * tt.sigmoid(-v.x),
        "mul(y, sigmoid(neg(x)))",
        keeps_nan=False,
    ),
    _stable(
        "common_factors",
        lambda v: -(v.y / (1 - tt.sigmoid(v.x))) * (tt.sigmoid(v.x) * (1 - tt.sigmoid(v.x))),
        "neg(mul(y, sigmoid(x)))",
        keeps_nan=False,
    ),
    _stable("logistic_product", lambda v: tt.exp(-v.x) * v.y * tt.exp(v.x), "mul(y, exp(sub(x, x)))"),
    _stable(
        "logistic_product_with_sum",
        lambda v: (
            (v.y / tt.sigmoid(v.x) - (1 - v.y) / (1 - tt.sigmoid(v.x))) * (tt.sigmoid(v.x) * (1 - tt.sigmoid(v.x)))
        ),
        "sub(mul(y, sigmoid(neg(x))), mul(sub([1.0], y), sigmoid(x)))",
    ),
    _stable(
        "logistic_product_with_sum",
        lambda v: (v.y / tt.sigmoid(v.x) + v.x / (1 - tt.sigmoid(v.x))) * (tt.sigmoid(v.x) * (1 - tt.sigmoid(v.x))),
        "add(mul(y, sigmoid(neg(x))), mul(x, sigmoid(x)))",
    ),
]

NORMALIZATION = [
    _stable(
        "exp_over_sum_of_exp", lambda v: tt.exp(v.m) / tt.exp(v.m).sum(axis=1, keepdims=True), "softmax(axes=(1,))(m)"
    ),
    _stable("log_of_softmax", lambda v: tt.log(tt.softmax(v.m, axis=1)), "logsoftmax(axes=(1,))(m)"),
    _stable(
        "log_of_rearranged",
        lambda v: tt.log(tt.softmax(v.m, axis=1)[:, 1]),
        "subtensor{[:, 1]}(logsoftmax(axes=(1,))(m))",
    ),
    _stable(
        "log_of_rearranged",
        lambda v: tt.log(tt.softmax(v.m, axis=1).T[None]),
        "dimshuffle{x,1,0}(logsoftmax(axes=(1,))(m))",
    ),
    _stable(
        "log_of_rearranged_exponential",
        lambda v: tt.log(tt.sigmoid(v.m)[::-1]),
        "neg(softplus(neg(subtensor{[::-1, :]}(m))))",
        keeps_nan=False,
    ),
    Case(
        "softmax_over_itself",
        lambda v: tt.softmax(v.m, axis=1) / tt.softmax(v.m, axis=1),
        "alloc(1.0, shapei(axis=0)(m), shapei(axis=1)(m))",
        exact=False,
        keeps_nan=False,
    ),
    _stable(
        "exponential_times_scattered_quotient",
        lambda v: tt.grad(tt.sum(tt.log(tt.exp(v.m)[::-1])), v.m),
        "setsubtensor{[::-1, :]}(alloc(0.0, shapei(axis=0)(m), shapei(axis=1)(m)), [[1.0]])",
        keeps_nan=False,
    ),
    _stable(
        "exponential_times_scattered_quotient",
        lambda v: tt.grad(tt.sum(tt.log(tt.exp2(v.m)[::-1])), v.m),
        "mul([[0.6931471805599453]], "
        "setsubtensor{[::-1, :]}(alloc(0.0, shapei(axis=0)(m), shapei(axis=1)(m)), [[1.0]]))",
        keeps_nan=False,
    ),
    _stable("exp_of_log_softmax", lambda v: tt.exp(tt.log_softmax(v.m, axis=1)), "softmax(axes=(1,))(m)"),
    _stable(
        "argument_minus_logsumexp", lambda v: v.m - tt.logsumexp(v.m, axis=1, keepdims=True), "logsoftmax(axes=(1,))(m)"
    ),
    _stable(
        "common_factors",
        lambda v: tt.softmax(v.m, axis=1) * (tt.sin(v.m) / tt.softmax(v.m, axis=1) * tt.cos(v.m)),
        "mul(sin(m), cos(m))",
        keeps_nan=False,
    ),
    _stable(
        "softmax_times_quotient",
        lambda v: (
            tt.softmax(v.m, axis=1) * tt.inc_subtensor(tt.zeros_like(v.m)[:, 1], v.s / tt.softmax(v.m, axis=1)[:, 1])
        ),
        "setsubtensor{[:, 1]}(alloc(0.0, shapei(axis=0)(m), shapei(axis=1)(m)), dimshuffle{x}(s))",
        keeps_nan=False,
    ),
    _stable(
        "softmax_times_difference",
        lambda v: tt.softmax(v.m, axis=1) * (tt.sin(v.m) / tt.softmax(v.m, axis=1) - tt.cos(v.m)),
        "sub(sin(m), mul(cos(m), softmax(axes=(1,))(m)))",
    ),
]

CASES = [*EXPONENTIAL, *LOGARITHMS, *LOGISTIC, *NORMALIZATION]
