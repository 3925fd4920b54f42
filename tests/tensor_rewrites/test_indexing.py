"""Indices lifted, merged, and read from writes: values and errors stay those of NumPy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import assert_same, rewrite, run, text
from treadle.graph import NodeError
from treadle.rewrite import RewriteDatabaseQuery
from treadle.tensor import Elemwise, IncSubtensor, Join, MatMul, Reduction, Subtensor

X = tt.dvector("x")
FIRST = [(None, None, -1), (1, None, None), (None, -1, None), (-3, None, None), (1, 5, 2), (2, -1, 1), (4, 0, -2)]
SECOND = [(None, None, -1), (1, None, None), (None, 2, None), (-2, None, None), (0, 9, 2), (-1, 0, -1)]


def ops(fgraph: Any) -> list[str]:
    return [type(node.op).__name__ for node in fgraph.toposort()]


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("symbolic", [False, True])
def test_slice_of_a_slice_takes_what_numpy_takes(first: Any, symbolic: bool) -> None:
    bounds = [tt.lscalar(name) for name in "abc"]
    for second in SECOND:
        bounds_of_second = [b if n is not None and symbolic else n for b, n in zip(bounds, second, strict=True)]
        if symbolic and second[2] is not None:
            bounds_of_second[2] = second[2]
        fgraph, _ = rewrite([X, *bounds], [X[slice(*first)][slice(*bounds_of_second)]])
        values = [np.array(0 if n is None else n) for n in second]
        for n in range(7):
            x = np.arange(n, dtype="float64")
            np.testing.assert_array_equal(run(fgraph, [x, *values])[0], x[slice(*first)][slice(*second)])


@pytest.mark.parametrize("first", FIRST)
def test_element_of_a_slice_is_out_of_bounds_just_when_numpy_says_so(first: Any) -> None:
    i = tt.lscalar("i")
    for at in range(-5, 6):
        for var, inputs in ((X[slice(*first)][at], [X]), (X[slice(*first)][i], [X, i])):
            fgraph, _ = rewrite(inputs, [var])
            for n in range(7):
                x = np.arange(n, dtype="float64")
                values = [x, np.array(at)][: len(inputs)]
                part = x[slice(*first)]
                if -len(part) <= at < len(part):
                    assert run(fgraph, values)[0] == part[at]
                else:
                    with pytest.raises(NodeError):
                        run(fgraph, values)


@pytest.mark.parametrize("lengths", list(product([1, 3], repeat=2)))
def test_index_is_not_lifted_over_a_length_that_may_broadcast(lengths: tuple[int, int]) -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    outputs = [tt.exp(x + y)[-1], (x * y)[:2], (x - y)[::-2]]
    fgraph, _ = rewrite([x, y], outputs)
    assert not any(isinstance(n.op, Subtensor) and n.inputs[0] in fgraph.inputs for n in fgraph.apply_nodes)
    plain, _ = rewrite([x, y], outputs, RewriteDatabaseQuery())
    values = [np.random.default_rng(n).normal(size=n) for n in lengths]
    assert_same(run(plain, values), run(fgraph, values))


def test_index_of_a_result_that_is_used_elsewhere_is_not_lifted() -> None:
    y = tt.exp(X)
    fgraph, report = rewrite([X], [y[0], y.sum()])
    assert "views_of_operands" not in report.fired()
    assert len([node for node in fgraph.apply_nodes if isinstance(node.op, Elemwise)]) == 1


def test_index_goes_all_the_way_down() -> None:
    m, k = tt.dmatrix("m"), tt.dmatrix("k")
    fgraph, _ = rewrite([m, k], [tt.tanh(tt.dot(tt.exp(m), k).sum(axis=1) * 2)[3]])
    first = next(node for node in fgraph.toposort() if isinstance(node.op, Elemwise))
    assert text(first.outputs[0]) == "exp(dimshuffle{x,0}(subtensor{[3, :]}(m)))"
    assert any(isinstance(node.op, MatMul) for node in fgraph.apply_nodes)
    value = np.random.default_rng(0).normal(size=(5, 4))
    expected = np.tanh(np.dot(np.exp(value), value.T).sum(axis=1) * 2)[3]
    np.testing.assert_allclose(run(fgraph, [value, value.T])[0], expected)


def test_index_out_of_bounds_of_an_alloc_stays_an_error() -> None:
    n, i = tt.lscalar("n"), tt.lscalar("i")
    fgraph, _ = rewrite([n, i], [tt.alloc(1.5, n)[i]])
    assert run(fgraph, [np.array(3), np.array(2)])[0] == 1.5
    with pytest.raises(NodeError):
        run(fgraph, [np.array(3), np.array(3)])


def test_gradient_of_a_join_is_cut_without_joining() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    cost = tt.sqr(tt.concatenate([x, y, x])).sum()
    for wrt, expected in ((x, [4.0, 8.0]), (y, [6.0])):
        fgraph, _ = rewrite([x, y], [tt.grad(cost, wrt)], "fast_compile")
        results = run(fgraph, [np.array([1.0, 2.0]), np.array([3.0])])
        assert_same([np.array(expected)], results)
    assert not any(isinstance(node.op, Join) for node in fgraph.apply_nodes)


def test_gradients_of_many_reads_become_one_chain_of_increments() -> None:
    cost = sum(tt.sin(X[i]) for i in range(8))
    fgraph, _ = rewrite([X], [tt.grad(cost, X)])
    writes = [node for node in fgraph.apply_nodes if isinstance(node.op, IncSubtensor)]
    assert len(writes) == 8
    # The zeros are made once, and nothing of their size is added.
    kinds: list[Any] = [node.outputs[0].type for node in fgraph.apply_nodes if isinstance(node.op, Elemwise)]
    assert all(kind.shape == () for kind in kinds)
    value = np.arange(10.0)
    np.testing.assert_allclose(run(fgraph, [value])[0], np.where(value < 8, np.cos(value), 0))


def test_set_twice_at_one_repeated_position_keeps_the_last() -> None:
    at = tt.constant(np.array([1, 1, 2]))
    once = tt.set_subtensor(X[at], 5.0)
    fgraph, _ = rewrite([X], [tt.inc_subtensor(once[at], 1.0), once[at]])
    assert run(fgraph, [np.zeros(4)])[0].tolist() == [0, 7, 6, 0]


def test_values_that_do_not_fit_stay_an_error() -> None:
    y = tt.dvector("y")
    fgraph, _ = rewrite([X, y], [tt.set_subtensor(X[1:3], y)])
    with pytest.raises(NodeError):
        run(fgraph, [np.zeros(5), np.zeros(3)])


def test_long_chain_of_writes_is_read_in_bounded_work() -> None:
    def work(n: int) -> float:
        var: Any = X
        for i in range(n):
            var = tt.set_subtensor(var[i], 1.0 * i)
        _, report = rewrite([X], [var[i] for i in range(0, n, 2)], "canonicalize")
        return report.visits / n

    assert work(1_200) < 1.3 * work(100)


def test_reduction_of_a_part_is_not_of_the_whole() -> None:
    m = tt.dmatrix("m")
    fgraph, _ = rewrite([m], [m.sum(axis=0)[1:3], m.max(axis=1)[0]])
    for node in fgraph.apply_nodes:
        if isinstance(node.op, Reduction):
            assert node.inputs[0] is not fgraph.inputs[0]


def test_unsigned_bound_beyond_int64_is_not_negative_after_rewriting() -> None:
    i = tt.scalar("i", dtype="uint64")
    far = np.array(2**64 - 1, "uint64")
    fgraph, _ = rewrite([X, i], [X[::-1][i:], X[::-1][:i], X[i:][::-1]])
    assert [r.tolist() for r in run(fgraph, [np.arange(3.0), far])] == [[], [2.0, 1.0, 0.0], []]
    fgraph, _ = rewrite([X, i], [X[::-1][i]])
    with pytest.raises(NodeError):
        run(fgraph, [np.arange(3.0), far])
