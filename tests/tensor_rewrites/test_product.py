"""Matrix products: fewer operations, and BLAS's accumulation where it is right."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import assert_same, rewrite, run, text
from treadle.rewrite import RewriteDatabaseQuery
from treadle.tensor import Elemwise, Gemm, MatMul

RNG = np.random.default_rng(7)


def matrices(*shapes: tuple[int, int]) -> tuple[list[Any], list[Any]]:
    """Return matrices of known shapes, and values."""
    variables = [tt.tensor(f"a{i}", dtype="float64", shape=shape) for i, shape in enumerate(shapes)]
    return variables, [RNG.normal(size=shape) for shape in shapes]


def operations(fgraph: Any) -> int:
    """Return the number of multiplications in the products of a graph."""
    total = 0
    for node in fgraph.apply_nodes:
        if isinstance(node.op, MatMul):
            (m, k), (_, n) = (x.type.shape for x in node.inputs)
            total += m * k * n
    return total


def best(sizes: tuple[int, ...]) -> int:
    """Return the fewest multiplications of a chain, by trying every place for the last product."""
    if len(sizes) < 3:
        return 0
    each = (best(sizes[: k + 1]) + best(sizes[k:]) + sizes[0] * sizes[k] * sizes[-1] for k in range(1, len(sizes) - 1))
    return min(each)


@pytest.mark.parametrize("sizes", [(30, 2, 40, 3, 20), (5, 50, 1, 50, 5, 9), (2, 3, 4, 5, 6), (9, 9, 9, 1, 9, 2)])
@pytest.mark.parametrize("from_left", [True, False])
def test_chain_is_multiplied_in_the_best_order(sizes: tuple[int, ...], from_left: bool) -> None:
    factors, values = matrices(*pairwise(sizes))
    chain = factors if from_left else factors[::-1]
    total = chain[0]
    for x in chain[1:]:
        total = tt.dot(total, x) if from_left else tt.dot(x, total)
    # The product of a column and a row would be an elementwise one.
    query = RewriteDatabaseQuery(["fast_run"], exclude=["product_over_length_one"])
    fgraph, _ = rewrite(factors, [total], query)
    assert operations(fgraph) == best(sizes)
    np.testing.assert_allclose(run(fgraph, values)[0], np.linalg.multi_dot(values))


def test_product_that_is_used_elsewhere_keeps_its_place() -> None:
    (a, b, c), _ = matrices((30, 2), (2, 30), (30, 1))
    inner = tt.dot(a, b)
    fgraph, report = rewrite([a, b, c], [tt.dot(inner, c), inner])
    assert "chain_of_products" not in report.fired()
    assert len([node for node in fgraph.apply_nodes if isinstance(node.op, MatMul)]) == 2


def test_long_chain_of_products_is_left_without_much_work() -> None:
    def tries(n: int) -> float:
        m = tt.tensor("m", dtype="float64", shape=(3, 3))
        total: Any = m
        for _ in range(n):
            total = tt.dot(total, m)
        return rewrite([m], [total])[1].tries / n

    assert tries(400) < 1.2 * tries(40)


def test_step_of_gradient_descent_is_one_accumulated_product() -> None:
    w, x, e, rate = tt.dmatrix("w"), tt.dmatrix("x"), tt.dmatrix("e"), tt.dscalar("rate")
    expression = w - rate * tt.dot(x.T, e)
    fgraph, report = rewrite([w, x, e, rate], [expression])
    assert "accumulated_product" in report.fired()
    assert text(fgraph.outputs[0]) == "gemm(w, mul(rate, -1.0), dimshuffle{1,0}(x), e, 1.0)"
    values = [RNG.normal(size=s) for s in ((4, 3), (5, 4), (5, 3), ())]
    np.testing.assert_allclose(run(fgraph, values)[0], values[0] - values[3] * values[1].T @ values[2])


@pytest.mark.parametrize("tag", ["BlasOpt", "accumulated_product", "gemm_optimizer"])
def test_backends_and_users_can_do_without_accumulation(tag: str) -> None:
    w, x = tt.dmatrix("w"), tt.dmatrix("x")
    fgraph, _ = rewrite([w, x], [w + tt.dot(x, x)], RewriteDatabaseQuery(["fast_run"], exclude=[tag]))
    assert not any(isinstance(node.op, Gemm) for node in fgraph.apply_nodes)


def test_sum_that_goes_on_elementwise_is_computed_on_the_way() -> None:
    w, x, b = tt.dmatrix("w"), tt.dmatrix("x"), tt.dvector("b")
    for expression in (tt.tanh(w + tt.dot(x, x)), tt.dot(x, x) + b):
        fgraph, _ = rewrite([w, x, b], [expression])
        assert not any(isinstance(node.op, Gemm) for node in fgraph.apply_nodes)


@pytest.mark.parametrize("vector", ["left", "right"])
@pytest.mark.parametrize("sign", [1, -1])
def test_products_with_vectors_are_accumulated_too(vector: str, sign: int) -> None:
    m, v, y = tt.dmatrix("m"), tt.dvector("v"), tt.dvector("y")
    product = tt.dot(m, v) if vector == "right" else tt.dot(v, m)
    fgraph, _ = rewrite([m, v, y], [y + 2 * product if sign > 0 else y - 2 * product])
    assert any(isinstance(node.op, Gemm) for node in fgraph.apply_nodes)
    a, b, c = RNG.normal(size=(3, 3)), RNG.normal(size=3), RNG.normal(size=3)
    expected = a @ b if vector == "right" else b @ a
    np.testing.assert_allclose(run(fgraph, [a, b, c])[0], c + sign * 2 * expected)


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (3, 1), (1, 1)])
@pytest.mark.parametrize("rows", [3, 1])
def test_accumulation_broadcasts_where_lengths_turn_out_to_be_one(shape: tuple[int, int], rows: int) -> None:
    c, a, b = tt.dmatrix("c"), tt.dmatrix("a"), tt.dmatrix("b")
    fgraph, _ = rewrite([c, a, b], [c * 3 - tt.dot(a, b)])
    assert any(isinstance(node.op, Gemm) for node in fgraph.apply_nodes)
    values = [RNG.normal(size=s) for s in (shape, (rows, 2), (2, 4))]
    np.testing.assert_allclose(run(fgraph, values)[0], values[0] * 3 - values[1] @ values[2])


@pytest.mark.parametrize("alpha", [0.0, np.nan, np.inf, -0.0])
def test_accumulation_keeps_nan_and_infinities(alpha: float) -> None:
    c, a, b, s = tt.dmatrix("c"), tt.dmatrix("a"), tt.dmatrix("b"), tt.dscalar("s")
    outputs = [c + s * tt.dot(a, b)]
    plain, _ = rewrite([c, a, b, s], outputs, RewriteDatabaseQuery())
    fgraph, _ = rewrite([c, a, b, s], outputs)
    bad = np.array([[np.nan, 1.0], [np.inf, 0.0]])
    for values in ([bad, np.eye(2), np.eye(2)], [np.eye(2), bad, np.eye(2)], [np.zeros((2, 2)), np.eye(2), bad]):
        assert_same(run(plain, [*values, np.array(alpha)]), run(fgraph, [*values, np.array(alpha)]))


@pytest.mark.parametrize("number", [0.0, 1.0, np.inf, np.nan])
def test_product_of_a_uniform_matrix_keeps_nan_and_infinities(number: float) -> None:
    b, s = tt.dmatrix("b"), tt.dscalar("s")
    outputs = [tt.dot(tt.alloc(s, 2, b.shape[0]), b), tt.dot(b, tt.alloc(s, b.shape[1], 3))]
    fgraph, report = rewrite([b, s], outputs)
    assert "product_of_uniform" in report.fired()
    assert not any(isinstance(node.op, MatMul) for node in fgraph.apply_nodes)
    plain, _ = rewrite([b, s], outputs, RewriteDatabaseQuery())
    for value in (np.array([[np.nan, 1.0], [0.0, np.inf]]), np.zeros((0, 2)), np.zeros((2, 0))):
        assert_same(run(plain, [value, np.array(number)]), run(fgraph, [value, np.array(number)]))


@pytest.mark.parametrize("batch", [(2,), (0,), (1,), (3, 1), (2, 3)])
def test_stack_times_one_matrix_is_one_product(batch: tuple[int, ...]) -> None:
    a, b = tt.tensor("a", dtype="float64", ndim=len(batch) + 2), tt.dmatrix("b")
    fgraph, _ = rewrite([a, b], [tt.matmul(a, b)])
    (product,) = [node for node in fgraph.apply_nodes if isinstance(node.op, MatMul)]
    assert product.outputs[0].type.ndim == 2  # type: ignore[attr-defined]  # a tensor
    for rows, inner, columns in ((4, 3, 2), (0, 3, 2), (4, 0, 2), (1, 1, 1)):
        x, y = RNG.normal(size=(*batch, rows, inner)), RNG.normal(size=(inner, columns))
        np.testing.assert_allclose(run(fgraph, [x, y])[0], x @ y)


def test_inner_lengths_that_differ_stay_an_error() -> None:
    a, b = tt.dmatrix("a"), tt.tensor("b", dtype="float64", shape=(1, None))
    fgraph, _ = rewrite([a, b], [tt.matmul(a, b)])
    assert not all(isinstance(node.op, Elemwise) for node in fgraph.apply_nodes)
    with pytest.raises(ValueError, match="MatMul"):
        run(fgraph, [np.zeros((2, 3)), np.zeros((1, 4))])
