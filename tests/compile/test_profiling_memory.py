"""Memory in profiles: sizes, memory in use at each step, and orders that need little."""

import io
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle.tensor as tt
from treadle.compile import In, function
from treadle.compile.profiling import ProfileStats
from treadle.compile.profiling.ordering import MOST_NODES, Problem, least_peak, peak_of
from treadle.config import config

DOUBLE = 8


def measured(inputs: list[Any], outputs: Any, *values: Any, mode: str = "FAST_COMPILE", **flags: Any) -> ProfileStats:
    stats = ProfileStats(atexit_print=False)
    with config.change_flags(profile_memory=True, **flags):
        f = function(inputs, outputs, mode=mode, profile=stats)
    f(*values)
    return stats


def text_of(stats: ProfileStats, **flags: Any) -> str:
    out = io.StringIO()
    with config.change_flags(**flags):
        stats.summary(out)
    return out.getvalue()


@pytest.mark.documents("option:profile_memory", "ProfileStats.memory", "MemoryUse", "Step")
def test_values_are_freed_after_their_last_use() -> None:
    x = tt.dvector("x")
    stats = measured([x], tt.exp(tt.cosh(tt.sinh(x))), np.ones(100), mode="FAST_COMPILE")
    (use,) = stats.memory()
    size = 100 * DOUBLE
    assert [(s.made, s.live, s.left) for s in use.steps] == [
        (size, size, size),
        (size, 2 * size, size),
        (size, 2 * size, size),
    ]
    assert (use.peak, use.total, use.outputs, use.shared) == (2 * size, 3 * size, size, 0)


@pytest.mark.documents("option:profile_memory")
def test_memory_is_not_measured_unless_asked_for() -> None:
    x = tt.dvector("x")
    stats = ProfileStats(atexit_print=False)
    function([x], tt.exp(x), mode="VM", profile=stats)(np.ones(3))
    assert stats.memory() == []
    assert "Memory of" not in text_of(stats)


def test_work_in_place_needs_no_memory_of_its_own() -> None:
    x = tt.dvector("x")
    out = tt.exp(tt.cosh(tt.sinh(x)))
    stats = measured([x], out, np.ones(100), mode="VM")
    (use,) = stats.memory()
    assert use.total == use.peak == use.outputs == 100 * DOUBLE
    assert use.shared == 200 * DOUBLE


def test_work_in_place_on_an_argument_needs_no_memory_at_all() -> None:
    x = tt.dvector("x")
    stats = measured([In(x, mutable=True)], tt.exp(x), np.ones(100), mode="VM")
    (use,) = stats.memory()
    assert use.total in {0, 100 * DOUBLE}  # a copy may be made of the result, which the caller owns
    assert use.shared >= 0


def test_view_keeps_the_memory_it_looks_into() -> None:
    x = tt.dmatrix("x")
    exponential = tt.exp(x)
    stats = measured([x], [tt.cosh(exponential.T) + 1], np.ones((10, 20)), mode="FAST_COMPILE")
    (use,) = stats.memory()
    size = 200 * DOUBLE
    by_op = {str(s.node.op): s for s in use.steps}
    transpose = next(s for name, s in by_op.items() if "Exp" not in name and s.made == 0)
    assert transpose.shared == size
    cosh = next(s for name, s in by_op.items() if "Cosh" in name)
    assert (cosh.live, cosh.left) == (2 * size, size)


@pytest.mark.documents("ProfileStats.variable_shape", "ProfileStats.variable_strides", "ProfileStats.flag_memory")
def test_sizes_are_those_of_the_latest_call() -> None:
    x = tt.dvector("x")
    stats = ProfileStats(atexit_print=False, flag_memory=True)
    f = function([x], tt.exp(x), mode="FAST_COMPILE", profile=stats)
    for length in (5, 50, 7):
        f(np.ones(length))
    assert stats.memory()[0].total == 7 * DOUBLE
    (shape,) = stats.variable_shape.values()
    (strides,) = stats.variable_strides.values()
    assert (shape, strides) == ((7,), (DOUBLE,))


@pytest.mark.documents("option:profiling__min_memory_size", "ProfileStats.summary_memory")
def test_small_nodes_are_not_listed() -> None:
    x = tt.dvector("x")
    stats = measured([x], [tt.exp(x), tt.cosh(x[:3])], np.ones(1000))
    section = text_of(stats).partition("Memory of")[2]
    assert "Exp(x)" in section
    assert "Cosh" not in section
    assert "below 1024 bytes" in section
    assert "Cosh" in text_of(stats, profiling__min_memory_size=0).partition("Memory of")[2]
    out = io.StringIO()
    stats.summary_memory(out, 1)
    assert "8,000" in out.getvalue()


