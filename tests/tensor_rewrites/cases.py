"""One or more cases for every local rule: an expression, and its rewritten form.

`exact` cases must agree everywhere, at NaN, infinities and zeros too; the others where the expression as written is
computed well. Cases of elementwise functions and of stable forms are in modules of their own.
"""

from __future__ import annotations

import treadle.tensor as tt
from tests.tensor_rewrites import (
    cases_choices,
    cases_diagonals,
    cases_elementwise,
    cases_loops,
    cases_masks,
    cases_special,
    cases_stable,
    cases_structural,
)
from tests.tensor_rewrites.expressions import Case, Variables

DIMSHUFFLE = [
    Case("dimshuffle_of_dimshuffle", lambda v: v.m.T.T, "m"),
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
        "add(add(shapei(axis=0)(y), shapei(axis=0)(x)), 1)",
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
]

REDUCTION = [
    Case("useless_reduction", lambda v: v.row.sum(axis=0), "dimshuffle{1}(row)"),
    Case("useless_reduction", lambda v: v.x.max(axis=()), "x"),
    Case("reduction_of_reduction", lambda v: v.m.sum(axis=1).sum(), "sum{axes=[0, 1]}(m)"),
]

CASES = [
    *cases_elementwise.CASES,
    *cases_masks.CASES,
    *DIMSHUFFLE,
    *SHAPE,
    *BROADCASTING,
    *INDEXING,
    *REDUCTION,
    *cases_diagonals.CASES,
    *cases_structural.CASES,
    *cases_choices.CASES,
    *cases_loops.CASES,
    *cases_stable.CASES,
    *cases_special.CASES,
]

__all__ = ["CASES", "Case", "Variables"]
