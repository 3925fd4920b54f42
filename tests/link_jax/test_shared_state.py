"""Shared variables that JAX programs read live on the device between calls."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, get_mode, shared
from treadle.link.jax import wrap_jax
from treadle.tensor.random import RandomStream


def inside(variable: Any) -> Any:
    """Return the value in the form in which the cell holds it."""
    return variable.get_value(return_internal_type=True)


def test_a_shared_value_is_moved_to_the_device_once() -> None:
    data = shared(np.arange(5.0))
    x = tt.dscalar("x")
    f = function([x], (data * x).sum(), mode="JAX")
    assert isinstance(inside(data), np.ndarray)
    assert f(2.0) == 20
    first = inside(data)
    assert isinstance(first, jax.Array)
    assert first.dtype == "float64"
    f(3.0)
    assert inside(data) is first
    assert function([], data + 1, mode="JAX")().tolist() == [1, 2, 3, 4, 5]
    assert inside(data) is first
    assert data.get_value().tolist() == [0, 1, 2, 3, 4]


def test_what_is_on_the_device_shares_no_memory_with_what_was_given_or_is_returned() -> None:
    data = shared(np.zeros(10**5))
    f = function([], data.max(), mode="JAX")
    assert f() == 0
    for borrow in (False, True):
        value = data.get_value(borrow=borrow)
        value[:] = 7
        assert f() == 0
    value = np.zeros(10**5)
    data.set_value(value)
    assert f() == 0
    value[:] = 5
    assert f() == 0


@pytest.mark.parametrize("way", ["set_value", "container", "storage", "zero", "other backend"])
def test_a_new_value_reaches_the_device(way: str) -> None:
    data = shared(np.full(4, 2.0))
    f = function([], data.sum(), mode="JAX")
    assert f() == 8
    if way == "set_value":
        data.set_value(np.ones(3))
    elif way == "container":
        data.container.value = np.ones(3)
    elif way == "storage":
        data.container.storage[0] = np.ones(3)
    elif way == "zero":
        data.zero(borrow=True)
    else:
        function([], [], updates={data: data - 1.25}, mode="VM")()
    assert f() == (0 if way == "zero" else 3)


def test_edits_of_a_borrowed_array_show() -> None:
    values = np.zeros(3)
    data = shared(values, borrow=True)
    f = function([], data.sum(), mode="JAX")
    assert f() == 0
    values[1] = 4
    assert f() == 4
    other = np.ones(3)
    data.set_value(other, borrow=True)
    assert f() == 3
    other[0] = 2
    assert f() == 4
    data.set_value(np.ones(2))
    f()
    assert isinstance(inside(data), jax.Array)


def test_updates_stay_on_the_device_and_a_failed_call_leaves_all_as_it_was() -> None:
    w, n = shared(np.zeros(3)), shared(0)
    i = tt.lscalar("i")
    f = function([i], w[i], updates={w: w + 1, n: n + 1}, mode="JAX")
    f(0)
    assert all(isinstance(inside(v), jax.Array) for v in (w, n))
    before = [inside(v) for v in (w, n)]
    with pytest.raises(IndexError):
        f(3)
    assert all(inside(v) is old for v, old in zip((w, n), before, strict=True))
    assert (w.get_value().tolist(), int(n.get_value())) == ([1, 1, 1], 1)


def test_a_function_of_another_backend_writes_into_no_array_that_somebody_holds() -> None:
    w = shared(np.zeros(4))
    function([], [], updates={w: w + 1}, mode="JAX")()
    held = w.get_value(borrow=True)
    y = tt.dscalar("y")
    g = function([y], [], updates={w: tt.inc_subtensor(w[1], y)}, mode="VM")
    g(5.0)
    assert held.tolist() == [1, 1, 1, 1]
    assert w.get_value().tolist() == [1, 6, 1, 1]
    assert function([], w.sum(), mode="JAX")() == 9


def test_functions_of_two_backends_share_a_variable() -> None:
    w = shared(np.zeros(3))
    on_jax = function([], w.sum(), updates={w: w + 1}, mode="JAX")
    on_vm = function([], w.sum(), updates={w: w * 2}, mode="VM")
    assert [float(f()) for f in (on_jax, on_vm, on_jax, on_vm)] == [0, 3, 6, 9]
    assert w.get_value().tolist() == [6, 6, 6]


LARGE = 10**5


def test_a_new_value_takes_over_the_memory_of_an_old_one_that_nobody_holds() -> None:
    w = shared(np.ones(LARGE))
    f = function([], [], updates={w: w * 2}, mode="JAX")
    f()
    f()
    place = inside(w).unsafe_buffer_pointer()
    for _ in range(3):
        f()
        assert inside(w).unsafe_buffer_pointer() == place
    held = inside(w)
    view = np.asarray(held)
    f()
    assert not held.is_deleted()
    assert (view.max(), np.asarray(held)[0], w.get_value()[0]) == (32, 32, 64)
    del held
    f()
    assert (view.max(), w.get_value()[0]) == (32, 128)


def test_what_is_passed_to_a_program_is_not_taken_over() -> None:
    w = shared(np.ones(LARGE))
    f = function([], w[0], updates={w: w + 1}, mode="JAX")
    for _ in range(3):
        f()
    value = inside(w)
    for _ in range(3):
        first, new = f.program(value)
        assert (float(first), float(new[5])) == (4, 5)
    assert not value.is_deleted()
    assert f() == 4


def test_a_call_that_may_find_invalid_values_takes_nothing_over() -> None:
    w, i = shared(np.ones(LARGE)), tt.lscalar("i")
    f = function([i], w[i], updates={w: w + 1}, mode="JAX")
    for at in (0, 1, 2):
        f(at)
    with pytest.raises(IndexError):
        f(LARGE)
    assert (f(0), w.get_value()[0]) == (4, 5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_callback_that_raises_leaves_large_values_as_they_were() -> None:
    fails = False

    def on_host(value: Any) -> Any:
        if fails:
            msg = "of the callback"
            raise OSError(msg)
        return np.asarray(value)

    @wrap_jax
    def through_python(x: jax.Array) -> Any:
        return jax.pure_callback(on_host, x, x)

    w, v = shared(np.zeros(LARGE, "float32")), shared(np.zeros(LARGE, "float32"))
    f = function([], [], updates={w: through_python(w) + np.float32(1), v: v + np.float32(1)}, mode="JAX")
    for _ in range(3):
        f()
    fails = True
    for _ in range(2):
        with pytest.raises(Exception, match="callback"):
            f()
        assert (w.get_value()[0], v.get_value()[0]) == (3, 3)
    fails = False
    f()
    assert (w.get_value()[0], v.get_value()[0]) == (4, 4)


def test_an_interrupted_call_leaves_new_values_where_old_ones_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    w, n = shared(np.ones(LARGE)), shared(0)
    f = function([], w.sum(), updates={w: w + 1, n: n + 1}, mode="JAX")
    for _ in range(3):
        f()

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        # Nothing is left between the new values and their cells: what makes the result is interrupted.
        patch.setattr("numpy.array", interrupted)
        patch.setattr("treadle.link.jax.programs.ownership.owned", interrupted)
        patch.setitem(f.caller.__globals__, "jax_own", interrupted)
        with pytest.raises(KeyboardInterrupt):
            f()
    assert (int(n.get_value()), w.get_value()[0]) == (4, 5)
    assert f() == 5 * LARGE


def test_functions_that_share_a_program_work_with_lengths_of_their_own() -> None:
    variables = [shared(np.ones(n)) for n in (3, LARGE, 5)]
    functions = [function([], w.sum(), updates={w: w * 2}, mode="JAX") for w in variables]
    for power in range(4):
        for w, f in zip(variables, functions, strict=True):
            length = w.get_value(borrow=True).size
            assert f() == length * 2**power
    programs: list[Any] = [f.program for f in functions]
    assert programs[0].spec is programs[1].spec


def test_threads_that_read_and_update_see_whole_values() -> None:
    w = shared(np.zeros(LARGE))
    add, read = function([], [], updates={w: w + 1}, mode="JAX"), function([], [w.min(), w.max()], mode="JAX")
    add()
    read()

    def work(k: int) -> bool:
        if k % 2:
            add()
            return True
        low, high = read()
        return bool(low == high)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(80)))
    assert w.get_value().tolist() == [41] * LARGE


@pytest.mark.filterwarnings("ignore::treadle.tensor.random.RandomStreamWarning")
def test_values_of_a_function_that_draws_from_numpys_generators_live_on_the_device_too() -> None:
    data, w = shared(np.ones(4)), shared(np.zeros(4))
    noise = RandomStream(1).normal(size=(4,))
    f = function([], (data * noise).sum(), updates={w: w + data}, mode="JAX")
    first, second = f(), f()
    assert first != second
    assert all(isinstance(inside(v), jax.Array) for v in (data, w))
    moved = inside(data)
    f()
    assert inside(data) is moved
    assert (w.get_value().tolist(), data.get_value().tolist()) == ([3] * 4, [1] * 4)


def test_a_small_new_value_takes_over_the_memory_of_the_old_one() -> None:
    w, v = shared(np.zeros(3)), tt.dscalar("v")
    f = function([v], w.sum(), updates={w: w[1].set(v)}, mode="JAX")
    for value in (1.0, np.array(2.0), jax.numpy.array(3.0, "float32")):
        f(value)
    old = inside(w)
    held = np.asarray(old)
    assert f(np.array(4.0)) == 3
    assert not old.is_deleted()
    assert held.tolist() == [0, 3, 0]
    del old, held
    places = set()
    for k in range(5):
        assert f(np.array(float(k))) == (4 if not k else k - 1)
        places.add(inside(w).unsafe_buffer_pointer())
    assert len(places) == 1
    assert w.get_value().tolist() == [0, 4, 0]


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("length", [3, LARGE])
def test_arguments_may_be_changed_once_a_call_returns(length: int, count: int) -> None:
    """Also where nothing of the results is fetched, which JAX may compute later."""
    vectors = [tt.dvector() for _ in range(count)]
    total = sum(vectors[1:], vectors[0])
    w = shared(np.zeros(length))
    step = function(vectors, [], updates={w: w + total}, mode="JAX")
    on_device = get_mode("JAX").clone(link_kwargs={"device_outputs": True})
    add = function(vectors, total * 2, mode=on_device)
    results = []
    for k in range(20):
        values = [np.full(length, float(k)) for _ in range(count)]
        step(*values)
        results.append(add(*values))
        for value in values:
            value[:] = np.nan
    assert w.get_value().tolist() == [190.0 * count] * length
    assert [float(np.asarray(x).sum()) for x in results] == [2.0 * k * count * length for k in range(20)]


def test_a_call_that_jax_cannot_make_leaves_small_values_as_they_were() -> None:
    w, n = shared(np.zeros(3)), shared(0)
    x = tt.dvector("x")
    f = function([x], [], updates={w: w + x, n: n + 1}, mode="JAX")
    for _ in range(3):
        f(np.ones(3))
    with pytest.raises(ValueError, match="shape"):
        f(np.ones(2))
    assert (w.get_value().tolist(), int(n.get_value())) == ([3, 3, 3], 3)
    f(np.ones(1))
    f(np.ones(3))
    assert (w.get_value().tolist(), int(n.get_value())) == ([5, 5, 5], 5)


Update = Callable[[Any, Any, Any], Any]
PARTS: dict[str, Update] = {
    "element": lambda w, i, v: w[i].set(v),
    "element added to": lambda w, i, v: w[i].inc(v),
    "elements": lambda w, i, v: w[tt.stack([i, i - 1])].set(v),
    "elements of a slice": lambda w, i, v: w.reshape((2, -1))[1:, tt.stack([i, i])].inc(v).reshape((-1,)),
    "one after another": lambda w, i, v: w[i].set(v)[2:9:3].inc(v)[-1].set(3 * v),
}


@pytest.mark.parametrize("name", PARTS)
def test_writing_where_a_position_says_takes_the_memory_over_and_a_failed_call_changes_nothing(name: str) -> None:
    i, v = tt.lscalar("i"), tt.dscalar("v")
    start = np.arange(LARGE, dtype="float64")
    start[3] = -0.0
    w, n, expected = shared(start), shared(0), shared(start)
    part = PARTS[name]
    f = function([i, v], [], updates={w: part(w, i, v), n: n + 1}, mode="JAX")
    g = function([i, v], [], updates={expected: part(expected, i, v)}, mode="VM")
    for at in (5, 1):
        f(at, 2.5)
        g(at, 2.5)
    for _ in range(2):
        with pytest.raises(IndexError, match="out of bounds"):
            f(LARGE, 1.0)
        assert w.get_value().tobytes() == expected.get_value().tobytes()
        assert int(n.get_value()) == 2
    held = inside(w)
    view = np.asarray(held)
    with pytest.raises(IndexError, match="out of bounds"):
        f(LARGE, 1.0)
    assert not held.is_deleted()
    f(7, -1.0)
    assert view.tobytes() == expected.get_value().tobytes()
    del held, view
    g(7, -1.0)
    place = inside(w).unsafe_buffer_pointer()
    f(np.array(4), np.array(0.5))
    g(4, 0.5)
    assert w.get_value().tobytes() == expected.get_value().tobytes()
    # New memory may lie where older values did.
    assert inside(w).unsafe_buffer_pointer() == place or name.endswith("slice")


def test_a_check_of_what_is_written_keeps_the_old_value() -> None:
    w, i = shared(np.zeros(LARGE)), tt.lscalar("i")
    new = w[i].inc(1)
    f = function([i], new[i + 1], updates={w: new}, mode="JAX")
    f(0)
    f(LARGE - 2)
    for _ in range(2):
        with pytest.raises(IndexError, match="out of bounds"):
            f(LARGE - 1)
        assert w.get_value().sum() == 2
    assert f(0) == 0


def test_interrupted_while_a_check_is_looked_at_a_call_loses_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    w, n, i = shared(np.zeros(LARGE)), shared(0), tt.lscalar("i")
    f = function([i], [], updates={w: w[2 * i].inc(1), n: n + 1}, mode="JAX")
    for _ in range(3):
        f(0)

    real: Any = np.asarray
    calls: list[Any] = []

    def interrupted(x: Any, *rest: Any) -> Any:
        if getattr(x, "dtype", None) == "bool" and not calls:
            calls.append(x)
            raise KeyboardInterrupt
        return real(x, *rest)

    for at, total in ((1, 4), (LARGE, 4)):
        calls.clear()
        with monkeypatch.context() as patch:
            patch.setattr("numpy.asarray", interrupted)
            with pytest.raises(KeyboardInterrupt):
                f(at)
        assert calls
        assert (w.get_value().sum(), int(n.get_value())) == (total, total)
