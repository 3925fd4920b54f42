"""Cases for the rules of loops."""

from __future__ import annotations

from typing import Any

import treadle.tensor as tt
from tests.tensor_rewrites.expressions import Case


def _scan(step: Any, start: Any, rows: Any, length: Any = None) -> Any:
    return tt.scan_with_carry(step, start, rows, length)


def _sums(v: Any, row: Any = lambda x: x) -> Any:
    """Return the last sum of a loop that cannot be taken out of it."""
    return _scan(lambda s, x: (tt.sin(s) + row(x), None), v.s, v.x)[0]


CLEANUP = [
    Case(
        "loop_of_unused",
        lambda v: _scan(lambda c, x: ((tt.sin(c[0]), c[1] + x), c[1]), (v.s, v.s), v.x)[0][0],
        "scan{loop}(shapei(axis=0)(x), s)",
    ),
    Case(
        "loop_of_equal",
        lambda v: _scan(lambda s, x: (tt.sin(s) * x[0] + x[1], None), v.s, (v.x, v.x))[0],
        "scan{loop}(shapei(axis=0)(x), x, s)",
    ),
    Case(
        "loop_of_equal",
        lambda v: tt.add(*_scan(lambda c, x: ((tt.sin(c[0]) + x, tt.sin(c[1]) + x), None), (v.s, v.s), v.x)[0]),
        "mul(2.0, scan{loop}(shapei(axis=0)(x), x, s))",
    ),
    Case(
        "constants_into_loop",
        lambda v: _scan(lambda c, x: ((tt.sin(c[0]) + x, c[1]), None), (v.s, v.three[0]), v.x)[0][1],
        "subtensor{[0]}(three)",
    ),
    Case(
        "constants_into_loop",
        lambda v: _scan(lambda c, x: ((tt.sin(c[0]) * c[1] + x, c[1]), None), (v.s, tt.constant(2.0)), v.x)[0][0],
        "scan{loop}(shapei(axis=0)(x), x, s)",
    ),
    Case("stacked_inputs", lambda v: _scan(lambda s, x: (s, x), v.s, v.x)[1], "x"),
    Case(
        "stacked_inputs",
        lambda v: _scan(lambda s, _: (s, v.three[0]), v.s, v.x)[1],
        "alloc(subtensor{[0]}(three), shapei(axis=0)(x))",
    ),
]

MERGING = [
    Case(
        "merge_loops",
        lambda v: _sums(v) + _sums(v, tt.exp),
        "add(scan{loop}(shapei(axis=0)(x), x, exp(x), s, s), scan{loop}(shapei(axis=0)(x), x, exp(x), s, s))",
    ),
]

HOISTING = [
    Case(
        "lengths_out_of_loop",
        lambda v: _scan(lambda s, x: (tt.sin(s) + x.shape[0] + x.sum(), None), v.s, v.m)[0],
        "scan{loop}(shapei(axis=0)(m), sum{axes=[1]}(m), s, shapei(axis=1)(m))",
    ),
    Case(
        "invariants_out_of_loop",
        lambda v: _scan(lambda c, x: ((tt.sin(c[0]) * tt.exp(c[1]) + x, c[1]), None), (v.s, v.three[0]), v.x)[0][0],
        "scan{loop}(shapei(axis=0)(x), x, s, exp(subtensor{[0]}(three)))",
    ),
    Case("rows_out_of_loop", lambda v: _sums(v, tt.exp), "scan{loop}(shapei(axis=0)(x), exp(x), s)"),
    Case("rows_out_of_loop", lambda v: _scan(lambda _, x: (None, tt.exp(x) * 2), None, v.x)[1], "mul(exp(x), [2.0])"),
    Case(
        "rows_out_of_loop",
        lambda v: _scan(lambda s, x: (tt.sin(s) + tt.dot(tt.outer(v.three, v.three), x), None), v.three, v.m)[0],
        "scan{loop}(shapei(axis=0)(m), mul(matmul(m, dimshuffle{0,x}(three)), dimshuffle{x,0}(three)), three)",
    ),
    Case(
        "equal_rows",
        lambda v: _scan(lambda s, x: (tt.sin(s) * x[0] + x[1], None), v.s, (tt.alloc(v.s, v.x.shape[0]), v.x))[0],
        "scan{loop}(shapei(axis=0)(x), x, s, s)",
    ),
    Case(
        "results_out_of_loop",
        lambda v: _scan(lambda s, x: ((r := tt.sin(s) + x), tt.exp(r)), v.s, v.x)[1],
        "exp(scan{loop}(shapei(axis=0)(x), x, s))",
    ),
]


def _sum_of_numbers(v: Any, term: Any) -> Any:
    """Return the product of a sum over a loop's steps, and of its last stacked state."""
    (_, total), states = _scan(lambda c, x: ((n := 2 + tt.sin(c[0] * x), c[1] + term(c[0], x)), n), (v.s, v.s), v.x)
    return total * states.sum()


