"""Stable forms are found in every mode, for constants too, and survive differentiation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run
from treadle.compile import function, get_mode
from treadle.tensor import LogSoftmax, LogSumExp, Softmax

MODES = ["fast_run", "fast_compile"]


def value(expression: Any, mode: str, **inputs: float) -> Any:
    variables = {name: tt.dscalar(name) for name in inputs}
    fgraph, _ = rewrite(list(variables.values()), [expression(**variables)], mode)
    return run(fgraph, [np.array(v) for v in inputs.values()])[0]


@pytest.mark.parametrize("mode", MODES)
def test_logarithm_of_one_plus_exp_does_not_overflow(mode: str) -> None:
    assert value(lambda x: tt.log(1 + tt.exp(x)), mode, x=800.0) == 800.0
    assert value(lambda: tt.log(1 + tt.exp(tt.constant(800.0))), mode) == 800.0


@pytest.mark.parametrize("mode", MODES)
def test_logarithm_of_one_plus_a_little_does_not_cancel(mode: str) -> None:
    assert value(lambda x: tt.log(1 + x), mode, x=1e-20) == 1e-20
    assert value(lambda: tt.log(1 + tt.constant(1e-20)), mode) == 1e-20


@pytest.mark.parametrize("mode", MODES)
def test_logarithm_of_sigmoid_does_not_underflow(mode: str) -> None:
    assert value(lambda x: tt.log(tt.sigmoid(x)), mode, x=-800.0) == -800.0
    assert value(lambda x: tt.log(1 - tt.sigmoid(x)), mode, x=800.0) == -800.0
    assert value(lambda x: tt.log(1 / (1 + tt.exp(-x))), mode, x=-800.0) == -800.0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: tt.log(1 + tt.exp(x)), lambda x: 1 / (1 + np.exp(-x))),
        (lambda x: tt.log(tt.sigmoid(x)), lambda x: 1 / (1 + np.exp(x))),
        (lambda x: -tt.log(1 - tt.sigmoid(x)), lambda x: 1 / (1 + np.exp(-x))),
        (lambda x: tt.log(1 / (1 + tt.exp(-x))), lambda x: 1 / (1 + np.exp(x))),
    ],
)
@pytest.mark.parametrize("at", [-800.0, -40.0, -1.0, 0.0, 2.0, 40.0, 800.0])
def test_gradients_of_stable_forms_are_finite_and_right(mode: str, function: Any, expected: Any, at: float) -> None:
    slope = value(lambda x: tt.grad(function(x), x), mode, x=at)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(slope, expected(at), rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_cross_entropy_has_a_finite_gradient_where_the_prediction_is_certain(mode: str) -> None:
    x = tt.dmatrix("x")
    w, b = tt.dvector("w"), tt.dscalar("b")
    y = tt.dot(x, tt.ones_like(w)) > 0
    p = tt.sigmoid(tt.dot(x, w) + b)
    loss = -(tt.log(p) * y + (1 - y.astype("float64")) * tt.log(1 - p)).sum()
    fgraph, _ = rewrite([x, w, b], [loss, *tt.grad(loss, [w, b])], mode)
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(20, 3)) * 1000, rng.normal(size=3), np.array(0.5)]
    assert all(np.isfinite(v).all() for v in run(fgraph, values))


@pytest.mark.parametrize("mode", MODES)
def test_logarithm_of_softmax_is_finite(mode: str) -> None:
    m = tt.dmatrix("m")
    plain = tt.exp(m) / tt.exp(m).sum(axis=1, keepdims=True)
    fgraph, _ = rewrite([m], [tt.log(plain), tt.log(tt.softmax(m, axis=1)), tt.log(tt.exp(m).sum())], mode)
    first, second, third = run(fgraph, [np.array([[0.0, 1000.0], [-1000.0, 5.0]])])
    np.testing.assert_allclose(first, [[-1000.0, 0.0], [-1005.0, 0.0]])
    np.testing.assert_allclose(second, first)
    assert third == 1000.0


def test_float32_stays_float32() -> None:
    x = tt.fvector("x")
    outputs = [tt.log(1 + tt.exp(x)), x**2 + 0, tt.exp(x) - 1, 1 / (1 + tt.exp(-x))]
    fgraph, _ = rewrite([x], outputs)
    assert [v.type.dtype for v in fgraph.outputs] == ["float32"] * 4  # type: ignore[attr-defined]  # tensor types


def test_integers_are_left_alone() -> None:
    i = tt.lvector("i")
    fgraph, report = rewrite([i], [tt.log(1 + i)])
    assert "log_of_one_plus" not in report.fired()
    np.testing.assert_array_equal(run(fgraph, [np.array([0, 1])])[0], np.log([1, 2]))


def test_zero_times_a_float_is_not_simplified() -> None:
    x = tt.dvector("x")
    fgraph, _ = rewrite([x], [x * 0, x - x, x / x])
    values = [np.array([np.nan, np.inf, -np.inf, 1.0])]
    zero, difference, quotient = run(fgraph, values)
    np.testing.assert_array_equal(zero, [np.nan, np.nan, np.nan, 0.0])
    np.testing.assert_array_equal(difference, [np.nan, np.nan, np.nan, 0.0])
    np.testing.assert_array_equal(quotient, [np.nan, np.nan, np.nan, 1.0])


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("op", [Softmax, LogSoftmax, LogSumExp])
def test_normalizations_are_taken_apart_on_request_where_the_last_axis_is_kept(op: Any, dtype: str) -> None:
    x = tt.tensor("x", dtype=dtype, shape=(None, None))
    apart = function([x], [op((0,))(x), op((1,))(x)], mode=get_mode("VM").including("normalization_by_rows"))
    kept = [node.op.axes for node in apart.maker.fgraph.apply_nodes if isinstance(node.op, op)]
    assert kept == [(1,)]
    whole = function([x], [op((0,))(x), op((1,))(x)], mode="VM")
    for values in (np.array([[1.0, -np.inf, 800.0], [2.0, -np.inf, np.inf]], dtype), np.zeros((2, 0), dtype)):
        for one, other in zip(apart(values), whole(values), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3 if dtype == "float16" else 1e-13)
