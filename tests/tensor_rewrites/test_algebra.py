"""Sums and products as wholes: cost, what is left alone, and which shapes, dtypes and NaN are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run, text


def wide_sum(n: int) -> tuple[list[Any], Any]:
    """Return a sum of n terms, 7 variables with factors and a number in turn."""
    variables = [tt.dvector(f"v{i}") for i in range(7)]
    total: Any = variables[0]
    for i in range(1, n):
        term = 0.5 if i % 8 == 7 else (i % 3 + 1) * variables[i % 8]
        total = total + term if i % 5 else total - term
    return variables, total


def long_product(n: int) -> tuple[list[Any], Any]:
    """Return a product of n factors and divisors."""
    variables = [tt.dvector(f"v{i}") for i in range(5)]
    total: Any = variables[0]
    for i in range(1, n):
        factor = 1.5 if i % 6 == 5 else variables[i % 6]
        total = total * factor if i % 2 else total / factor
    return variables, total


@pytest.mark.parametrize("build", [wide_sum, long_product])
def test_work_on_a_wide_tree_grows_with_its_width_only(build: Any) -> None:
    reports = []
    for n in (100, 3_000):
        inputs, total = build(n)
        reports.append(rewrite(inputs, [total], "fast_run")[1])
    small, large = reports
    assert large.nodes_before > 29 * small.nodes_before
    assert large.visits / large.nodes_before < 1.1 * small.visits / small.nodes_before + 0.5
    assert large.tries / large.nodes_before < 1.1 * small.tries / small.nodes_before + 5


def test_wide_sum_becomes_one_term_for_each_variable(width: int) -> None:
    inputs, total = wide_sum(width)
    fgraph, _ = rewrite(inputs, [total])
    assert len(fgraph) <= 3 * len(inputs) + 2
    values = [np.random.default_rng(i).normal(size=3) for i in range(7)]
    plain, _ = rewrite(inputs, [total], "merge")
    np.testing.assert_allclose(run(fgraph, values)[0], run(plain, values)[0], rtol=1e-9)


def test_long_chain_of_sums_and_products_is_rewritten(length: int) -> None:
    x = tt.dvector("x")
    var: Any = x
    for i in range(length):
        var = var + 0.25 if i % 2 else var * 1.0000001
    fgraph, report = rewrite([x], [var])
    assert report.nodes_before >= length
    np.testing.assert_allclose(run(fgraph, [np.zeros(1)])[0].shape, (1,))


def test_result_does_not_depend_on_the_run() -> None:
    inputs, total = wide_sum(200)
    assert len({text(rewrite(inputs, [total])[0].outputs[0]) for _ in range(3)}) == 1


def test_sum_that_something_else_uses_is_a_term_by_itself() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    shared = x + 1
    fgraph, _ = rewrite([x, y], [shared + 2, tt.sin(shared)])
    assert [text(v) for v in fgraph.outputs] == ["add(add(x, [1.0]), [2.0])", "sin(add(x, [1.0]))"]


def test_constants_that_would_overflow_stay_apart() -> None:
    x = tt.dvector("x")
    outputs = [(x + 1e308) + 1e308, (x * 1e200) * 1e-200, (x * 1e-200) * 1e-200]
    fgraph, _ = rewrite([x], outputs)
    value = np.array([-1e308])
    plain, _ = rewrite([x], outputs, "merge")
    for old, new in zip(run(plain, [value]), run(fgraph, [value]), strict=True):
        np.testing.assert_array_equal(old, new)


def test_narrow_integers_do_not_meet_before_they_are_widened() -> None:
    u, f = tt.tensor("u", dtype="uint8", shape=(None,)), tt.dvector("f")
    outputs = [f + u - f - u * 1.0, (u * f) * u / f, f - u - f, u - (f + u)]
    fgraph, _ = rewrite([u, f], outputs)
    values = [np.array([200, 0, 255], "uint8"), np.array([3.0, 4.0, 5.0])]
    plain, _ = rewrite([u, f], outputs, "merge")
    for old, new in zip(run(plain, values), run(fgraph, values), strict=True):
        np.testing.assert_allclose(new, old, atol=1e-12)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_integers_wrap_around_as_written(dtype: str) -> None:
    i = tt.tensor("i", dtype=dtype, shape=(None,))
    outputs = [i + 100 + 100, i * 100 * 3, 100 - i - i - i, i - 100 - i, -(i + 1) + 3]
    fgraph, _ = rewrite([i], outputs)
    values = [np.array([0, 1, 50, 127], dtype)]
    plain, _ = rewrite([i], outputs, "merge")
    for old, new in zip(run(plain, values), run(fgraph, values), strict=True):
        assert new.dtype == old.dtype
        np.testing.assert_array_equal(new, old)


def test_operand_that_cancels_still_widens_the_result() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    fgraph, _ = rewrite([x, y], [x + y - y, x * y / y])
    for result in run(fgraph, [np.ones(1), np.arange(1.0, 4.0)]):
        np.testing.assert_array_equal(result, np.ones(3))


def test_nothing_is_cancelled_that_leaves_nothing() -> None:
    x = tt.dvector("x")
    fgraph, _ = rewrite([x], [x - x, x / x, x - x + 1, 2 * x - x - x])
    for result in run(fgraph, [np.array([np.nan, np.inf])]):
        assert np.isnan(result).all()


def test_domain_of_a_root_is_kept() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    fgraph, _ = rewrite([x, y], [tt.sqrt(x) * y * tt.sqrt(x), x**1.5 * y / x**0.5])
    for result in run(fgraph, [np.array([-1.0]), np.array([1.0])]):
        assert np.isnan(result).all()
