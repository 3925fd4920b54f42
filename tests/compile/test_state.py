"""Shared variables: updates, default updates, failed calls, threads."""

import gc
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Function, FunctionTypeError, FunctionValueError, In, function, shared
from treadle.config import config
from treadle.graph import Apply, NodeError, Op


def compiled(*args: Any, **options: Any) -> Function:
    return function(*args, **{"mode": "VM", **options})


@pytest.mark.documents("function.updates", "F12", "F26")
def test_outputs_are_computed_from_the_values_before_the_update() -> None:
    state = shared(1.0)
    f = compiled([], [state, state + 1], updates={state: state * 10})
    assert [f(), f()] == [[1.0, 2.0], [10.0, 11.0]]
    assert state.get_value() == 100.0


def test_updates_are_made_together() -> None:
    a, b = shared(1.0), shared(2.0)
    compiled([], updates=[(a, b), (b, a)])()
    assert (a.get_value(), b.get_value()) == (2.0, 1.0)


@pytest.mark.documents("F24")
def test_functions_share_state() -> None:
    state = shared(0.0)
    increment, read = compiled([], updates=[(state, state + 1)]), compiled([], state)
    increment()
    increment()
    assert read() == 2.0


def test_new_value_may_be_a_plain_one_of_the_type() -> None:
    state = shared(np.zeros(2))
    compiled([], updates=[(state, np.ones(2))])()
    assert state.get_value().tolist() == [1.0, 1.0]


def test_output_and_new_value_share_no_memory() -> None:
    state = shared(np.zeros(2))
    new = state + 1
    result = compiled([], new, updates=[(state, new)])()
    result[:] = 9.0
    assert state.get_value().tolist() == [1.0, 1.0]


@pytest.mark.documents("function.updates", "F13")
def test_bad_updates_are_refused() -> None:
    state, x = shared(1.0, name="state"), tt.dscalar("x")
    with pytest.raises(FunctionValueError, match="two updates are given for state"):
        compiled([], updates=[(state, state + 1), (state, state + 2)])
    with pytest.raises(FunctionValueError, match="two updates are given for twin"):
        compiled([], updates=[(state, state + 1), (state.clone(name="twin"), state + 2)])
    with pytest.raises(FunctionTypeError, match="updates change shared variables, got x"):
        compiled([x], updates=[(x, x + 1)])
    vector = tt.stack([state, state])
    with pytest.raises(FunctionTypeError) as caught:
        compiled([], updates=[(state, vector)])
    assert "the update of state must be of type Scalar(float64), got" in str(caught.value)
    assert '"vector = tt.stack([state, state])"' in str(caught.value)
    with pytest.raises(FunctionTypeError, match="updates must be a dict or a list of pairs, got 3"):
        compiled([], updates=3)


@pytest.mark.documents("function.no_default_updates", "SharedVariable.default_update", "F17", "F25")
def test_default_update_is_made_unless_excluded() -> None:
    state = shared(0.0)
    state.default_update = state + 1
    compiled([], state)()
    assert state.get_value() == 1.0
    compiled([], state, no_default_updates=True)()
    compiled([], state, no_default_updates=[state])()
    assert state.get_value() == 1.0
    compiled([], state, no_default_updates=[shared(0.0)])()
    assert state.get_value() == 2.0


@pytest.mark.documents("F25")
def test_explicit_update_wins_over_the_default_one() -> None:
    state = shared(0.0)
    state.default_update = state + 1
    compiled([], state, updates={state: state + 10})()
    assert state.get_value() == 10.0


def test_default_update_brings_in_the_default_updates_it_uses() -> None:
    first, second = shared(0.0), shared(0.0)
    first.default_update = first + second
    second.default_update = second + 1
    f = compiled([], first)
    for _ in range(3):
        f()
    assert (first.get_value(), second.get_value()) == (3.0, 3.0)


def test_default_update_of_a_given_shared_variable_is_made() -> None:
    x, state = tt.dscalar("x"), shared(0.0)
    state.default_update = state + 1
    compiled([], x * 2, givens={x: state})()
    assert state.get_value() == 1.0


def test_default_update_of_a_replaced_shared_variable_is_not_made() -> None:
    state, other = shared(0.0), shared(5.0)
    state.default_update = state + 1
    assert compiled([], state * 2, givens={state: other})() == 10.0
    assert state.get_value() == 0.0