SUMS = [
    Case(
        "sums_out_of_loop",
        lambda v: _scan(
            lambda c, x: ((tt.sin(c[0]) + x, c[1] + tt.outer(c[0], x)), None),
            (v.three, tt.outer(v.three, v.three)),
            v.m,
        )[0][1],
        "gemm(mul(dimshuffle{0,x}(three), dimshuffle{x,0}(three)), 1.0, "
        "dimshuffle{1,0}(scan{loop}(shapei(axis=0)(m), m, three)), m, 1.0)",
    ),
    # The states are stacked for the second result.
    Case(
        "sums_out_of_loop",
        lambda v: _sum_of_numbers(v, lambda s, x: tt.log(s) + x / s),
        "mul(add(add(s, sum{axes=[0]}(true_div(x, subtensor{[:-1]}(join(axis=0)(dimshuffle{x}(s), "
        "scan{loop}(shapei(axis=0)(x), x, s)))))), sum{axes=[0]}(log(subtensor{[:-1]}(join(axis=0)(dimshuffle{x}(s), "
        "scan{loop}(shapei(axis=0)(x), x, s)))))), sum{axes=[0]}(scan{loop}(shapei(axis=0)(x), x, s)))",
    ),
]

TRACES = [
    Case(
        "last_row_is_carry",
        lambda v: _scan(lambda s, x: ((r := tt.sin(s) + x), r), v.s, v.three)[1][-1],
        "scan{loop}(3, three, s)",
    ),
    Case(
        "last_row_is_carry",
        lambda v: _scan(lambda s, x: ((r := tt.sin(s) + x), r), v.s, v.x)[1][-1],
        "checkandraise{raises=indexerror, msg='the last row of a result is...'}"
        "(scan{loop}(shapei(axis=0)(x), x, s), gt(shapei(axis=0)(x), 0))",
    ),
    Case(
        "last_row_as_carry",
        lambda v: _scan(lambda s, x: (tt.sin(s) + x, s * x), v.s, v.three)[1][-1],
        "scan{loop}(3, three, s, 0.0)",
    ),
    Case(
        "last_rows_in_ring",
        lambda v: _scan(lambda s, x: ((r := tt.sin(s) + x), r), v.s, v.x)[1][-2:],
        "advancedsubtensor{[array]}(scan{loop}(shapei(axis=0)(x), x, s, 0, [0.0, 0.0]), subtensor{[-2:]}"
        "(subtensor{[:?]}(mod(add(dimshuffle{x}(mul(mod(shapei(axis=0)(x), 2), cast_int64(ge(shapei(axis=0)(x), 2)))), "
        "[0, 1]), [2]), minimum(shapei(axis=0)(x), 2))))",
    ),
    Case(
        "fewer_steps",
        lambda v: _scan(lambda s, x: ((r := tt.sin(s) + x), r), v.s, v.x)[1][:2],
        "subtensor{[:2]}(scan{loop}(minimum(shapei(axis=0)(x), 2), x, s))",
    ),
]

SOLVING = [
    Case(
        "factor_out_of_loop",
        lambda v: _scan(
            lambda h, x: (tt.linalg.solve(tt.outer(v.three, v.three) + tt.eye(3), tt.sin(h) + x), None),
            v.three,
            tt.outer(v.three, v.three),
        )[0],
        "scan{loop}(3, mul(dimshuffle{0,x}(three), dimshuffle{x,0}(three)), three, "
        "lufactor(check_finite=true, on_error='nan')(add(mul(dimshuffle{0,x}(three), dimshuffle{x,0}(three)), "
        "[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])), "
        "lufactor(check_finite=true, on_error='nan')(add(mul(dimshuffle{0,x}(three), dimshuffle{x,0}(three)), "
        "[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])))",
    ),
]

UNROLLING = [
    Case(
        "loop_of_one_step",
        lambda v: _scan(lambda s, x: (tt.sin(s) + x, None), v.s, v.three[:1])[0],
        "add(sin(s), dimshuffle{}(subtensor{[:1]}(three)))",
    ),
    Case("loop_of_one_step", lambda v: _scan(lambda s, x: (tt.sin(s) + x, None), v.s, v.three[:0])[0], "s"),
    Case(
        "accumulation_by_loop",
        lambda v: _scan(lambda s, x: ((r := s + x), r), v.s, v.x)[1],
        "subtensor{[1:]}(cumulativesum{axis=0}(join(axis=0)(dimshuffle{x}(s), x)))",
    ),
    Case(
        "accumulation_by_loop",
        lambda v: _scan(lambda s, x: ((r := s * x), r), v.s, v.x)[1],
        "subtensor{[1:]}(cumulativeprod{axis=0}(join(axis=0)(dimshuffle{x}(s), x)))",
    ),
]

SEARCHES = [
    Case(
        "constants_into_search",
        lambda v: tt.optimize.root_scalar(v.s**3 - v.y[0] - tt.constant([8.0])[0], v.s)[0],
        "optimum{root_scalar, method=secant}(s, subtensor{[0]}(y))",
    ),
    Case(
        "fixed_point_as_loop",
        lambda v: tt.optimize.fixed_point(lambda x: tt.cos(x * v.y[0]) / 2, v.s)[0],
        "while{fixed_point}(switch(isfinite(s), 9223372036854775807, 0), s, 0, subtensor{[0]}(y))",
    ),
]

CASES = [*CLEANUP, *MERGING, *HOISTING, *SUMS, *TRACES, *SOLVING, *UNROLLING, *SEARCHES]
