"""Cases for the rules of choices between branches, and of ops made of graphs."""

from __future__ import annotations

from typing import Any

import treadle.tensor as tt
from tests.tensor_rewrites.expressions import Case


def _choice(v: Any, x: Any, y: Any) -> Any:
    return tt.ifelse(v.n, x, y)


def _inner(inline: bool, x: Any) -> Any:
    a = x.type.make_variable("a")
    return tt.OpFromGraph([a], [tt.exp(a) * 2], inline=inline)(x)


CHOICES = [
    Case("ifelse_of_constant", lambda v: tt.ifelse(tt.constant(2.0), tt.exp(v.x), v.y), "exp(x)"),
    Case("ifelse_of_constant", lambda v: tt.ifelse(False, [tt.exp(v.x), v.x], [v.y, v.y])[1], "y"),
    Case("ifelse_of_same", lambda v: _choice(v, tt.exp(v.x), tt.exp(v.x)), "exp(x)"),
    Case("ifelse_of_not", lambda v: tt.ifelse(tt.logical_not(v.n), tt.exp(v.x), v.y), "if{}(n, y, exp(x))"),
    Case("ifelse_in_ifelse", lambda v: _choice(v, _choice(v, tt.exp(v.x), v.y), v.x), "if{}(n, exp(x), x)"),
    Case("ifelse_in_ifelse", lambda v: _choice(v, v.x, _choice(v, v.y, tt.exp(v.x))), "if{}(n, x, exp(x))"),
    Case("ifelse_of_unused", lambda v: tt.ifelse(v.n, [v.x, v.s], [v.y, tt.exp(v.s)])[0], "if{}(n, x, y)"),
    Case("ifelse_lift_single_if", lambda v: tt.exp(_choice(v, v.x, v.y)), "if{}(n, exp(x), exp(y))"),
    Case("ifelse_lift_single_if", lambda v: _choice(v, v.m, v.k).T, "if{}(n, dimshuffle{1,0}(m), dimshuffle{1,0}(k))"),
    Case(
        "cond_merge_ifs",
        lambda v: _choice(v, v.x, v.y) * _choice(v, v.y, v.x),
        "mul(if{}(n, x, y, y, x), if{}(n, x, y, y, x))",
    ),
]

FROM_GRAPH = [
    Case("inline_ofg_expansion", lambda v: _inner(True, v.x), "mul(exp(x), [2.0])"),
    Case(
        "inline_ofg_in_loops",
        lambda v: tt.scan_with_carry(lambda s, x: (tt.cos(_inner(True, -(s**2))) + x, None), v.s, v.x)[0],
        "scan{loop}(shapei(axis=0)(x), x, s)",
    ),
    Case("late_inline_OpFromGraph", lambda v: _inner(False, v.x), "mul(exp(x), [2.0])"),
]

POSITIVE = tt.Assert("positive")


def _checked(v: Any, *conditions: Any) -> Any:
    return POSITIVE(v.x, *conditions)


ASSERTIONS = [
    Case("useless_assertion", lambda v: _checked(v, True), "x"),
    Case("useless_assertion", lambda v: _checked(v, v.n > 0, True, v.n > 0), "assert{msg='positive'}(x, gt(n, 0))"),
    Case(
        "assertion_of_assertion",
        lambda v: POSITIVE(_checked(v, v.n > 0), v.n > 1),
        "assert{msg='positive'}(x, gt(n, 0), gt(n, 1))",
    ),
    Case(
        "elemwise_of_assertion",
        lambda v: tt.exp(_checked(v, v.n > 0)) * _checked(v, v.n > 0),
        "assert{msg='positive'}(mul(exp(x), x), gt(n, 0))",
    ),
]

BLOCKWISE = [
    Case("blockwise_of_batching_op", lambda v: tt.Blockwise(tt.DimShuffle((0,), 1), "(n)->(n)")(v.x), "x"),
    Case(
        "blockwise_of_batching_op",
        lambda v: tt.Blockwise(tt.DimShuffle((0, "x"), 1), "(n)->(n,m)")(v.m),
        "dimshuffle{0,1,x}(m)",
    ),
]

CASES = [*CHOICES, *FROM_GRAPH, *ASSERTIONS, *BLOCKWISE]
