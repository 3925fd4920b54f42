"""What is known about lengths, and that unknown ones are not assumed to be equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import assert_same, rewrite, run, text
from treadle.graph import toposort
from treadle.rewrite import RewriteDatabaseQuery
from treadle.tensor.rewrites import SymbolicShapes
from treadle.tensor.shapes.broadcasting import SumTo


def same(a: Any, b: Any) -> bool:
    shapes = SymbolicShapes()
    return shapes.of(a) == shapes.of(b)


def test_elementwise_results_have_the_lengths_of_their_operands() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    assert same(x, tt.exp(x) * 2 + x)
    assert same(x + y, tt.exp(y) * x - x)
    assert not same(x, y)
    assert not same(x, x + y)


def test_known_lengths_win_over_unknown_ones() -> None:
    x = tt.dvector("x")
    three = tt.tensor("three", dtype="float64", shape=(3,))
    assert same(three, x + three)
    assert not same(x, x + three)


def test_lengths_follow_dimensions_through_ops() -> None:
    m = tt.dmatrix("m")
    assert same(m.T, tt.exp(m).T)
    assert same(m.sum(axis=0), m[0])
    assert same(m, tt.zeros_like(m))
    assert same(m, tt.alloc(0.0, *m.shape))
    assert same(m[:, 0], tt.dot(m, m.T)[0])
    assert same(m, tt.softmax(m, axis=1))
    assert same(m.reshape((m.shape[1], m.shape[0])), m.T)
    assert same(tt.inc_subtensor(m[0], 1.0), m)
    assert same(tt.logsumexp(m, axis=0), m.argmax(axis=0))
    assert same(tt.concatenate([m, m], axis=1)[:, 0], m[:, 0])


def test_slices_of_unknown_bounds_are_lengths_of_their_own() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    assert not same(x, x[:n])
    part = x[:n]
    assert same(part, tt.exp(part))


def test_length_given_as_a_scalar_counts_by_identity() -> None:
    n, k = tt.lscalar("n"), tt.lscalar("k")
    assert same(tt.zeros((n,)), tt.ones((n,)))
    assert not same(tt.zeros((n,)), tt.zeros((k,)))


def test_reshape_to_a_scalar_that_may_be_minus_one_is_not_trusted() -> None:
    m, n = tt.dmatrix("m"), tt.lscalar("n")
    assert not same(m.reshape((n, 1)), tt.zeros((n, 1)))


def test_sums_of_lengths_are_equal_if_their_parts_are() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    assert same(tt.concatenate([x, y]), tt.concatenate([tt.exp(x), -y]))
    assert same(tt.concatenate([x, y]), tt.concatenate([y, x]))
    assert not same(tt.concatenate([x, y]), tt.concatenate([x, x]))


def test_broadcast_of_many_unknown_lengths_stays_small() -> None:
    vectors = [tt.dvector(str(i)) for i in range(200)]
    total = vectors[0]
    for v in vectors[1:]:
        total = total + v
    shapes = SymbolicShapes()
    assert all(len(n) <= 8 for var in (total, vectors[0]) for n in shapes.of(var))
    assert same(total, tt.exp(total))


def test_long_chain_is_analysed_without_recursion(length: int) -> None:
    x = tt.dvector("x")
    var = x
    for _ in range(length):
        var = tt.exp(var)
    assert same(x, var)


def test_shape_does_not_compute_the_tensor() -> None:
    m, k = tt.dmatrix("m"), tt.dmatrix("k")
    costly = tt.exp(tt.dot(tt.tanh(m), k)).sum(axis=0)
    fgraph, _ = rewrite([m, k], [costly.shape[0]])
    assert text(fgraph.outputs[0]) == "shapei(axis=1)(k)"


def test_size_is_computed_from_lengths() -> None:
    m = tt.dmatrix("m")
    fgraph, _ = rewrite([m], [tt.exp(m).size])
    assert not any("Exp" in str(node.op) for node in fgraph.apply_nodes)
    assert run(fgraph, [np.zeros((3, 5))])[0] == 15


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((1,), (5,)), ((5,), (1,)), ((1,), (1,)), ((0,), (1,)), ((1,), (0,))])
def test_unknown_lengths_broadcast_at_run_time_after_rewriting(shapes: Any) -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    cost = (tt.exp(x) * y + (x - y) ** 2).sum()
    outputs = [*tt.grad(cost, [x, y]), (x + y).shape[0], tt.where(True, x, y), tt.second(x, y), tt.zeros_like(x) * y]
    values = [np.random.default_rng(0).normal(size=s) for s in shapes]
    plain, _ = rewrite([x, y], outputs, RewriteDatabaseQuery())
    for query in ("fast_run", "fast_compile"):
        fgraph, _ = rewrite([x, y], outputs, query)
        assert_same(run(plain, values), run(fgraph, values))
        assert any(isinstance(node.op, SumTo) for node in toposort(fgraph.outputs))


def test_gradient_of_one_variable_needs_no_summing_back() -> None:
    x = tt.dmatrix("x")
    cost = (tt.sin(x) * tt.exp(x) / (1 + x**2)).sum()
    fgraph, _ = rewrite([x], [tt.grad(cost, x)])
    names = {type(node.op).__name__ for node in fgraph.apply_nodes}
    assert names == {"Elemwise"}
