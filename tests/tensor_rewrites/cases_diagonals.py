"""Cases for the rules of diagonals, of specified lengths, and of ops that are reshapes and slices."""

from __future__ import annotations

import treadle.tensor as tt
from tests.tensor_rewrites.expressions import Case

DIAGONALS = [
    Case("diagonal_of_transpose", lambda v: tt.diagonal(v.m.T, 1), "extractdiag(offset=-1, axis1=0, axis2=1)(m)"),
    Case(
        "diagonal_of_transpose",
        lambda v: tt.diagonal(v.cube.T, 0, 0, 1),
        "extractdiag(offset=0, axis1=1, axis2=2)(cube)",
    ),
    Case("diagonal_of_diagonal_matrix", lambda v: tt.diagonal(tt.diag(v.x, -2), -2), "x"),
    Case(
        "diagonal_of_diagonal_matrix",
        lambda v: tt.diagonal(tt.diag(v.x), 1),
        "alloc(0.0, maximum(minimum(shapei(axis=0)(x), add(shapei(axis=0)(x), -1)), 0))",
    ),
    Case("diagonal_of_diagonal_matrix", lambda v: tt.diagonal(tt.alloc(v.s, 4, 5)), "alloc(s, 4)"),
    Case(
        "diagonal_of_elementwise",
        lambda v: tt.diagonal(tt.exp(v.m) * v.s),
        "mul(exp(extractdiag(offset=0, axis1=0, axis2=1)(m)), dimshuffle{x}(s))",
    ),
    Case("diagonal_of_product", lambda v: tt.diagonal(v.m @ v.m.T), "sum{axes=[1]}(sqr(m))", exact=False),
    Case("diagonal_of_elementwise", lambda v: tt.diagonal(tt.exp(v.x[:, None] * v.x)), "exp(sqr(x))"),
    Case(
        "diagonal_by_positions",
        lambda v: tt.diag(v.x)[tt.arange(v.x.shape[0]), tt.arange(v.x.shape[0])],
        "x",
    ),
]

SAID = [
    Case("useless_specification", lambda v: tt.specify_shape(v.m, (v.m.shape[0], None)), "m"),
    Case("useless_specification", lambda v: tt.specify_shape(tt.alloc(v.s, 4), v.n * 0 + 4), "alloc(s, 4)"),
    Case(
        "specification_of_specification",
        lambda v: tt.specify_shape(tt.specify_shape(v.m, (None, v.n)), (v.n + 1, None)),
        "specifyshape{0, 1}(m, add(n, 1), n)",
    ),
    Case(
        "specification_of_elementwise",
        lambda v: tt.specify_shape(tt.exp(v.m) * 2, (None, v.n)),
        "mul(exp(specifyshape{1}(m, n)), [[2.0]])",
    ),
    Case(
        "specification_of_write",
        lambda v: tt.specify_shape(v.m[0].set(1.0), (None, v.n)),
        "setsubtensor{[0, :]}(specifyshape{1}(m, n), 1.0)",
    ),
    Case(
        "said_lengths_become_known",
        lambda v: tt.specify_shape(v.x[:2], v.n * 0 + 2),
        "specifyshape{0}(subtensor{[:2]}(x), 2)",
    ),
    Case(
        "joined_or_split_dimensions",
        lambda v: tt.join_dims(v.m),
        "reshape(ndim=1)(m, mul(shapei(axis=0)(m), shapei(axis=1)(m)))",
    ),
    Case("joined_or_split_dimensions", lambda v: tt.split_dims(v.grid, (2, -1)), "reshape(ndim=2)(grid, 2, 3)"),
    Case("split_into_slices", lambda v: tt.split(v.grid, [2, 4])[1], "subtensor{[2:]}(grid)"),
]

CASES = [*DIAGONALS, *SAID]
