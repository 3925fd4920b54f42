"""Cases for the structural rules: shapes, indices, writes, joins, reductions, products."""

from __future__ import annotations

import treadle.tensor as tt
from tests.tensor_rewrites.expressions import Case

# The error of a negative length stays.
_JOINED = "alloc(s, checkandraise{raises=valueerror, msg='negative dimensions are not...'}(add(n, 2), ge(n, 0)))"

SHAPE = [
    Case(
        "length_from_inputs",
        lambda v: v.x[v.n :: 2].shape[0],
        "maximum(floor_div(add(sub(shapei(axis=0)(x), switch(lt(n, 0), maximum(add(n, shapei(axis=0)(x)), "
        "0), minimum(n, shapei(axis=0)(x)))), 1), 2), 0)",
    ),
    Case("length_from_inputs", lambda v: tt.arange(v.n).shape[0], "maximum(n, 0)"),
    Case("length_from_inputs", lambda v: v.m.reshape((v.m.shape[0], 1, -1)).shape[2], "shapei(axis=1)(m)"),
    Case("length_from_inputs", lambda v: v.m[v.idx].shape[0], "shapei(axis=0)(idx)"),
]

RESHAPE = [
    Case("reshape_of_reshape", lambda v: v.m.reshape((v.n, -1)).reshape((-1,)), "reshape(ndim=1)(m, -1)"),
    Case("useless_reshape", lambda v: tt.exp(v.m).reshape(v.m.shape), "exp(m)"),
    Case("useless_reshape", lambda v: v.x.reshape((-1,)), "x"),
    Case("reshape_to_dimshuffle", lambda v: v.m.reshape((v.m.shape[0], 1, v.m.shape[1])), "dimshuffle{0,x,1}(m)"),
    Case("reshape_to_dimshuffle", lambda v: v.row.reshape((-1,)), "dimshuffle{1}(row)"),
    Case("reshape_of_dimshuffle", lambda v: v.m.dimshuffle(0, "x", 1).reshape((-1,)), "reshape(ndim=1)(m, -1)"),
    Case(
        "reshape_of_alloc",
        lambda v: tt.alloc(v.s, v.x.shape[0], 4).reshape((2, v.x.shape[0] * 2)),
        "alloc(s, 2, mul(shapei(axis=0)(x), 2))",
    ),
    Case("views_of_operands", lambda v: tt.exp(v.m * 2).reshape((-1,)), "exp(mul(reshape(ndim=1)(m, -1), [2.0]))"),
    Case("lengths_become_known", lambda v: v.m.reshape((v.n * 0 + 4, -1)), "reshape(ndim=2)(m, 4, -1)"),
]

DIMSHUFFLE = [
    Case("useless_dimshuffle", lambda v: v.row.dimshuffle(1).dimshuffle("x", 0), "row"),
    Case(
        "dimshuffle_of_alloc",
        lambda v: tt.alloc(v.x, v.n, v.x.shape[0]).T,
        "alloc(dimshuffle{0,x}(x), shapei(axis=0)(x), n)",
    ),
    Case("views_of_operands", lambda v: tt.exp(v.m * 2).T, "exp(mul(dimshuffle{1,0}(m), [[2.0]]))"),
    Case("views_of_operands", lambda v: tt.dot(v.m, v.k).T, "matmul(dimshuffle{1,0}(k), dimshuffle{1,0}(m))"),
    Case("dimshuffle_of_reshape", lambda v: v.m.reshape((-1,)).dimshuffle("x", 0), "reshape(ndim=2)(m, 1, -1)"),
]

BROADCASTING = [
    Case(
        "alloc_of_alloc",
        lambda v: tt.alloc(tt.alloc(v.x, 1, v.x.shape[0]), 3, v.x.shape[0]),
        "alloc(x, 3, shapei(axis=0)(x))",
    ),
    Case(
        "alloc_of_dimshuffle",
        lambda v: tt.alloc(v.x.dimshuffle("x", 0), 3, v.x.shape[0]),
        "alloc(x, 3, shapei(axis=0)(x))",
    ),
    Case("operand_broadcast_in_vain", lambda v: tt.exp(tt.alloc(v.s, v.n)), "alloc(exp(s), n)"),
]

