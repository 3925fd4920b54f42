"""Options about what sums, gradients and ranges are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.graph import DisconnectedType
from treadle.tensor import DisconnectedInputError, grad, pushforward

S = tt.dscalar("s")
WIDE = np.array([1e8, 1, -1e8], "float32")


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_wide_accumulation_adds_float32_in_float64(mode: str) -> None:
    x = tt.fvector("x")
    outputs = []
    for accumulation in ("numpy", "wide"):
        with config.change_flags(accumulation=accumulation):
            outputs += [x.sum(), x.mean()]
    values = [float(value) for value in function([x], outputs, mode=mode)(WIDE)]
    assert values[2:] == pytest.approx([1.0, 1 / 3])
    assert all(out.dtype == "float32" for out in outputs)


@pytest.mark.parametrize(
    ("dtype", "accumulator"),
    [("float16", "float32"), ("float32", "float64"), ("float64", "float64"), ("complex64", "complex128")],
)
def test_wide_accumulation_is_one_step_wider(dtype: str, accumulator: str) -> None:
    x = tt.vector("x", dtype=dtype)
    with config.change_flags(accumulation="wide"):
        assert tt.sum(x).owner.op.acc_dtype == accumulator  # type: ignore[union-attr]
        assert tt.sum(x, acc_dtype=dtype).owner.op.acc_dtype == dtype  # type: ignore[union-attr]


def test_gradient_at_a_tie_is_shared_or_all_the_first_operand_s() -> None:
    def slopes() -> list[float]:
        costs = (tt.maximum(S, 0.0), tt.maximum(0.0, S), tt.minimum(S, 0.0), tt.minimum(0.0, S))
        return [float(grad(cost, S).eval({S: 0.0})) for cost in costs]

    assert slopes() == [0.5] * 4
    with config.change_flags(gradient_at_ties="first"):
        assert slopes() == [1.0, 0.0, 1.0, 0.0]


def test_gradient_of_equal_largest_elements_is_shared_or_whole() -> None:
    v = tt.dvector("v")
    value = {v: [2.0, 2.0, 1.0]}
    assert grad(v.max(), v).eval(value).tolist() == [0.5, 0.5, 0.0]
    with config.change_flags(gradient_at_ties="first"):
        assert grad(v.max(), v).eval(value).tolist() == [1.0, 1.0, 0.0]


def test_gradients_by_integers_are_refused_or_those_of_floats() -> None:
    i = tt.lscalar("i")
    with pytest.raises(DisconnectedInputError):
        grad(i * S, i)
    with config.change_flags(nondifferentiable="zero"):
        slope = grad(i * S, i)
        assert slope.dtype == "float64"
        assert slope.eval({S: 3.0}) == 3
        assert grad((i**2).astype("float64") * S, i).eval({i: 2, S: 3.0}, on_unused_input="ignore") == 0
        with pytest.raises(DisconnectedInputError):
            grad(S, i)


def test_gradients_by_what_only_conditions_depend_on_are_refused_or_zeros() -> None:
    c = tt.dscalar("c")
    cost = tt.switch(c > 0, S, 2 * S)
    with pytest.raises(DisconnectedInputError):
        grad(cost, c)
    with config.change_flags(nondifferentiable="zero"):
        slopes = grad(cost, [c, S])
        assert [float(g.eval({c: 1.0, S: 1.0}, on_unused_input="ignore")) for g in slopes] == [0.0, 1.0]


def test_loops_and_forward_mode_take_integers_where_gradients_are_zeros() -> None:
    counts = tt.lvector("counts")
    with config.change_flags(nondifferentiable="zero"):
        out, _ = tt.scan(lambda n, total: total + n * S, sequences=[counts], outputs_info=[tt.constant(0.0)])
        assert grad(out[-1], S).eval({counts: [1, 2, 3], S: 2.0}) == 6
        (tangent,) = pushforward([S * tt.eq(S, 1.0)], [S], [tt.constant(1.0)])
        assert tangent.eval({S: 1.0}) == 1


def test_ranges_of_floats_keep_their_dtype_under_the_custom_policy() -> None:
    a = tt.fscalar("a")
    assert tt.arange(a).dtype == "float64"
    with config.change_flags(cast_policy="custom"):
        assert [tt.arange(*bounds).dtype for bounds in ((a,), (3.0,), (0, a, 0.1), (3,))] == [
            *("float32", "float32", "float64", "int64")
        ]
        assert tt.arange(a).eval({a: 3.0}).tolist() == [0, 1, 2]


def test_absent_gradients_of_an_op_are_none_or_variables() -> None:
    out = tt.dvector("v")[tt.lvector("positions")]
    node = out.owner
    assert node is not None
    op: Any = node.op
    assert op.L_op(node.inputs, node.outputs, [out])[1] is None
    with config.change_flags(absent_gradients="disconnected"):
        absent = op.L_op(node.inputs, node.outputs, [out])[1]
        assert absent is not None
        assert isinstance(absent.type, DisconnectedType)
        assert grad(out.sum(), node.inputs[0]).ndim == 1