@pytest.mark.documents("option:profiling__min_peak_memory", "ProfileStats.least_memory", "LeastPeak")
def test_least_peak_of_memory_is_reported_if_asked_for() -> None:
    x = tt.dvector("x")
    large = [tt.outer(x, x + k) for k in range(3)]
    # If each is summed up before the next is made, the matrices need room for one at a time.
    stats = measured([x], [tt.exp(m).sum() for m in large], np.ones(50))
    (use,), (least,) = stats.memory(), stats.least_memory()
    assert least.exact
    assert least.peak <= use.peak
    assert sorted(map(id, least.order)) == sorted(id(step.node) for step in use.steps)
    assert "needs the least" not in text_of(stats)
    assert f"{least.peak:,} bytes (exact)" in text_of(stats, profiling__min_peak_memory=True)


def random_problem(data: st.DataObject, count: int) -> Problem:
    needs = [
        frozenset(data.draw(st.sets(st.integers(0, step - 1), max_size=2)) if step else ()) for step in range(count)
    ]
    blocks = []
    for step in range(count):
        users = frozenset(k for k in range(count) if step in needs[k])
        keep = data.draw(st.booleans()) and not users
        blocks.append((data.draw(st.integers(0, 9)), step, frozenset() if keep else users or frozenset((step,))))
    return Problem(needs, blocks)


def is_order(problem: Problem, order: list[int]) -> bool:
    at = {step: i for i, step in enumerate(order)}
    return sorted(order) == list(range(len(problem.needs))) and all(
        at[other] < at[step] for step, needed in enumerate(problem.needs) for other in needed
    )


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_small_graphs_get_the_least_peak_of_all_orders(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 6))
    problem = random_problem(data, count)
    order, peak, exact = least_peak(problem, range(count))
    orders = [list(p) for p in itertools.permutations(range(count)) if is_order(problem, list(p))]
    assert exact
    assert is_order(problem, order)
    assert peak == peak_of(problem, order) == min(peak_of(problem, o) for o in orders)


@given(st.data())
@settings(max_examples=10, deadline=None)
def test_order_of_a_large_graph_is_never_worse_than_the_given_one(data: st.DataObject) -> None:
    count = MOST_NODES + 20
    seed = np.random.default_rng(data.draw(st.integers(0, 1000)))
    needs = [frozenset(int(k) for k in seed.integers(0, max(step, 1), 2) if k < step) for step in range(count)]
    users = [frozenset(k for k in range(count) if step in needs[k]) or frozenset((step,)) for step in range(count)]
    problem = Problem(needs, [(int(seed.integers(0, 100)), step, users[step]) for step in range(count)])
    order, peak, exact = least_peak(problem, range(count))
    assert not exact
    assert is_order(problem, order)
    assert peak == peak_of(problem, order) <= peak_of(problem, range(count))


def test_wide_graph_with_too_many_orders_gets_one_that_a_heuristic_finds() -> None:
    count = 60
    # Pairs of a large value and its use; the given order makes all values first.
    needs = [frozenset[int]() if step < count else frozenset((step - count,)) for step in range(2 * count)]
    blocks = [(100, step, frozenset((step + count,))) for step in range(count)]
    blocks += [(1, step + count, frozenset[int]()) for step in range(count)]
    problem = Problem(needs, blocks)
    order, peak, _ = least_peak(problem, range(2 * count))
    assert is_order(problem, order)
    assert peak_of(problem, range(2 * count)) > 6000
    assert peak <= 100 + count


@pytest.mark.documents("ProfileStats.device_memory_peak")
@pytest.mark.parametrize("times_nodes", [False, True])
def test_the_peak_of_a_devices_memory_is_that_of_the_call_that_needs_most(
    times_nodes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    from treadle.link.torch.programs import program

    peaks = iter([300, 700, 500])
    monkeypatch.setattr(program, "counted_memory", lambda place: lambda: next(peaks) if place.type == "cpu" else 0)
    x = tt.dvector("x")
    stats = ProfileStats(atexit_print=False, flag_memory=True, flag_time_thunks=times_nodes)
    f = function([x], tt.exp(x) + 1, mode="PYTORCH", profile=stats)
    for _ in range(3):
        f(torch.ones(3, dtype=torch.float64))
    assert stats.device_memory_peak == 700
    assert "Most memory of the device in use during a call: 700 bytes" in text_of(stats)


def test_no_device_memory_is_claimed_on_the_cpu_or_where_memory_is_not_measured() -> None:
    x = tt.dvector("x")
    for mode, memory in (("PYTORCH", True), ("VM", True), ("PYTORCH", False)):
        if mode == "PYTORCH":
            pytest.importorskip("torch")
        stats = ProfileStats(atexit_print=False, flag_memory=memory)
        function([x], tt.exp(x), mode=mode, profile=stats)(np.ones(3))
        assert stats.device_memory_peak is None
        assert "of the device" not in text_of(stats)