INDEXING = [
    Case("subtensor_of_everything", lambda v: v.m[:, : v.m.shape[1]], "m"),
    Case("canonical_positions", lambda v: v.three[-2:3:1], "subtensor{[1:]}(three)"),
    Case("canonical_positions", lambda v: tt.inc_subtensor(v.three[-1], v.s), "incsubtensor{[2]}(three, s)"),
    Case("subtensor_of_unit_dimensions", lambda v: v.row[0], "dimshuffle{1}(row)"),
    Case("element_of_shape", lambda v: tt.shape(v.m)[1:] * 1, "dimshuffle{x}(shapei(axis=1)(m))"),
    Case("subtensor_of_subtensor", lambda v: v.x[2:][3:9:2], "subtensor{[5:11:2]}(x)"),
    Case("subtensor_of_subtensor", lambda v: v.x[::-1][v.n], "subtensor{[?]}(x, sub(-1, n))"),
    Case("subtensor_of_subtensor", lambda v: v.m[v.n - 1][:2], "subtensor{[?, :2]}(m, sub(n, 1))"),
    Case("subtensor_of_subtensor", lambda v: v.x[:-1][-2], "subtensor{[-3]}(x)"),
    Case("positions_that_are_a_slice", lambda v: v.three[[0, 1]], "subtensor{[:2]}(three)"),
    Case("positions_that_are_a_slice", lambda v: v.m[tt.arange(v.m.shape[0])], "m"),
    Case("subtensor_of_picked", lambda v: v.m[v.idx][1], "subtensor{[?, :]}(m, subtensor{[1]}(idx))"),
    Case("subtensor_of_picked", lambda v: v.m[v.idx][1:], "advancedsubtensor{[array, :]}(m, subtensor{[1:]}(idx))"),
    Case("read_of_write", lambda v: tt.set_subtensor(v.x[2:5], v.three)[2:5], "three"),
    Case("read_of_write", lambda v: tt.inc_subtensor(v.x[v.n], v.s)[v.n], "add(subtensor{[?]}(x, n), s)"),
    Case("read_inside_write", lambda v: tt.set_subtensor(v.three[:2], v.x[:2])[2], "subtensor{[2]}(three)"),
    Case(
        "read_inside_write",
        lambda v: tt.set_subtensor(v.grid[1:4], v.grid[::-1][1:4] * 2)[2],
        "mul(subtensor{[3]}(grid), 2.0)",
    ),
]

