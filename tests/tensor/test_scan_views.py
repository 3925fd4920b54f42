"""map, reduce, foldl, foldr, filter and scan_checkpoints."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import GraphValueError, NodeValueError, applys_between, shared
from treadle.scan import filter as filtered
from treadle.scan import foldl, foldr, reduce, scan, scan_checkpoints, until
from treadle.scan import map as map_
from treadle.tensor import ArgumentError, Scan, TensorTypeError
from treadle.tensor.random import RandomStream
from treadle.testing import verify_grad

V = np.array([1.0, -2.0, 3.0, 0.5, 4.0, 2.0, 0.25])
X, Y = tt.dvector("x"), tt.dvector("y")


def computed(outputs: Any, *values: Any) -> Any:
    return function([X, Y][: len(values)], outputs, mode="VM")(*values)


def test_map_stacks_what_steps_return() -> None:
    (a, b), updates = map_(lambda x, y, c: [x * y, x + c], [X, Y], 2.0)
    assert updates == {}
    results = computed([a, b], V, V[:3])
    np.testing.assert_array_equal(results[0], V[:3] ** 2)
    np.testing.assert_array_equal(results[1], V[:3] + 2)
    np.testing.assert_array_equal(computed(map_(lambda x: x, X, go_backwards=True)[0], V), V[::-1])


def test_folds_go_from_the_left_and_from_the_right() -> None:
    def step(x: Any, s: Any) -> Any:
        return 0.5 * s - x

    left = right = 1.0
    for x, y in zip(V, V[::-1], strict=True):
        left, right = step(x, left), step(y, right)
    for result, wanted in [
        (foldl(step, X, 1.0), left),
        (reduce(step, X, 1.0), left),
        (foldr(step, X, 1.0), right),
        (reduce(step, X, 1.0, go_backwards=True), right),
    ]:
        assert computed(result[0], V) == pytest.approx(wanted)


@pytest.mark.parametrize("depth", [1, 2, 20])
def test_reduction_of_nothing_is_what_it_starts_with(depth: int) -> None:
    start: Any = {"initial": np.arange(1.0, depth + 1), "taps": [-depth]} if depth > 1 else 1.0
    total = reduce(lambda x, s: s + x, X, start, return_updates=False)
    assert computed(total, V[:0]) == depth
    history = list(np.arange(1.0, depth + 1))
    for x in V:
        history.append(history[-depth] + x)
    assert computed(total, V) == history[-1]


def test_reduction_keeps_several_states() -> None:
    (most, total), _ = reduce(lambda x, m, s: [tt.maximum(x, m), s + x], X, [-np.inf, 0])
    assert [float(x) for x in computed([most, total], V)] == [4.0, V.sum()]
    with pytest.raises(ArgumentError, match=r"reduce: outputs_info must say what the states start with"):
        reduce(lambda x, s: s + x, X, None)


def test_filter_keeps_rows_for_which_a_condition_holds() -> None:
    np.testing.assert_array_equal(computed(filtered(lambda x: x > 1, X), V), V[V > 1])
    np.testing.assert_array_equal(computed(filtered(lambda x: x > 1, X, go_backwards=True), V), V[::-1][V[::-1] > 1])
    x, y = filtered(lambda x, y, c: x * y > c, [X, Y], 1.0)
    kept = computed([x, y], V, V[:3] * 2)
    np.testing.assert_array_equal(kept, [V[:3], V[:3] * 2])
    np.testing.assert_array_equal(computed(filtered(lambda x: x.astype("int64"), X), V), V[np.abs(V) >= 1])
    with pytest.raises(ArgumentError, match="must have no taps"):
        filtered(lambda x: x > 1, {"input": X, "taps": [-1]})
    with pytest.raises(TensorTypeError, match="must be a scalar, got rank 1"):
        filtered(lambda x: x > 1, tt.dmatrix())
    with pytest.raises(GraphValueError, match="one condition, got 2 outputs"):
        filtered(lambda x: [x > 1, x], X)


# Checkpoints


@pytest.mark.parametrize("every", [1, 2, 3, 7, 10])
@pytest.mark.parametrize("length", [0, 1, 6, 7])
def test_checkpoints_are_every_kth_state_and_the_last(every: int, length: int) -> None:
    def step(x: Any, s: Any) -> Any:
        return [tt.tanh(0.5 * s + x), s * x]

    (states, products), _ = scan_checkpoints(step, X, [0.5, None], save_every_N=every)
    (whole, rows), _ = scan(step, X, [0.5, None])
    at = [i for i in range(length) if (i + 1) % every == 0 or i == length - 1]
    results = computed([states, products, whole, rows], V[:length])
    np.testing.assert_allclose(results[0], results[2][at])
    np.testing.assert_allclose(results[1], results[3][at])


def test_gradient_through_checkpoints_is_that_of_the_plain_loop() -> None:
    w = np.array([0.5, -0.3])

    def cost(x: Any, w: Any) -> Any:
        states = scan_checkpoints(
            lambda x, s, w: tt.tanh(w[0] * s + w[1] * x), x, 0.1, w, save_every_N=3, return_updates=False
        )
        return (states**2).sum()

    verify_grad(cost, [V, w], mode="VM")
    verify_grad(lambda x, w: tt.grad(cost(x, w), w)[0], [V, w], mode="VM")


def test_gradient_keeps_states_of_chunks_and_steps_of_one_chunk() -> None:
    """Of n steps in chunks of k, what is stacked outside of the loops has n/k rows, and within them k."""
    x = tt.tensor("x", shape=(100,), dtype="float64")
    last = scan_checkpoints(lambda x, s: tt.sin(s + x), x, 0.0, save_every_N=10, return_updates=False)[-1]
    outer: Any = [n for n in applys_between([x], [tt.grad(last, x)]) if isinstance(n.op, Scan)]
    rows: Any = [out.type for n in outer for out in n.outputs[n.op.n_carries : n.op.n_carries + n.op.n_stacked]]
    assert {row.shape[0] for row in rows} == {10}
    inner: Any = [
        n for o in outer for n in applys_between(o.op.inner_inputs, o.op.inner_outputs) if isinstance(n.op, Scan)
    ]
    steps: Any = [n.inputs[0].owner for n in inner]
    assert len(inner) >= 2
    assert all(node.op == tt.minimum and node.inputs[1].data == 10 for node in steps)


def test_checkpoints_carry_draws_and_updates() -> None:
    s = shared(np.array(0.0), "s")
    stream = RandomStream(2)
    states, updates = scan_checkpoints(
        lambda x: ([x + stream.normal(), s * 1.0], {s: s + 1}), X, save_every_N=2, padding=True
    )
    run = function([X], states, updates=updates, mode="VM")
    draws, counts = run(V)
    more, _ = run(V)
    np.testing.assert_array_equal(counts, [1, 3, 5, 6])
    assert s.get_value() == 14
    assert len({*(draws - V[[1, 3, 5, 6]]), *(more - V[[1, 3, 5, 6]])}) == 8


def test_gradient_flows_through_draws_between_checkpoints() -> None:
    stream = RandomStream(2)
    w = tt.dscalar("w")
    states, _ = scan_checkpoints(lambda x, s: s * w + stream.normal(x), X, 0.0, save_every_N=3)
    slope = function([X, w], tt.grad(states[-1], X), mode="VM")
    np.testing.assert_allclose(slope(V, 0.5), 0.5 ** np.arange(len(V))[::-1])


def test_checkpoints_without_padding_need_whole_chunks() -> None:
    states = scan_checkpoints(lambda x, s: x + s, X, 0.0, save_every_N=3, padding=False, return_updates=False)
    np.testing.assert_array_equal(computed(states, V[:6]), V[:6].cumsum()[[2, 5]])
    with pytest.raises(NodeValueError):
        computed(states, V)
    with pytest.raises(ArgumentError, match="7 steps are no multiple of save_every_N, 3"):
        scan_checkpoints(lambda s: s, None, 0.0, n_steps=7, save_every_N=3, padding=False)


def test_checkpoints_refuse_taps_and_conditions() -> None:
    with pytest.raises(ArgumentError, match=r"sequences\[0\] \(x\) must have no taps"):
        scan_checkpoints(lambda x: x, {"input": X, "taps": [1]})
    with pytest.raises(ArgumentError, match=r"outputs_info\[0\] .*must have no taps"):
        scan_checkpoints(lambda x, s: x + s, X, {"initial": Y, "taps": [-2]})
    with pytest.raises(GraphValueError, match="returned until"):
        scan_checkpoints(lambda x: (x, until(x > 0)), X)


def test_scan_with_carry_computes_steps_again_on_request() -> None:
    def cost(x: Any, recomputes: bool) -> Any:
        return tt.scan_with_carry(lambda s, x: (tt.sin(tt.exp(s) * x), None), 0.1, x, recomputes=recomputes)[0]

    slopes = [tt.grad(cost(X, again), X) for again in (False, True)]
    np.testing.assert_allclose(*computed(slopes, V))
    kept = [
        max(node.op.n_stacked for node in applys_between([X], [slope]) if isinstance(node.op, Scan)) for slope in slopes
    ]
    assert kept[1] < kept[0]


@pytest.mark.parametrize(("start", "rows"), [(0.0, "float32"), (0, "float32"), (0, "int8"), (0.0, "complex64")])
def test_numbers_that_carries_start_with_take_on_the_dtype_of_steps(start: float, rows: str) -> None:
    x = tt.vector("x", dtype=rows)
    last, _ = tt.scan_with_carry(lambda s, row: (s + row, None), start, x)
    assert last.dtype == ("int64" if rows == "int8" else rows)
