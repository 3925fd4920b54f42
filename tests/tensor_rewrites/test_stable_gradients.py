"""Values and gradients of functions that overflow, underflow or cancel as written, against wider arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
import scipy.special

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run
from treadle.rewrite import RewriteDatabaseQuery

if TYPE_CHECKING:
    from collections.abc import Callable

MODES: dict[str, Any] = {"fast_run": "fast_run", "fast_compile": "fast_compile"}
# The rules of a mode without rewrites: forms of values are stable in it, and gradients of scalars.
NO_REWRITES = RewriteDatabaseQuery(["minimum_compile"])
AT = [-800.0, -40.0, -1.0, 0.5, 2.0, 40.0, 800.0]


class Function(NamedTuple):
    """A function as a user writes it, its value and its derivative, for numbers of a wider range."""

    build: Callable[[Any], Any]
    value: Callable[[Any], Any]
    derivative: Callable[[Any], Any]


def s(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def lse(x: Any) -> Any:
    return np.log1p(np.exp(x))


ONE = tt.constant(1, dtype="int8")

FUNCTIONS = {
    "log(1 + e)": Function(lambda x: tt.log(1 + tt.exp(x)), lse, s),
    "log(e + 1)": Function(lambda x: tt.log(tt.exp(x) + 1), lse, s),
    "log(e + one)": Function(lambda x: tt.log(tt.exp(x) + ONE), lse, s),
    "log(0.5 + e + 0.5)": Function(lambda x: tt.log(0.5 + tt.exp(x) + 0.5), lse, s),
    "log1p(e)": Function(lambda x: tt.log1p(tt.exp(x)), lse, s),
    "log(s)": Function(lambda x: tt.log(tt.sigmoid(x)), lambda x: -lse(-x), lambda x: s(-x)),
    "-log(1 - s)": Function(lambda x: -tt.log(1 - tt.sigmoid(x)), lse, s),
    "log1p(-s)": Function(lambda x: tt.log1p(-tt.sigmoid(x)), lambda x: -lse(x), lambda x: -s(x)),
    "log(1 / (1 + 1/e))": Function(lambda x: tt.log(1 / (1 + tt.exp(-x))), lambda x: -lse(-x), lambda x: s(-x)),
    "log(1 - 1 / (1 + 1/e))": Function(lambda x: tt.log(1 - 1 / (1 + tt.exp(-x))), lambda x: -lse(x), lambda x: -s(x)),
    "log(e / (1 + e))": Function(lambda x: tt.log(tt.exp(x) / (1 + tt.exp(x))), lambda x: -lse(-x), lambda x: s(-x)),
    "e / (1 + e)": Function(lambda x: tt.exp(x) / (1 + tt.exp(x)), s, lambda x: s(x) * s(-x)),
    "1 / (1 + 1/e)": Function(lambda x: 1 / (1 + tt.exp(-x)), s, lambda x: s(x) * s(-x)),
    "1 - s": Function(lambda x: 1 - tt.sigmoid(x), lambda x: s(-x), lambda x: -s(x) * s(-x)),
    "e - 1": Function(lambda x: tt.exp(x / 100) - 1, lambda x: np.expm1(x / 100), lambda x: np.exp(x / 100) / 100),
    "log(e - 1)": Function(
        lambda x: tt.log(tt.exp(abs(x)) - 1),
        lambda x: abs(x) + np.log(-np.expm1(-abs(x))),
        lambda x: np.sign(x) / -np.expm1(-abs(x)),
    ),
    "log(1 - 1/e)": Function(
        lambda x: tt.log(1 - tt.exp(-abs(x))),
        lambda x: np.log1p(-np.exp(-abs(x))),
        lambda x: np.sign(x) * np.exp(-abs(x)) / -np.expm1(-abs(x)),
    ),
    "log(e + e**2)": Function(lambda x: tt.log(tt.exp(x) + tt.exp(2 * x)), lambda x: x + lse(x), lambda x: 1 + s(x)),
    "log of three": Function(
        lambda x: tt.log(1 + tt.exp(x) + tt.exp(2 * x)),
        lambda x: np.log1p(np.exp(x) + np.exp(2 * x)),
        lambda x: (1 + 2 * np.exp(x)) / (np.exp(-x) + 1 + np.exp(x)),
    ),
    "log(2 + e)": Function(
        lambda x: tt.log(2 + tt.exp(x)), lambda x: np.log(2 + np.exp(x)), lambda x: 1 / (1 + 2 * np.exp(-x))
    ),
    "cross entropy": Function(
        lambda x: -(0.25 * tt.log(tt.sigmoid(x)) + (1 - 0.25) * tt.log(1 - tt.sigmoid(x))),
        lambda x: 0.25 * lse(-x) + 0.75 * lse(x),
        lambda x: s(x) - 0.25,
    ),
    "in a larger sum": Function(
        lambda x: 3 * tt.log(1 + tt.exp(x)) + x * x / 7 - 1,
        lambda x: 3 * lse(x) + x * x / 7 - 1,
        lambda x: 3 * s(x) + 2 * x / 7,
    ),
    "squared": Function(lambda x: tt.log(1 + tt.exp(x)) ** 2, lambda x: lse(x) ** 2, lambda x: 2 * lse(x) * s(x)),
    "log(s * s)": Function(
        lambda x: tt.log(tt.sigmoid(x) * tt.sigmoid(2 * x)),
        lambda x: -lse(-x) - lse(-2 * x),
        lambda x: s(-x) + 2 * s(-2 * x),
    ),
    "logistic density": Function(
        lambda x: tt.exp(-x) / (1 + tt.exp(-x)) ** 2, lambda x: s(x) * s(-x), lambda x: s(x) * s(-x) * (s(-x) - s(x))
    ),
}


def assert_near(actual: Any, expected: Any, dtype: str) -> None:
    exact = dtype == "float64"
    assert actual.dtype == dtype
    # Where the smaller of two terms is below the rounding of the larger, it is not checked.
    np.testing.assert_allclose(
        actual, expected.astype(dtype), rtol=1e-10 if exact else 1e-4, atol=1e-15 if exact else 1e-6
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_and_gradient_are_right_far_out(name: str, rank: int, dtype: str, mode: str) -> None:
    function = FUNCTIONS[name]
    x = tt.tensor("x", dtype=dtype, shape=(None,) * rank)
    y = function.build(x).astype(dtype)
    outputs = [y, tt.grad(y.sum(), x)]
    fgraph, _ = rewrite([x], outputs, MODES[mode])
    points = np.array(AT, dtype)
    if rank:
        results = run(fgraph, [points])
    else:
        results = [np.stack(values) for values in zip(*[run(fgraph, [np.array(p)]) for p in points], strict=True)]
    wide = points.astype(np.longdouble)
    with np.errstate(all="ignore"):
        assert_near(results[0], function.value(wide), dtype)
        assert_near(results[1], function.derivative(wide), dtype)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_is_right_far_out_in_a_mode_without_rewrites(name: str) -> None:
    function = FUNCTIONS[name]
    x = tt.dvector("x")
    fgraph, _ = rewrite([x], [function.build(x).astype("float64")], NO_REWRITES)
    with np.errstate(all="ignore"):
        assert_near(run(fgraph, [np.array(AT)])[0], function.value(np.array(AT, np.longdouble)), "float64")


@pytest.mark.parametrize("mode", MODES)
def test_intermediate_result_that_is_an_output_too_does_not_hide_the_stable_form(mode: str) -> None:
    x = tt.dscalar("x")
    e = tt.exp(x)
    total = 1 + e
    fgraph, _ = rewrite([x], [tt.log(total), total, e, tt.grad(tt.log(total), x)], MODES[mode])
    assert [float(v) for v in run(fgraph, [np.array(800.0)])] == [800.0, np.inf, np.inf, 1.0]


# Functions over axes

LABELS = np.array([0, 2])
POINTS = [
    np.array([[0.0, 1000.0, 3.0], [-1000.0, 5.0, 2.0]]),
    np.array([[800.0, -800.0, 0.0], [-800.0, -800.0, -801.0]]),
    np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 0.5]]),
]


def picked(m: Any, y: Any) -> Any:
    return m[tt.arange(y.shape[0]), y]


def written_out(x: Any) -> Any:
    return tt.exp(x) / tt.exp(x).sum(axis=1, keepdims=True)


LOG_SUMS: dict[str, Callable[..., Any]] = {
    "axis dropped": lambda x: tt.log(tt.exp(x).sum(axis=1)).sum(),
    "axis kept": lambda x: tt.log(tt.exp(x).sum(axis=1, keepdims=True)).sum(),
    "op": lambda x: tt.logsumexp(x, axis=1).sum(),
    "mean": lambda x: (tt.log(tt.exp(x).mean(axis=1)) + np.log(3)).sum(),
}
CROSS_ENTROPIES: dict[str, Callable[..., Any]] = {
    "part of written out": lambda x, y: -tt.log(picked(written_out(x), y)).mean(),
    "logarithm of written out": lambda x, y: -picked(tt.log(written_out(x)), y).mean(),
    "part of softmax": lambda x, y: -tt.log(picked(tt.softmax(x, axis=1), y)).mean(),
    "logarithm of softmax": lambda x, y: -picked(tt.log(tt.softmax(x, axis=1)), y).mean(),
    "log_softmax": lambda x, y: -picked(tt.log_softmax(x, axis=1), y).mean(),
    "difference": lambda x, y: (tt.log(tt.exp(x).sum(axis=1)) - picked(x, y)).mean(),
    "difference, axis kept": lambda x, y: -picked(x - tt.log(tt.exp(x).sum(axis=1, keepdims=True)), y).mean(),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", LOG_SUMS)
def test_logarithm_of_a_sum_of_exponentials_has_the_softmax_as_gradient(name: str, dtype: str, mode: str) -> None:
    x = tt.tensor("x", dtype=dtype, shape=(None, None))
    cost = LOG_SUMS[name](x)
    fgraph, _ = rewrite([x], [cost, tt.grad(cost, x)], MODES[mode])
    for point in POINTS:
        value, gradient = run(fgraph, [point.astype(dtype)])
        np.testing.assert_allclose(value, scipy.special.logsumexp(point, axis=1).sum(), rtol=1e-4)
        np.testing.assert_allclose(gradient, scipy.special.softmax(point, axis=1), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CROSS_ENTROPIES)
def test_cross_entropy_of_integer_labels_has_a_finite_gradient(name: str, dtype: str, mode: str) -> None:
    x, y = tt.tensor("x", dtype=dtype, shape=(None, None)), tt.lvector("y")
    cost = CROSS_ENTROPIES[name](x, y).astype(dtype)
    fgraph, _ = rewrite([x, y], [cost, tt.grad(cost, x)], MODES[mode])
    for point in POINTS:
        value, gradient = run(fgraph, [point.astype(dtype), LABELS])
        logs = scipy.special.log_softmax(point, axis=1)
        np.testing.assert_allclose(value, -logs[np.arange(2), LABELS].mean(), rtol=1e-5)
        right = (scipy.special.softmax(point, axis=1) - np.eye(3)[LABELS]) / 2
        np.testing.assert_allclose(gradient, right, rtol=1e-4, atol=1e-7)