LIFTING = [
    Case("views_of_operands", lambda v: tt.exp(v.m * v.s)[0], "exp(mul(subtensor{[0, :]}(m), dimshuffle{x}(s)))"),
    Case(
        "views_of_operands",
        lambda v: (v.three + tt.sqr(v.three))[1:],
        "add(subtensor{[1:]}(three), sqr(subtensor{[1:]}(three)))",
    ),
    Case("subtensor_of_dimshuffle", lambda v: v.m.T[1:, 0], "subtensor{[0, 1:]}(m)"),
    Case("subtensor_of_dimshuffle", lambda v: v.x[None, :, None][0, 2], "dimshuffle{x}(subtensor{[2]}(x))"),
    Case(
        "subtensor_of_alloc",
        lambda v: tt.alloc(v.x, 3, v.x.shape[0])[1, 2:],
        "alloc(subtensor{[2:]}(x), sub(shapei(axis=0)(x), minimum(2, shapei(axis=0)(x))))",
    ),
    Case("subtensor_of_join", lambda v: tt.concatenate([v.three, v.x])[4], "subtensor{[1]}(x)"),
    Case("subtensor_of_join", lambda v: tt.concatenate([v.x, v.y])[v.x.shape[0] :], "y"),
    Case("subtensor_of_join", lambda v: tt.concatenate([v.three, v.three * 2])[2::-1], "subtensor{[::-1]}(three)"),
    Case(
        "views_of_operands",
        lambda v: tt.concatenate([v.m, v.m * 2], axis=1)[0],
        "join(axis=0)(subtensor{[0, :]}(m), mul(subtensor{[0, :]}(m), [2.0]))",
    ),
    Case("subtensor_of_join", lambda v: tt.stack([v.s, 2 * v.s, v.s])[-2], "mul(2.0, s)"),
    Case("views_of_operands", lambda v: v.cube.sum(axis=1)[0, 1:], "sum{axes=[0]}(subtensor{[0, :, 1:]}(cube))"),
    Case("views_of_operands", lambda v: v.m.argmax(axis=1)[2], "argmax{axes=[0]}(subtensor{[2, :]}(m))"),
    Case(
        "views_of_operands",
        lambda v: tt.softmax(v.m, axis=1)[0, 1:],
        "subtensor{[1:]}(softmax(axes=(0,))(subtensor{[0, :]}(m)))",
    ),
    Case(
        "views_of_operands",
        lambda v: tt.dot(v.m, v.k)[1:, 0],
        "dimshuffle{0}(matmul(subtensor{[1:, :]}(m), dimshuffle{0,x}(subtensor{[:, 0]}(k))))",
    ),
    Case(
        "views_of_operands",
        lambda v: tt.dot(v.m, v.k)[-1],
        "dimshuffle{1}(matmul(dimshuffle{x,0}(subtensor{[-1, :]}(m)), k))",
    ),
    Case(
        "subtensor_of_reshape",
        lambda v: v.cube.reshape((v.cube.shape[0], -1))[1],
        "reshape(ndim=1)(subtensor{[1, :, :]}(cube), mul(shapei(axis=1)(cube), shapei(axis=2)(cube)))",
    ),
]

INCREMENTS = [
    Case(
        "increment_of_zeros",
        lambda v: tt.inc_subtensor(tt.zeros_like(v.x)[2:5], v.three),
        "setsubtensor{[2:5]}(alloc(0.0, shapei(axis=0)(x)), three)",
    ),
    Case("useless_write", lambda v: tt.inc_subtensor(v.three[1:], 0.0), "three"),
    Case("useless_write", lambda v: tt.set_subtensor(v.x[v.n :], v.x[v.n :]), "x"),
    Case("useless_write", lambda v: tt.set_subtensor(tt.zeros_like(v.x)[2:], 0.0), "alloc(0.0, shapei(axis=0)(x))"),
    Case("set_of_sum", lambda v: tt.set_subtensor(v.x[2:], v.s + v.x[2:]), "incsubtensor{[2:]}(x, dimshuffle{x}(s))"),
    Case(
        "write_of_write",
        lambda v: tt.set_subtensor(tt.set_subtensor(v.x[2:], 1.0)[2:], v.s),
        "setsubtensor{[2:]}(x, s)",
    ),
    Case(
        "write_of_write",
        lambda v: tt.inc_subtensor(tt.inc_subtensor(v.x[v.idx], 1.0)[v.idx], v.s),
        "advancedincsubtensor{[array]}(x, add(1.0, s), idx)",
    ),
    Case("write_of_everything", lambda v: tt.set_subtensor(v.three[:3], v.s), "alloc(s, 3)"),
    Case("write_of_everything", lambda v: tt.inc_subtensor(v.three[:3], v.s), "add(three, dimshuffle{x}(s))"),
    Case("write_of_alloc", lambda v: tt.set_subtensor(v.grid[1:3], tt.alloc(v.s, 2)), "setsubtensor{[1:3]}(grid, s)"),
    Case(
        "sum_with_increment", lambda v: v.x + tt.inc_subtensor(tt.zeros_like(v.x)[2:], v.s), "incsubtensor{[2:]}(x, s)"
    ),
    Case(
        "sum_with_increment",
        lambda v: tt.inc_subtensor(tt.zeros_like(v.x)[v.idx], v.s) + tt.inc_subtensor(tt.zeros_like(v.x)[1], 3.0),
        "incsubtensor{[1]}(advancedincsubtensor{[array]}(alloc(0.0, shapei(axis=0)(x)), s, idx), 3.0)",
    ),
    Case("write_at_a_slice", lambda v: tt.inc_subtensor(v.three[[0, 2]], v.s), "incsubtensor{[::2]}(three, s)"),
]