class FailOnNegative(Op):
    """The identity for values that are not negative."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        if inputs[0] < 0:
            msg = "negative"
            raise ValueError(msg)
        output_storage[0][0] = inputs[0].copy()


def test_failed_call_changes_no_state() -> None:
    x = tt.dscalar("x")
    first, second = shared(1.0), shared(2.0)
    f = compiled([x], updates=[(first, first + 1), (second, FailOnNegative()(x))])
    with pytest.raises(NodeError, match="negative"):
        f(-1.0)
    assert (first.get_value(), second.get_value()) == (1.0, 2.0)
    f(3.0)
    assert (first.get_value(), second.get_value()) == (2.0, 3.0)


def test_failed_call_leaves_no_lock_behind() -> None:
    x, state = tt.dscalar("x"), shared(1.0)
    f = compiled([x], updates=[(state, state + FailOnNegative()(x))])
    with pytest.raises(NodeError):
        f(-1.0)
    thread = threading.Thread(target=f, args=(1.0,))
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert state.get_value() == 2.0


def in_threads(count: int, work: Any) -> None:
    barrier = threading.Barrier(count)
    failures: list[BaseException] = []

    def run() -> None:
        barrier.wait()
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_eight_threads_lose_no_increment() -> None:
    state = shared(0)
    f = compiled([], updates=[(state, state + 1)])

    def work() -> None:
        for _ in range(2500):
            f()

    in_threads(8, work)
    assert state.get_value() == 20_000


class Meet(Op):
    """The identity; waits a moment until another thread is here too."""

    __props__ = ()

    def __init__(self, barrier: threading.Barrier, patience: float = 0.05) -> None:
        self.barrier = barrier
        self.patience = patience
        self.met = 0

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        try:
            self.barrier.wait(self.patience)
            self.met += 1
        except threading.BrokenBarrierError:
            self.barrier.reset()
        output_storage[0][0] = inputs[0].copy()


def test_calls_that_update_one_variable_never_overlap() -> None:
    state = shared(0.0)
    meet = Meet(threading.Barrier(2))
    f = compiled([], updates=[(state, meet(state) + 1)])
    in_threads(2, lambda: [f() for _ in range(3)])
    assert meet.met == 0
    assert state.get_value() == 6.0


def test_calls_without_updates_overlap() -> None:
    x = tt.dscalar("x")
    meet = Meet(threading.Barrier(2), patience=30.0)
    f = compiled([x], meet(x))
    in_threads(2, lambda: f(1.0))
    assert meet.met == 2


def test_functions_that_update_variables_in_opposite_orders_do_not_wait_for_each_other() -> None:
    a, b = shared(0.0), shared(0.0)
    f = compiled([], updates=[(a, a + 1), (b, b + 1)])
    g = compiled([], updates=[(b, b + 1), (a, a + 1)])

    def work() -> None:
        for _ in range(200):
            f()
            g()

    in_threads(4, work)
    assert (a.get_value(), b.get_value()) == (1600.0, 1600.0)


def test_reader_of_two_variables_sees_both_from_one_moment() -> None:
    a, b = shared(0.0), shared(0.0)
    write = compiled([], updates=[(a, a + 1), (b, b + 1)])
    read = compiled([], [a, b])
    torn: list[Any] = []

    def work() -> None:
        for _ in range(300):
            write()
            x, y = read()
            if x != y:
                torn.append((x, y))

    in_threads(4, work)
    assert torn == []


def test_default_update_is_not_made_beside_an_explicit_one_under_another_name() -> None:
    state = shared(0.0, name="state")
    state.default_update = state + 1
    compiled([], state, updates={state.clone(name="twin"): state + 10})()
    assert state.get_value() == 10.0
    compiled([], state, no_default_updates=(state.clone(),))()
    assert state.get_value() == 10.0


def test_input_whose_default_is_a_shared_variable_updates_it() -> None:
    x, state = tt.dscalar("x"), shared(1.0)
    f = compiled([In(x, value=state, update=x * 2)], x + state)
    assert [f(), f(), f(10.0)] == [2.0, 4.0, 14.0]
    assert state.get_value() == 20.0
    with pytest.raises(FunctionValueError, match="two updates change the cell of one shared variable"):
        compiled([In(x, value=state, update=x * 2)], x, updates={state: state + 1})


def test_assignment_waits_for_a_call_that_updates() -> None:
    state = shared(0.0)
    entered, release = threading.Event(), threading.Event()
    f = compiled([], updates=[(state, Held(entered, release)(state) + 1)])
    calling = threading.Thread(target=f)
    calling.start()
    assert entered.wait(10)
    setting = threading.Thread(target=state.set_value, args=(100.0,))
    setting.start()
    setting.join(0.05)
    assert setting.is_alive()
    release.set()
    calling.join(10)
    setting.join(10)
    assert state.get_value() == 100.0


class Held(Op):
    """The identity; signals that it runs, and waits until it may end."""

    __props__ = ()

    def __init__(self, entered: threading.Event, release: threading.Event) -> None:
        self.entered = entered
        self.release = release

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        self.entered.set()
        self.release.wait(10)
        output_storage[0][0] = inputs[0].copy()


def test_failed_call_leaves_defaults_and_arguments() -> None:
    x, n = tt.dscalar("x"), tt.dscalar("n")
    f = compiled([x, In(n, value=1.0, update=n + 1)], FailOnNegative()(x) + n)
    with pytest.raises(NodeError, match="negative"):
        f(-1.0)
    assert (f[n], f(1.0), f(1.0)) == (1.0, 2.0, 3.0)


def test_call_from_within_a_call_sees_the_state_before_it() -> None:
    state = shared(1.0)
    inner = compiled([], updates=[(state, state + 1)])
    outer = compiled([], updates=[(state, Calling(inner)(state) * 10)])
    outer()
    assert state.get_value() == 10.0


class Calling(Op):
    """The identity; calls a function while it runs."""

    __props__ = ()

    def __init__(self, function: Function) -> None:
        self.function = function

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        self.function()
        output_storage[0][0] = inputs[0].copy()


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_state_goes_with_the_last_function_that_uses_it(mode: str) -> None:
    state = shared(np.zeros(3), "state")
    # A quicker caller that is still being built holds the function until it is there, and a program that is kept for
    # equal graphs the first of these.
    with config.change_flags(c__support_libraries=False, cache__programs=0):
        f = function([], updates={state: state + 1}, mode=mode)
        f()
    left = [weakref.ref(state), weakref.ref(f)]
    del state, f
    gc.collect()
    assert [ref() for ref in left] == [None, None]
