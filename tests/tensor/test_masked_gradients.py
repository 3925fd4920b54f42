"""The branch of a switch that is not taken does no harm to derivatives."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import applys_between
from treadle.scan import scan

X = np.array([0.0, -1.0, 4.0])
M = np.array([[0.0, 0.0], [3.0, 4.0]])
N = np.array([1.0, np.nan, 3.0])


def positive(x: Any) -> Any:
    return abs(x) + 4 * (x <= 0)


CASES: dict[str, tuple[Callable[..., Any], Sequence[Any], Callable[..., Any]]] = {
    # The function of inputs, their values, and the same function where nothing is masked out.
    "sqrt": (lambda x: tt.switch(x > 0, tt.sqrt(x), 0), [X], lambda x: tt.switch(x > 0, tt.sqrt(positive(x)), 0)),
    "log": (lambda x: tt.where(x <= 0, x, tt.log(x)), [X], lambda x: tt.where(x <= 0, x, tt.log(positive(x)))),
    "quotient": (
        lambda x: tt.switch(tt.neq(x, 0), tt.sin(x) / x, 1),
        [X],
        lambda x: tt.switch(tt.neq(x, 0), tt.sin(x) / (x + tt.eq(x, 0)), 1),
    ),
    "power": (
        lambda x, a: tt.switch(x > 0, x**a, x),
        [X, np.array(0.5)],
        lambda x, a: tt.switch(x > 0, positive(x) ** a, x),
    ),
    "scaled by a parameter": (
        lambda x, a: tt.switch(x > 0, tt.log(a * x), 0),
        [X, np.array(2.0)],
        lambda x, a: tt.switch(x > 0, tt.log(a * positive(x)), 0),
    ),
    "missing data": (
        lambda a: tt.switch(tt.isnan(N), 0, tt.exp(-((N - a) ** 2))),
        [np.array(1.5)],
        lambda a: tt.exp(-((np.array([1.0, 3.0]) - a) ** 2)),
    ),
    "norm": (
        lambda m: tt.switch((m**2).sum(1) > 0, tt.sqrt((m**2).sum(1)), 0),
        [M],
        lambda m: tt.sqrt((m[1] ** 2).sum()),
    ),
    "nested": (
        lambda x: tt.switch(x > 0, tt.switch(x > 5, tt.log(x - 5), tt.sqrt(x)), 2 * x),
        [X],
        lambda x: tt.switch(x > 0, tt.sqrt(positive(x)), 2 * x),
    ),
}  # fmt: skip


def derivatives(build: Callable[..., Any], values: Sequence[Any], mode: str) -> list[Any]:
    inputs = [tt.tensor(f"x{i}", dtype="float64", ndim=np.ndim(v)) for i, v in enumerate(values)]
    cost = (build(*inputs) ** 2 * 1.5).sum()
    first = tt.grad(cost, inputs)
    size = tt.add(*[(g * tt.cos(g)).sum() for g in first]) if len(first) > 1 else (first[0] * tt.cos(first[0])).sum()
    second = tt.grad(size, inputs)
    third = tt.pushforward(second, inputs, [tt.ones_like(x) for x in inputs])
    return list(function(inputs, [cost, *first, *second, *third], mode=mode)(*values))


@pytest.mark.parametrize("case", CASES)
def test_derivatives_to_third_order_are_those_of_the_branches_taken(case: str) -> None:
    build, values, safe = CASES[case]
    for actual, expected in zip(derivatives(build, values, "VM"), derivatives(safe, values, "VM"), strict=True):
        assert actual == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["C", "NUMBA", "JAX", "PYTORCH", "FAST_COMPILE"])
def test_they_are_in_every_mode(mode: str) -> None:
    for build, values, safe in CASES.values():
        for actual, expected in zip(derivatives(build, values, mode), derivatives(safe, values, "VM"), strict=True):
            assert actual == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_what_is_taken_keeps_the_values_of_ieee_arithmetic() -> None:
    x = tt.dvector("x")
    taken = tt.grad(tt.switch(x >= 0, tt.sqrt(x), 0).sum(), x)
    results = function([x], [taken, tt.grad((tt.sqrt(x) ** 2).sum(), x)], mode="VM")(X)
    assert results[0].tolist() == [np.inf, 0, 0.25]
    assert np.isnan(results[1][0])


def test_a_length_that_turns_out_to_be_one_is_counted_once() -> None:
    x, y = tt.dvectors("x", "y")
    slopes = tt.grad((tt.switch(x > 0, tt.sqrt(y) * tt.log(y), 0) * x).sum(), [x, y])
    by_x, by_y = function([x, y], slopes, mode="VM")(X, [4.0])
    y0 = 4.0
    assert by_x == pytest.approx((X > 0) * np.sqrt(y0) * np.log(y0))
    assert by_y == pytest.approx([4.0 * (np.log(y0) / 2 + 1) / np.sqrt(y0)])
    # Nothing is taken: zero, not NaN.
    assert function([x, y], slopes[1], mode="VM")(-X[1:2] * -1, [0.0]).tolist() == [0.0]


def test_what_needs_no_mask_gets_none() -> None:
    x = tt.vector("x", shape=(3,), dtype="float64")
    y = tt.switch(x > 0, x, 0.01 * x - 1)
    slope = tt.grad(y.sum(), x)
    assert sum(node.op == tt.switch for node in applys_between([x], [slope])) == 3


def test_a_long_expression_is_masked_once() -> None:
    x = tt.vector("x", shape=(3,), dtype="float64")
    sizes = []
    for n in (5, 10):
        y = x
        for _ in range(n):
            y = tt.sqrt(y)
        slope = tt.grad(tt.switch(x > 0, y, 0).sum(), x)
        sizes.append(sum(node.op == tt.switch for node in applys_between([x], [slope])))
    assert sizes == [3, 3]


R = np.array([[0.0, 1.0, 4.0], [1.0, 4.0, 9.0], [-1.0, 0.0, 2.0]])
TAKEN = np.array([False, True, False])
C = tt.vector("c", dtype="bool")
COMBINED: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: tt.switch(C, tt.sum(tt.sqrt(x), axis=1), 0),
    "mean, the other branch": lambda x: tt.switch(~C, 0, tt.mean(tt.log(x), axis=1)),
    "max": lambda x: tt.switch(C, tt.max(tt.sqrt(x), axis=1), 0),
    "var": lambda x: tt.switch(C, tt.var(tt.sqrt(x), axis=1), 0),
    "norm": lambda x: tt.switch(C, tt.sqrt(tt.sum(tt.sqrt(x) ** 2, axis=1)), 0),
    "logsumexp": lambda x: tt.switch(C, tt.logsumexp(tt.log(x), axis=1), 0),
    "axes kept": lambda x: tt.switch(C[:, None], tt.sqrt(x).sum(axis=1, keepdims=True), 0),
    "softmax": lambda x: tt.switch(C[:, None], tt.softmax(tt.sqrt(x), axis=1), 0),
    "transposed": lambda x: tt.switch(C, tt.sqrt(x).T, 0),
    "reshaped": lambda x: tt.switch(tt.repeat(C, 3), tt.sqrt(x).flatten(), 0),
}


@pytest.mark.parametrize("case", COMBINED)
def test_rows_that_are_not_taken_do_no_harm_when_they_were_combined_before(case: str) -> None:
    x = tt.dmatrix("x")
    slope = tt.grad((COMBINED[case](x) ** 3).sum(), x)
    curvature = tt.grad((slope**2).sum(), x)
    run = function([x, C], [slope, curvature], mode="VM")
    gradients = run(R, TAKEN)
    # Where nothing is infinite in the rows that are not taken, derivatives are the same.
    harmless = np.where(TAKEN[:, None], R, 2.0)
    for values, expected in zip(gradients, run(harmless, TAKEN), strict=True):
        np.testing.assert_allclose(values, expected, rtol=1e-12)
        assert np.abs(expected).max() > 1e-3


LOOPED: dict[str, Callable[[Any], Any]] = {
    "sqrt": lambda a: tt.switch(a > 0, tt.sqrt(a), 0.0),
    "power": lambda a: tt.switch(a > 0, a**0.5, 0.0),
    "factor": lambda a: a * tt.switch(a > 0, tt.log(a), 0.0),
    "quotient": lambda a: tt.switch(tt.neq(a, 0), tt.sin(a) / a, 1.0),
    "combined": lambda a: tt.switch(a > 0, tt.sum(tt.sqrt(a * tt.arange(1.0, 3.0))), 0.0),
}


@pytest.mark.parametrize("case", LOOPED)
def test_branches_in_loops_do_no_harm_to_third_order(case: str) -> None:
    v, step = tt.dvector("v"), LOOPED[case]
    values = np.array([-1.0, 0.0, 4.0, 0.3])
    carried = scan(lambda a, s: s + step(a) * (1 + 0.1 * s), v, tt.constant(0.5), return_updates=False)[-1]
    unrolled: Any = 0.5
    for i in range(4):
        unrolled = unrolled + step(v[i]) * (1 + 0.1 * unrolled)
    derivatives_by_v = []
    for cost in (carried, unrolled):
        first = tt.grad(cost, v)
        second = tt.grad((first * np.array([1.0, 2.0, 3.0, 4.0])).sum(), v)
        derivatives_by_v += [first, second, tt.grad((second * np.array([2.0, -1.0, 0.5, 1.0])).sum(), v)]
    values_by_v = function([v], derivatives_by_v, mode="VM")(values)
    for looped, expected in zip(values_by_v[:3], values_by_v[3:], strict=True):
        np.testing.assert_allclose(looped, expected, rtol=1e-9)
        assert np.isfinite(expected).all()