JOINING = [
    Case("join_of_one", lambda v: tt.concatenate([v.x]), "x"),
    Case("join_with_nothing", lambda v: tt.concatenate([v.x, v.three[:0], v.y]), "join(axis=0)(x, y)"),
    Case("join_of_joins", lambda v: tt.concatenate([tt.concatenate([v.x, v.y]), v.three]), "join(axis=0)(x, y, three)"),
    Case(
        "join_of_constants",
        lambda v: tt.stack([tt.constant(1.0), tt.constant(2.0), v.s]),
        "join(axis=0)([1.0, 2.0], dimshuffle{x}(s))",
    ),
    Case("join_of_same", lambda v: tt.concatenate([tt.alloc(v.s, v.n), tt.alloc(v.s, 2)]), _JOINED),
    Case("join_of_same", lambda v: tt.concatenate([v.row, v.row, v.row]), "alloc(row, 3, shapei(axis=1)(row))"),
    Case("join_of_consecutive_slices", lambda v: tt.concatenate([v.x[: v.n], v.x[v.n :]]), "x"),
    Case("join_of_consecutive_slices", lambda v: tt.concatenate([v.m[1, :1], v.m[1, 1:2]]), "subtensor{[1, :2]}(m)"),
]

REDUCTION = [
    Case("useless_reduction", lambda v: v.row.sum(), "dimshuffle{}(sum{axes=[1]}(row))"),
    Case("useless_position", lambda v: v.row.argmax(axis=0), "alloc(0, shapei(axis=1)(row))"),
    Case("reduction_of_dimshuffle", lambda v: v.cube.dimshuffle(2, "x", 0, 1).sum(axis=(0, 1)), "sum{axes=[2]}(cube)"),
    Case("reduction_of_dimshuffle", lambda v: v.m.T.argmax(axis=0), "argmax{axes=[1]}(m)"),
    Case("reduction_of_reshape", lambda v: v.m.reshape((2, -1)).max(), "max{axes=[0, 1]}(m)"),
    Case("reduction_of_join", lambda v: tt.concatenate([v.x, v.y]).sum(), "add(sum{axes=[0]}(x), sum{axes=[0]}(y))"),
    Case("reduction_of_join", lambda v: tt.stack([v.x, v.x * 2]).max(axis=0), "maximum(x, mul(x, [2.0]))"),
    Case(
        "reduction_of_join",
        lambda v: tt.concatenate([v.m, v.m * 2]).prod(axis=1),
        "join(axis=0)(prod{axes=[1]}(m), prod{axes=[1]}(mul(m, [[2.0]])))",
    ),
    Case("reduction_of_alloc", lambda v: tt.alloc(v.s, 5, 4).sum(axis=0), "alloc(mul(s, 5.0), 4)"),
    Case("reduction_of_alloc", lambda v: tt.alloc(v.x, 3, v.x.shape[0]).max(), "max{axes=[0]}(x)"),
    Case("reduction_of_alloc", lambda v: tt.ones((v.x.shape[0], 2)).prod(), "1.0"),
    Case("reduction_of_negative", lambda v: (-v.m).sum(axis=0), "neg(sum{axes=[0]}(m))"),
    Case("extremum_of_negative", lambda v: -(-v.x).max(), "min{axes=[0]}(x)"),
    Case("extremum_of_negative", lambda v: (-v.x).argmin(), "argmax{axes=[0]}(x)"),
    Case("reduction_of_negative", lambda v: tt.all(tt.logical_not(v.b)), "invert(any{axes=[0]}(b))"),
    Case("sum_of_scaled", lambda v: (v.m * 3).sum(axis=1), "mul([3.0], sum{axes=[1]}(m))"),
    Case("sum_of_scaled", lambda v: (v.m / 0.25).sum(), "mul(sum{axes=[0, 1]}(m), 4.0)"),
    Case("sum_of_scaled", lambda v: tt.rad2deg(v.m).sum(), "rad2deg(sum{axes=[0, 1]}(m))"),
]

