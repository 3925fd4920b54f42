"""scan: a loop from a function of one step."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import GraphTypeError, GraphValueError, MissingInputError, NodeValueError, Variable, shared
from treadle.tensor import ArgumentError, ShapeError, TensorTypeError, scan, until
from treadle.tensor.random import RandomStream, default_rng, normal
from treadle.testing import verify_grad

V = np.array([1.0, -2.0, 3.0, 0.5, 4.0, 2.0])


def computed(outputs: Any, inputs: Sequence[Variable] = (), values: Sequence[Any] = (), updates: Any = None) -> Any:
    return function(list(inputs), outputs, updates=updates, mode="VM")(*values)


@pytest.mark.parametrize("taps", [[0], [-1, 0, 1], [2, 1], [-2], [0, 3], [1, -2]])
@pytest.mark.parametrize("backwards", [False, True])
def test_taps_of_sequences_give_rows_before_and_after(taps: list[int], backwards: bool) -> None:
    x = tt.dvector("x")
    rows = scan(
        lambda *rows: tt.stack(rows), {"input": x, "taps": taps}, go_backwards=backwards, return_updates=False
    )  # fmt: skip
    first, last = -min(*taps, 0, 0), len(V) - max(*taps, 0, 0)
    steps = range(first, last)
    wanted = np.array([[V[t + tap] for tap in taps] for t in (reversed(steps) if backwards else steps)])
    np.testing.assert_array_equal(computed(rows, [x], [V]), wanted)


@pytest.mark.parametrize("taps", [[-1], [-2, -1], [-1, -3], [-3], [-20, -2], [-17]])
def test_taps_of_states_give_earlier_outputs(taps: list[int]) -> None:
    x = tt.dvector("x")
    depth = -min(taps)
    start = np.arange(1.0, depth + 1) if depth > 1 else 1.0

    def step(row: Any, *states: Any) -> Any:
        return row + sum(0.5 ** (i + 1) * s for i, s in enumerate(states))

    states = scan(step, x, {"initial": start, "taps": taps}, return_updates=False)
    history = list(np.atleast_1d(start))
    rows = np.tile(V, 5)
    for row in rows:
        history.append(step(row, *[history[len(history) + tap] for tap in taps]))
    np.testing.assert_allclose(computed(states, [x], [rows]), history[depth:])


def test_arguments_come_as_sequences_states_and_constants() -> None:
    a, b = tt.dscalar("a"), tt.dscalar("b")
    seen: list[list[str | None]] = []

    def step(*arguments: Any) -> Any:
        seen.append([v.name for v in arguments])
        return [arguments[0], arguments[4]]

    xs, ys, start = tt.dvector("xs"), tt.dvector("ys"), tt.dvector("start")
    (first, second), updates = scan(
        step,
        sequences=[{"input": xs, "taps": [1, 0]}, ys],
        outputs_info=[None, {"initial": start, "taps": [-1, -2]}],
        non_sequences=[a, b],
    )
    assert seen == [["xs[t+1]", "xs[t]", "ys[t]", "start[t-1]", "start[t-2]", "a", "b"]]
    assert updates == {}
    assert (first.ndim, second.ndim) == (1, 1)


def test_shortest_sequence_decides() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    products = scan(lambda a, b: a * b, [x, y], return_updates=False)
    np.testing.assert_array_equal(computed(products, [x, y], [V, V[:2]]), V[:2] ** 2)
    np.testing.assert_array_equal(computed(products, [x, y], [V[:3], V]), V[:3] ** 2)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_number_of_steps_may_be_symbolic(count: int) -> None:
    n, x = tt.iscalar("n"), tt.dvector("x")
    states = scan(lambda row, s: s * 2 + row, x, 1.0, n_steps=n, return_updates=False)
    s = 1.0
    wanted = [s := s * 2 + row for row in V[:count]]
    np.testing.assert_array_equal(computed(states, [n, x], [count, V]), wanted)


def test_wrong_numbers_of_steps_are_errors_of_the_run() -> None:
    n, x = tt.lscalar("n"), tt.dvector("x")
    rows = scan(lambda row: row, x, n_steps=n, return_updates=False)
    with pytest.raises(NodeValueError, match="must not be negative, got -1"):
        computed(rows, [n, x], [-1, V])
    with pytest.raises(NodeValueError, match="length 6, and the loop 7 steps"):
        computed(rows, [n, x], [7, V])


def test_backwards_with_fewer_steps_takes_the_last_rows() -> None:
    x = tt.dvector("x")
    rows = scan(lambda row: row, x, n_steps=2, go_backwards=True, return_updates=False)
    np.testing.assert_array_equal(computed(rows, [x], [V]), V[:-3:-1])


def test_condition_ends_the_loop_after_its_step() -> None:
    x = tt.dvector("x")
    states = scan(lambda row, s: (s + row, until(row > 2)), x, 0.0, return_updates=False)
    np.testing.assert_array_equal(computed(states, [x], [V]), [1, -1, 2])
    np.testing.assert_array_equal(computed(states, [x], [V[2:]]), [3])
    np.testing.assert_array_equal(computed(states, [x], [V[:0]]), [])


def test_parts_of_a_result_come_in_any_order() -> None:
    s = shared(np.array(1.0), "s")
    x = tt.dvector("x")
    orders: list[Any] = [
        lambda row: ([row, row * s], {s: s + 1}, until(row > 2)),
        lambda row: (until(row > 2), {s: s + 1}, [row, row * s]),
        lambda row: ([(s, s + 1)], (row, row * s), until(row > 2)),
        lambda row: (row, row * s, until(row > 2), {s: s + 1}),
    ]
    for step in orders:
        s.set_value(np.array(1.0))
        outputs, updates = scan(step, x)
        rows, scaled = computed(outputs, [x], [V], updates)
        np.testing.assert_array_equal(rows, V[:3])
        np.testing.assert_array_equal(scaled, V[:3] * [1, 2, 3])
        assert s.get_value() == 4


def test_one_output_is_returned_bare_and_none_as_none() -> None:
    s = shared(np.array(1.0), "s")
    assert isinstance(scan(lambda: 1.0, n_steps=2, return_updates=False), Variable)
    assert len(scan(lambda: 1.0, n_steps=2, return_list=True, return_updates=False)) == 1
    outputs, updates = scan(lambda: {s: s * 2}, n_steps=3)
    assert outputs is None
    computed([], updates=updates)
    assert s.get_value() == 8


@pytest.mark.parametrize(
    ("start", "rows", "wanted"),
    [
        (0.0, "float32", "float32"), (0, "float32", "float32"), (0, "int64", "int64"), (0, "float64", "float64"),
        (0.0, "complex64", "complex64"), (False, "int8", "int8"), (0, "complex128", "complex128"),
    ],
)  # fmt: skip
def test_numbers_take_on_the_dtype_of_steps(start: float, rows: str, wanted: str) -> None:
    x = tt.vector("x", dtype=rows)
    states = scan(lambda row, s: s + row, x, start, return_updates=False)
    assert states.dtype == wanted


def test_number_beside_integers_alone_stays_a_wide_integer() -> None:
    states = scan(lambda s: s + 1, outputs_info=0, n_steps=300, return_updates=False)
    assert states.dtype == "int64"
    assert computed(states)[-1] == 300


# Shared variables and draws


def test_shared_variables_are_found_and_updated() -> None:
    s, w = shared(np.array(2.0), "s"), shared(np.ones(3), "w")
    x = tt.dvector("x")
    outputs, updates = scan(lambda row: (row * s + w.sum(), {s: s + 1}), x)
    assert list(updates) == [s]
    run = function([x], outputs, updates=updates, mode="VM")
    np.testing.assert_array_equal(run(V), V * np.arange(2, 8) + 3)
    assert s.get_value() == 8


def test_strict_refuses_shared_variables_that_are_not_given() -> None:
    s = shared(np.array(2.0), "s")
    x = tt.dvector("x")
    with pytest.raises(MissingInputError, match=r"uses the shared variable s, .* non_sequences"):
        scan(lambda row: row * s, x, strict=True)
    scan(lambda row, _: row * s, x, non_sequences=s, strict=True)


def test_default_updates_are_carried() -> None:
    s = shared(np.array(0.0), "s")
    s.default_update = s + 1
    outputs, updates = scan(lambda: s * 10, n_steps=3)
    np.testing.assert_array_equal(computed(outputs, updates=updates), [0, 10, 20])
    assert s.get_value() == 3


def test_updates_that_would_be_lost_are_refused() -> None:
    s = shared(np.array(0.0), "s")
    with pytest.raises(GraphValueError, match=r"update s, and the updates are not returned.*return_updates=False"):
        scan(lambda: (s * 1.0, {s: s + 1}), n_steps=3, return_updates=False)


@pytest.mark.parametrize("returned", [True, False])
def test_draws_of_a_stream_differ_in_steps_and_calls(returned: bool) -> None:
    stream = RandomStream(3)
    result = scan(stream.normal, np.zeros(4), return_updates=returned)
    outputs, updates = result if returned else (result, None)
    run = function([], outputs, updates=updates, mode="VM")
    drawn = np.concatenate([run(), run()])
    assert len(set(drawn)) == 8


def test_draws_are_those_of_a_loop_by_hand() -> None:
    stream, again = RandomStream(3), RandomStream(3)
    states, updates = scan(lambda s: 0.5 * s + stream.normal(), outputs_info=1.0, n_steps=4)
    run = function([], states, updates=updates, mode="VM")
    one = function([], again.normal(), mode="VM")
    wanted: list[float] = []
    for _ in range(2):
        s = 1.0
        wanted += [s := 0.5 * s + one() for _ in range(4)]
    np.testing.assert_allclose([*run(), *run()], wanted)


def test_generator_is_a_state_whose_last_value_is_returned() -> None:
    rng = default_rng(5)

    def step(rng: Any) -> Any:
        rng, drawn = normal(rng=rng, return_next_rng=True)
        return rng, drawn

    (last, drawn), _ = scan(step, outputs_info=[rng, None], n_steps=3)
    assert last.type == rng.type
    _, after = normal(rng=last, return_next_rng=True)
    wanted = np.random.default_rng(5).normal(size=4)
    np.testing.assert_allclose([*computed(drawn), computed(after)], wanted)


def test_generator_may_be_updated_by_the_step() -> None:
    rng = shared(np.random.default_rng(5), "rng")

    def step(generator: Any) -> Any:
        after, drawn = normal(rng=generator, return_next_rng=True)
        return drawn, {generator: after}

    drawn, updates = scan(step, non_sequences=rng, n_steps=3)
    run = function([], drawn, updates=updates, mode="VM")
    np.testing.assert_allclose([*run(), *run()], np.random.default_rng(5).normal(size=6))


def test_draws_in_a_nested_loop_differ() -> None:
    stream = RandomStream(3)

    def outer() -> Any:
        inner, _ = scan(stream.normal, n_steps=2)
        return inner

    drawn, updates = scan(outer, n_steps=3)
    run = function([], drawn, updates=updates, mode="VM")
    assert len({*run().ravel(), *run().ravel()}) == 12


def test_what_is_passed_as_constant_is_drawn_once() -> None:
    stream = RandomStream(3)
    noise = stream.normal()
    sums, updates = scan(lambda row, e: row + e, np.zeros(3), non_sequences=noise)
    assert updates == {}
    assert len(set(computed(sums))) == 1


# States of unusual kinds


def test_states_may_be_returned_unchanged_and_twice() -> None:
    x = tt.dvector("x")
    (a, b, c, d), _ = scan(lambda row, s, t: [s, t, row, row], x, [1.0, 2.0, None, None])
    results = computed([a, b, c, d], [x], [V])
    np.testing.assert_array_equal(results, [np.ones(6), np.full(6, 2.0), V, V])


def test_states_may_swap_places() -> None:
    (a, b), _ = scan(lambda a, b: [b, a], outputs_info=[1, 2], n_steps=3)
    np.testing.assert_array_equal(computed([a, b]), [[2, 1, 2], [1, 2, 1]])


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float32", "complex64"])
def test_states_keep_their_dtype(dtype: str) -> None:
    start = tt.matrix("start", dtype=dtype)
    states = scan(lambda s: s[::-1], outputs_info=start, n_steps=3, return_updates=False)
    first = np.arange(6).reshape(3, 2).astype(dtype)
    values = computed(states, [start], [first])
    assert values.dtype == dtype
    np.testing.assert_array_equal(values, [first[::-1], first, first[::-1]])


def test_gradient_flows_through_taps() -> None:
    x, a = tt.dvector("x"), tt.dvector("a")

    def cost(x: Any, a: Any) -> Any:
        states = scan(
            lambda left, right, old, new, a: tt.tanh(a[0] * old + a[1] * new) + left * right,
            {"input": x, "taps": [-1, 1]}, {"initial": x[:2], "taps": [-2, -1]}, a, return_updates=False,
        )  # fmt: skip
        return (states**2).sum()

    verify_grad(cost, [V / 4, np.array([0.3, -0.4])], mode="VM")
    assert len(computed(tt.grad(cost(x, a), [x, a]), [x, a], [V, V[:2]])) == 2


def test_gradient_flows_through_inner_loops_of_other_lengths() -> None:
    def inner(row: Any, s: Any) -> Any:
        def step(t: Any) -> Any:
            return tt.sin(t) + 0.5, until(t > row)

        return scan(step, outputs_info=s, n_steps=4, return_updates=False).sum() + row

    def cost(x: Any) -> Any:
        return (scan(inner, x, 0.3, return_updates=False) ** 2).sum()

    points = [np.array([0.1, 2.0, 0.4])]
    verify_grad(cost, points, mode="VM")
    verify_grad(lambda x: tt.grad(cost(x), x), points, mode="VM")


def test_gradient_flows_through_inner_loops_of_as_many_steps_as_a_row_says() -> None:
    counts = np.array([2, 0, 3])

    def cost(x: Any) -> Any:
        def inner(row: Any, n: Any, s: Any) -> Any:
            rows = scan(lambda k, t: tt.sin(t * row) + k, tt.arange(n), s, return_updates=False)
            return tt.exp(-rows).sum() * row

        return scan(inner, [x, tt.constant(counts)], 0.3, return_updates=False).sum()

    verify_grad(cost, [np.array([0.1, 2.0, 0.4])], mode="VM")


# Errors when a loop is built


X, M, S = tt.dvector("x"), tt.dmatrix("m"), tt.dscalar("s")
KNOWN = tt.tensor("k", shape=(3,), dtype="float64")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({"fn": 3}, GraphTypeError, r"fn must be a function of one step, got 3"),
        ({"fn": lambda: 1}, ArgumentError, r"number of steps is not known. Pass sequences, or n_steps"),
        ({"fn": lambda: 1, "n_steps": -2}, ArgumentError, r"must not be negative, got -2.*go_backwards"),
        ({"fn": lambda: 1, "n_steps": 2.5}, TensorTypeError, r"n_steps must be an integer scalar, got 2.5"),
        ({"fn": lambda: 1, "n_steps": X}, TensorTypeError, r"n_steps must be an integer scalar, got x"),
        ({"fn": lambda r: r, "sequences": S}, ShapeError, r"sequences\[0\] \(s\).*got a scalar.*non_sequences"),
        ({"fn": lambda r: r, "sequences": [X, "a"]}, TensorTypeError, r"sequences\[1\]: a tensor is needed"),
        (
            {"fn": lambda r: r, "sequences": KNOWN, "n_steps": 4},
            ShapeError,
            r"\(k\).*rows for 3 steps, and n_steps is 4",
        ),
        (
            {"fn": lambda r: r, "sequences": {"input": KNOWN, "taps": 1}, "n_steps": 3},
            ShapeError,
            r"2 steps with taps \[1\]",
        ),
        (
            {"fn": lambda r: r, "sequences": {"input": X, "taps": [0, 0]}},
            ArgumentError,
            r"\(x\): each tap can be given",
        ),
        (
            {"fn": lambda r: r, "sequences": {"input": X, "taps": [0.5]}},
            TensorTypeError,
            r"\(x\): a tap must be an int",
        ),
        ({"fn": lambda r: r, "sequences": {"inputs": X}}, ArgumentError, r"keys are input and taps, got 'inputs'"),
        (
            {"fn": lambda r: r, "outputs_info": {"initial": S, "taps": [1]}, "n_steps": 2}, ArgumentError,
            r"outputs_info\[0\] \(s\).*must be negative, got \[1\]",
        ),
        (
            {"fn": lambda r: r, "outputs_info": {"taps": [-1]}, "n_steps": 2}, ArgumentError,
            r"outputs_info\[0\].*need a value to start from",
        ),
        (
            {"fn": lambda r: r, "outputs_info": {"initial": S, "taps": [-2]}, "n_steps": 2}, ShapeError,
            r"\(s\): taps \[-2\] need the 2 values before the first step, as rows",
        ),
        (
            {"fn": lambda r: r, "outputs_info": {"initial": KNOWN, "taps": [-5]}, "n_steps": 2}, ShapeError,
            r"\(k\): taps \[-5\] need the 5 values before the first step, got 3. Pass 2 more",
        ),
        (
            {"fn": lambda r: r, "sequences": X, "outputs_info": [None, None]}, GraphValueError,
            r"outputs_info has 2 entries, and a step returned 1 outputs",
        ),
        (
            {"fn": lambda r: r, "sequences": X, "outputs_info": S}, TensorTypeError,
            r"called with 2 arguments, 1 rows of sequences, 1 states and 0 non_sequences",
        ),
        (
            {"fn": lambda s: s.astype("float32"), "outputs_info": S, "n_steps": 2}, TensorTypeError,
            r"outputs_info\[0\] \(s\) starts with s .*float32.*Cast one of them",
        ),
        ({"fn": lambda r, s: r * s, "sequences": M, "outputs_info": 0.0}, TensorTypeError, r"rank that steps make"),
        ({"fn": lambda _: "a", "sequences": X}, TensorTypeError, r"output 0 of a step must be a tensor, got 'a'"),
        ({"fn": lambda r: (r, until(r > 0), until(r > 1)), "sequences": X}, GraphValueError, r"one condition, got two"),
        ({"fn": lambda r: (r, {S: r}), "sequences": X}, GraphTypeError, r"change shared variables, got s"),
        ({"fn": lambda r: (r, [r, r]), "sequences": X}, GraphValueError, r"Put all outputs into one list"),
        (
            {"fn": lambda r: (r, until(X > 0)), "sequences": X},
            TensorTypeError,
            r"until: the condition must be a scalar",
        ),
        ({"fn": lambda r: r, "sequences": X, "truncate_gradient": -2}, TensorTypeError, r"truncate_gradient must be"),
    ],
)  # fmt: skip
def test_wrong_loops_are_refused_when_they_are_built(
    call: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        scan(**call)


def test_errors_name_the_loop() -> None:
    with pytest.raises(GraphValueError, match="scan 'filter': outputs_info has 1 entries"):
        scan(lambda r: [r, r], X, [None], name="filter")


def test_wrong_update_is_refused_with_its_type() -> None:
    s = shared(np.array(1.0), "s")
    with pytest.raises(GraphTypeError, match="update of s must be of type"):
        scan(lambda r: (r, {s: M}), X)
