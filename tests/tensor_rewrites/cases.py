"""One or more cases for every local rule: an expression, and what the rules make of it.

`exact` cases must agree everywhere, at NaN, infinities and zeros too; the others where the expression as written is
computed well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import treadle.tensor as tt
from treadle.tensor.scalar.cast import CASTS as CASTS_TO


@dataclass(frozen=True)
class Case:
    """What rule, on which expression of the variables below, gives what text."""

    rule: str
    build: Callable[[Any], Any]
    expected: str
    exact: bool = True


class Variables:
    """Inputs by name."""

    def __init__(self) -> None:
        self.x, self.y = tt.dvector("x"), tt.dvector("y")
        self.m, self.k = tt.dmatrix("m"), tt.dmatrix("k")
        self.s = tt.dscalar("s")
        self.i = tt.lvector("i")
        self.n = tt.lscalar("n")
        self.f = tt.fvector("f")
        self.b = tt.tensor("b", dtype="bool", shape=(None,))
        self.short = tt.tensor("short", dtype="int16", shape=(None,))
        self.three = tt.tensor("three", dtype="float64", shape=(3,))
        self.row = tt.tensor("row", dtype="float64", shape=(1, None))

    def all(self) -> list[Any]:
        """Return the inputs in order of their names."""
        return [getattr(self, name) for name in sorted(vars(self))]


ARITHMETIC = [
    Case("sum_with_zero", lambda v: v.x + 0, "x"),
    Case("sum_with_zero", lambda v: 0 + v.i, "i"),
    Case("sum_with_zero", lambda v: v.x + tt.zeros_like(v.x), "x"),
    Case("sum_with_negative_zero", lambda v: v.x + -0.0, "x"),
    Case("difference_with_zero", lambda v: v.x - 0, "x"),
    Case("zero_minus", lambda v: 0 - v.i, "neg(i)"),
    Case("product_with_one", lambda v: v.x * 1, "x"),
    Case("product_with_minus_one", lambda v: -1 * v.x, "neg(x)"),
    Case("quotient_by_one", lambda v: v.x / 1, "x"),
    Case("quotient_by_minus_one", lambda v: v.x / -1, "neg(x)"),
    Case("negative_of_negative", lambda v: tt.neg(-v.x), "x"),
    Case("sum_with_negative", lambda v: -v.x + v.y, "sub(y, x)"),
    Case("difference_with_negative", lambda v: v.x - (-v.y), "add(x, y)"),
    Case("product_of_negatives", lambda v: (-v.x) * (-v.y), "mul(x, y)"),
    Case("quotient_of_negatives", lambda v: (-v.x) / (-v.y), "true_div(x, y)"),
    Case("abs_of_negative", lambda v: abs(-v.x), "abs(x)"),
    Case("square_of_negative", lambda v: tt.sqr(-v.x), "sqr(x)"),
    Case("square_of_abs", lambda v: tt.sqr(abs(v.x)), "sqr(x)"),
    Case("power_one", lambda v: v.x**1, "x"),
    Case("power_two", lambda v: v.x**2, "sqr(x)"),
    Case("power_two", lambda v: v.i**2, "sqr(i)"),
    Case("power_minus_one", lambda v: v.x**-1.0, "reciprocal(x)"),
    Case("power_zero", lambda v: v.x**0, "alloc(1.0, shapei(axis=0)(x))"),
    Case("product_with_itself", lambda v: v.x * v.x, "sqr(x)"),
    Case("difference_with_itself", lambda v: v.i - v.i, "alloc(0, shapei(axis=0)(i))"),
    Case("product_with_zero", lambda v: v.i * 0, "alloc(0, shapei(axis=0)(i))"),
    Case("invert_of_invert", lambda v: ~(~v.i), "i"),
    Case("not_of_not", lambda v: tt.logical_not(tt.logical_not(v.b)), "b"),
    Case("and_with_itself", lambda v: v.b & v.b, "b"),
    Case("or_with_itself", lambda v: v.i | v.i, "i"),
    Case("maximum_with_itself", lambda v: tt.maximum(v.x, v.x), "x"),
    Case("minimum_with_itself", lambda v: tt.minimum(v.x, v.x), "x"),
    Case("idempotent_twice", lambda v: tt.floor(tt.floor(v.x)), "floor(x)"),
    Case("switch_of_constant", lambda v: tt.where(True, v.x, 2 * v.x), "x"),
    Case("switch_of_constant", lambda v: tt.where(False, v.x, v.y), "second(x, y)"),
    Case("switch_of_same", lambda v: tt.where(v.x > 0, v.y, v.y), "second(gt(x, [0.0]), y)"),
    Case("switch_of_same", lambda v: tt.where(v.x > 0, v.x, v.x), "x"),
]

CASTS = [
    Case("cast_to_own_dtype", lambda v: CASTS_TO["float64"](v.x), "x"),
    Case("useless_copy", lambda v: v.x.copy(), "x"),
    Case("cast_of_cast", lambda v: v.short.astype("int64").astype("float64"), "cast_float64(short)"),
    Case("cast_of_cast", lambda v: v.f.astype("float64").astype("float32"), "f"),
    Case("operand_cast_in_vain", lambda v: v.f.astype("float64") + v.x, "add(f, x)"),
]

DIMSHUFFLE = [
    Case("useless_dimshuffle", lambda v: v.m.T.T, "m"),
    Case("dimshuffle_of_dimshuffle", lambda v: v.m.T.dimshuffle(0, "x", 1), "dimshuffle{1,x,0}(m)"),
    Case(
        "dimshuffle_of_alloc",
        lambda v: tt.alloc(v.s, v.n, v.n + 1).T,
        "alloc(s, add(n, 1), n)",
    ),
]

SHAPE = [
    Case("length_from_inputs", lambda v: tt.exp(v.m).shape[1], "shapei(axis=1)(m)"),
    Case("length_from_inputs", lambda v: tt.dot(v.m, v.k).shape[1], "shapei(axis=1)(k)"),
    Case("length_from_inputs", lambda v: tt.exp(v.m).sum(axis=0).shape[0], "shapei(axis=1)(m)"),
    Case("length_from_inputs", lambda v: v.m.T[None].shape[1], "shapei(axis=1)(m)"),
    Case(
        "length_from_inputs",
        lambda v: tt.concatenate([tt.exp(v.x), v.y, [1.0]]).shape[0],
        "add(add(shapei(axis=0)(x), shapei(axis=0)(y)), 1)",
    ),
    Case(
        "length_from_inputs",
        lambda v: (v.x + v.y).shape[0],
        "switch(eq(shapei(axis=0)(y), 1), shapei(axis=0)(x), shapei(axis=0)(y))",
    ),
    Case(
        "shape_from_inputs",
        lambda v: tt.exp(v.m.T).shape,
        "join(axis=0)(dimshuffle{x}(shapei(axis=1)(m)), dimshuffle{x}(shapei(axis=0)(m)))",
    ),
    Case("shape_from_inputs", lambda v: tt.shape(tt.exp(v.three)), "[3]"),
    Case(
        "reshape_of_reshape",
        lambda v: v.m.reshape((v.n, -1)).reshape((-1,)),
        "reshape(ndim=1)(m, -1)",
    ),
    Case("useless_reshape", lambda v: tt.exp(v.m).reshape(v.m.shape), "exp(m)"),
    Case("useless_reshape", lambda v: v.x.reshape((-1,)), "x"),
]

BROADCASTING = [
    Case("useless_alloc", lambda v: tt.alloc(tt.exp(v.x), v.x.shape[0]), "exp(x)"),
    Case(
        "alloc_of_alloc",
        lambda v: tt.alloc(tt.alloc(v.s, v.n), v.n, v.n),
        "alloc(s, n, n)",
    ),
    Case("second_to_alloc", lambda v: tt.second(v.x, v.s), "alloc(s, shapei(axis=0)(x))"),
    Case("second_to_alloc", lambda v: tt.second(v.x, tt.exp(v.x)), "exp(x)"),
    Case(
        "operand_broadcast_in_vain",
        lambda v: tt.alloc(v.s, v.x.shape[0]) * v.x,
        "mul(dimshuffle{x}(s), x)",
    ),
    Case(
        "operand_broadcast_in_vain",
        lambda v: tt.second(v.x, v.y) * (v.x + v.y),
        "mul(y, add(x, y))",
    ),
    Case("sum_to_known_shape", lambda v: tt.sum_to(tt.exp(v.x), v.x), "exp(x)"),
    Case("sum_to_known_shape", lambda v: tt.sum_to(v.m, v.s), "sum{axes=[0, 1]}(m)"),
    Case(
        "sum_to_known_shape",
        lambda v: tt.sum_to(v.m, v.m.max(axis=0, keepdims=True)),
        "dimshuffle{x,0}(sum{axes=[0]}(m))",
    ),
]

INDEXING = [
    Case("subtensor_of_everything", lambda v: v.three[:7], "three"),
    Case("element_of_shape", lambda v: tt.shape(v.m)[v.n * 0 + 1], "shapei(axis=1)(m)"),
    Case("constant_positions", lambda v: v.x[v.n * 0 + 1 : 5 : tt.constant(1) + 1], "subtensor{[1:5:2]}(x)"),
    Case("constant_positions", lambda v: tt.inc_subtensor(v.m[:, v.n * 0], v.s), "incsubtensor{[:, 0]}(m, s)"),
    Case(
        "constant_positions",
        lambda v: v.m[v.n * 0 + 1 :, tt.constant([2, 0]) + v.i[:1] * 0],
        "advancedsubtensor{[1:, array]}(m, [2, 0])",
    ),
    Case("element_of_join", lambda v: tt.stack([v.s, 2 * v.s, v.s])[-2], "mul(2.0, s)"),
]

REDUCTION = [
    Case("useless_reduction", lambda v: v.row.sum(axis=0), "dimshuffle{1}(row)"),
    Case("useless_reduction", lambda v: v.x.max(axis=()), "x"),
    Case("reduction_of_reduction", lambda v: v.m.sum(axis=1).sum(), "sum{axes=[0, 1]}(m)"),
]

NORMALIZATION = [
    Case("log_of_softmax", lambda v: tt.log(tt.softmax(v.m, axis=1)), "logsoftmax(axes=(1,))(m)", exact=False),
    Case("log_of_sum_of_exp", lambda v: tt.log(tt.exp(v.m).sum(axis=0)), "logsumexp(axes=(0,))(m)", exact=False),
    Case(
        "log_of_sum_of_exp",
        lambda v: tt.log(tt.exp(v.m).sum(axis=1, keepdims=True)),
        "dimshuffle{0,x}(logsumexp(axes=(1,))(m))",
        exact=False,
    ),
    Case(
        "exp_over_sum_of_exp",
        lambda v: tt.exp(v.m) / tt.exp(v.m).sum(axis=1, keepdims=True),
        "softmax(axes=(1,))(m)",
        exact=False,
    ),
]


def _stable(rule: str, build: Callable[[Any], Any], expected: str) -> Case:
    return Case(rule, build, expected, exact=False)


EXPONENTIAL = [
    _stable("log_of_exp", lambda v: tt.log(tt.exp(v.x)), "x"),
    _stable("log_of_one_plus_exp", lambda v: tt.log(tt.exp(v.x) + 1), "softplus(x)"),
    _stable("log_of_minus_expm1", lambda v: tt.log(-tt.expm1(v.x)), "log1mexp(x)"),
    _stable("log_of_minus_expm1", lambda v: tt.log(1 - tt.exp(v.x)), "log1mexp(x)"),
    _stable("log_of_sigmoid", lambda v: tt.log(tt.sigmoid(v.x)), "neg(softplus(neg(x)))"),
    _stable("log_of_sigmoid", lambda v: tt.log(1 / (1 + tt.exp(-v.x))), "neg(softplus(neg(x)))"),
    _stable("stable_negative_of_negative", lambda v: tt.log(1 - tt.sigmoid(v.x)), "neg(softplus(x))"),
    _stable("log_of_sum_of_exps", lambda v: tt.log(tt.exp(v.x) + tt.exp(v.y)), "logaddexp(x, y)"),
    _stable("log_of_one_plus", lambda v: tt.log(1 + v.x), "log1p(x)"),
    _stable("log_of_one_minus", lambda v: tt.log(1 - v.x), "log1p(neg(x))"),
    _stable("log1p_of_exp", lambda v: tt.log1p(tt.exp(v.x)), "softplus(x)"),
    _stable("log1p_of_minus_exp", lambda v: tt.log1p(-tt.exp(v.x)), "log1mexp(x)"),
    _stable("log1p_of_minus_sigmoid", lambda v: tt.log1p(-tt.sigmoid(v.x)), "neg(softplus(x))"),
    _stable("log1p_of_expm1", lambda v: tt.log1p(tt.expm1(v.x)), "x"),
    _stable("exp_minus_one", lambda v: tt.exp(v.x) - 1, "expm1(x)"),
    _stable("one_minus_exp", lambda v: 1 - tt.exp(v.x), "neg(expm1(x))"),
    _stable("one_minus_sigmoid", lambda v: 1 - tt.sigmoid(v.x), "sigmoid(neg(x))"),
    _stable("exp_of_minus_softplus", lambda v: tt.exp(-tt.softplus(v.x)), "sigmoid(neg(x))"),
    _stable("reciprocal_of_one_plus_exp", lambda v: tt.reciprocal(1 + tt.exp(v.x)), "sigmoid(neg(x))"),
    _stable("one_over_one_plus_exp", lambda v: 1 / (1 + tt.exp(-v.x)), "sigmoid(x)"),
    _stable("exp_over_one_plus_exp", lambda v: tt.exp(v.x) / (tt.exp(v.x) + 1), "sigmoid(x)"),
    _stable("quotient_by_one_plus_exp", lambda v: v.y / (1 + tt.exp(v.x)), "mul(y, sigmoid(neg(x)))"),
    _stable("sigmoid_times_exp", lambda v: tt.exp(v.x) * tt.sigmoid(-v.x), "sigmoid(x)"),
    _stable("sigmoid_times_exp_of_minus", lambda v: tt.exp(-v.x) * tt.sigmoid(v.x), "sigmoid(neg(x))"),
    _stable("scaled_sigmoid_times_exp", lambda v: tt.exp(v.x) * (v.y * tt.sigmoid(-v.x)), "mul(y, sigmoid(x))"),
    _stable(
        "scaled_sigmoid_times_exp_of_minus",
        lambda v: tt.exp(-v.x) * (v.y * tt.sigmoid(v.x)),
        "mul(y, sigmoid(neg(x)))",
    ),
    _stable(
        "gradient_of_log_sigmoid",
        lambda v: (v.y / tt.sigmoid(v.x)) * (tt.sigmoid(v.x) * (1 - tt.sigmoid(v.x))),
        "mul(y, sigmoid(neg(x)))",
    ),
    _stable("stable_product_with_negative", lambda v: -v.x * v.y, "neg(mul(x, y))"),
    _stable("stable_quotient_of_negative", lambda v: -v.x / v.y, "neg(true_div(x, y))"),
    _stable(
        "gradient_of_log_of_quotient",
        lambda v: (v.y / tt.sigmoid(v.x)) * tt.sigmoid(v.x) * tt.sigmoid(-v.x),
        "mul(y, sigmoid(neg(x)))",
    ),
    _stable(
        "gradient_of_minus_log_one_minus_sigmoid",
        lambda v: -(v.y / (1 - tt.sigmoid(v.x))) * (tt.sigmoid(v.x) * (1 - tt.sigmoid(v.x))),
        "neg(mul(y, sigmoid(x)))",
    ),
    _stable(
        "gradient_of_minus_log_one_minus_sigmoid",
        lambda v: (v.y / (1 - tt.sigmoid(v.x))) * (tt.sigmoid(v.x) * (1 - tt.sigmoid(v.x))),
        "mul(y, sigmoid(x))",
    ),
    _stable(
        "gradient_of_cross_entropy",
        lambda v: (
            (v.y / tt.sigmoid(v.x) - (1 - v.y) / (1 - tt.sigmoid(v.x))) * (tt.sigmoid(v.x) * (1 - tt.sigmoid(v.x)))
        ),
        "sub(mul(y, sigmoid(neg(x))), mul(sub([1.0], y), sigmoid(x)))",
    ),
    _stable(
        "gradient_of_sum_of_log_sigmoids",
        lambda v: (v.y / tt.sigmoid(v.x) + v.x / (1 - tt.sigmoid(v.x))) * (tt.sigmoid(v.x) * (1 - tt.sigmoid(v.x))),
        "add(mul(y, sigmoid(neg(x))), mul(x, sigmoid(x)))",
    ),
]

FOLDING = [
    Case("exact_constant_folding", lambda v: v.i + tt.constant(2) * 3, "add(i, [6])"),
]

CASES = [
    *ARITHMETIC,
    *CASTS,
    *DIMSHUFFLE,
    *SHAPE,
    *BROADCASTING,
    *INDEXING,
    *REDUCTION,
    *NORMALIZATION,
    *EXPONENTIAL,
    *FOLDING,
]