PRODUCT = [
    Case(
        "product_over_length_one",
        lambda v: tt.matmul(v.x[:, None], v.y[None]),
        "mul(dimshuffle{0,x}(x), dimshuffle{x,0}(y))",
    ),
    Case(
        "product_of_uniform",
        lambda v: tt.dot(tt.ones((2, v.k.shape[0])), v.k),
        "alloc(sum{axes=[0]}(k), 2, shapei(axis=1)(k))",
    ),
    Case(
        "product_of_uniform",
        lambda v: tt.dot(v.m, tt.alloc(v.s, v.m.shape[1], 3)),
        "alloc(dimshuffle{0,x}(sum{axes=[1]}(mul(dimshuffle{x,x}(s), m))), shapei(axis=0)(m), 3)",
    ),
    Case(
        "product_over_nothing",
        lambda v: tt.dot(v.m[:, :0], v.k[:0]),
        "alloc(0.0, shapei(axis=0)(m), shapei(axis=1)(k))",
    ),
    Case("product_of_scaled", lambda v: tt.dot(2 * v.m, v.k), "mul([[2.0]], matmul(m, k))"),
    Case("product_of_scaled", lambda v: tt.dot(v.m, -v.k), "neg(matmul(m, k))"),
    Case("product_of_scaled", lambda v: tt.dot(v.m / 0.3, v.k), "true_div(matmul(m, k), [[0.3]])"),
    Case(
        "one_matrix_times_stack_of_columns",
        lambda v: tt.matmul(v.k.T, tt.exp(v.m).dimshuffle(0, 1, "x")),
        "dimshuffle{0,1,x}(matmul(exp(m), k))",
    ),
    Case(
        "stack_times_one_matrix",
        lambda v: tt.matmul(v.cube, v.k),
        "reshape(ndim=3)(matmul(reshape(ndim=2)(cube, mul(shapei(axis=0)(cube), shapei(axis=1)(cube)), "
        "shapei(axis=2)(cube)), k), shapei(axis=0)(cube), shapei(axis=1)(cube), shapei(axis=1)(k))",
    ),
    Case(
        "stack_of_one",
        lambda v: tt.matmul(v.cube[None], v.cube[None].swapaxes(-1, -2)),
        "dimshuffle{x,0,1,2}(matmul(cube, dimshuffle{0,2,1}(cube)))",
    ),
    Case(
        "chain_of_products",
        lambda v: tt.dot(tt.dot(v.m, v.k), v.m[:, 0]),
        "dimshuffle{0}(matmul(m, matmul(k, dimshuffle{0,x}(subtensor{[:, 0]}(m)))))",
        exact=False,
    ),
    Case(
        "chain_of_products",
        lambda v: tt.dot(tt.dot(v.thin, v.thin.T), v.thin),
        "matmul(thin, matmul(dimshuffle{1,0}(thin), thin))",
        exact=False,
    ),
]

SAYING = [
    Case("gradient_control_left_out", lambda v: tt.grad_clip(tt.zero_grad(v.x), -1.0, 1.0) * v.y, "mul(x, y)"),
    Case("assumptions_left_out", lambda v: tt.exp(tt.assume(v.x, nonnegative=True)), "exp(x)"),
]

CASES = [
    *SHAPE,
    *RESHAPE,
    *DIMSHUFFLE,
    *BROADCASTING,
    *INDEXING,
    *LIFTING,
    *INCREMENTS,
    *JOINING,
    *REDUCTION,
    *PRODUCT,
    *SAYING,
]
