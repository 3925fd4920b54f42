"""One function, called and changed from sixteen threads: the observed values fit some serial order."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.contract.backends import BACKENDS
from treadle.compile import In, function, shared

if TYPE_CHECKING:
    from collections.abc import Callable

THREADS = 16
CALLS = 6_250
WIDTH = 5

# PyTorch takes most of the time of all of them.
on_every_backend = pytest.mark.parametrize(
    "backend",
    [pytest.param(n.upper(), marks=[pytest.mark.slow] if n == "pytorch" else []) for n in BACKENDS],
)


@dataclass(slots=True)
class Event:
    """What a thread did: write a token, having read another (a call) or none (set_value)."""

    wrote: int
    read: int | None


def _in_threads(work: Callable[[int], None]) -> None:
    """Run `work(thread)` in all threads, started together."""
    barrier = threading.Barrier(THREADS)
    failures: list[BaseException] = []

    def run(thread: int) -> None:
        try:
            barrier.wait()
            work(thread)
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def _check_serial(logs: list[list[Event]], last: int) -> None:
    """Fail unless calls and assignments, each writing a token of its own, may have happened one after the other.

    A call ends the life of the token that it reads, so no token is read twice; calls that follow each other's tokens
    form chains, each begun by an assignment (or the first value); and along a chain the events of one thread come in
    the order in which it made them.
    """
    events = {e.wrote: (thread, k, e) for thread, log in enumerate(logs) for k, e in enumerate(log)}
    reads = [e.read for log in logs for e in log if e.read is not None]
    assert len(reads) == len(set(reads)), "two calls read the same value and both replaced it"
    assert last in events
    assert set(reads) <= {0, *events}, "a call read a value that nobody wrote"
    follower = {e.read: e.wrote for log in logs for e in log if e.read is not None}
    assert last not in follower, "the last value was replaced"
    starts = [0, *(token for token, (_, _, e) in events.items() if e.read is None)]
    visited = 0
    for start in starts:
        latest = [-1] * THREADS
        token = start
        while token is not None:
            if token:
                thread, k, _ = events[token]
                assert latest[thread] < k, "a thread's own calls changed places"
                latest[thread] = k
                visited += 1
            token = follower.get(token)  # type: ignore[assignment]  # None ends the chain
    assert visited == len(events), "calls follow each other in a circle"


@on_every_backend
def test_calls_that_replace_a_value_and_assignments_have_a_serial_order(backend: str) -> None:
    token = tt.lscalar("token")
    state = shared(np.zeros(WIDTH, "int64"), name="state")
    replace = function([token], state, updates=[(state, tt.zeros((WIDTH,), dtype="int64") + token)], mode=backend)
    logs: list[list[Event]] = [[] for _ in range(THREADS)]

    def work(thread: int) -> None:
        log = logs[thread]
        for k in range(CALLS):
            new = 1 + thread + THREADS * k
            if k % 10 == thread % 10:
                state.set_value(np.full(WIDTH, new))
                log.append(Event(new, None))
                continue
            old = replace(new)
            first = int(old[0])
            assert (old == first).all(), f"a value torn between two writers: {old}"
            log.append(Event(new, first))

    _in_threads(work)
    assert sum(map(len, logs)) == 100_000
    _check_serial(logs, int(state.get_value()[0]))


@on_every_backend
def test_two_variables_that_are_updated_together_are_seen_together(backend: str) -> None:
    step = tt.lscalar("step")
    first, second = shared(np.array(0), name="first"), shared(np.array(0), name="second")
    move = function([step], updates=[(first, first + step), (second, second - step)], mode=backend)
    look = function([], [first, second, first + second], mode=backend)

    def work(thread: int) -> None:
        for k in range(400):
            if thread % 2:
                move(thread + k)
            else:
                a, b, total = look()
                assert a == -b
                assert total == 0

    _in_threads(work)
    expected = sum(thread + k for thread in range(1, THREADS, 2) for k in range(400))
    assert int(first.get_value()) == expected == -int(second.get_value())


@on_every_backend
def test_defaults_that_are_updated_lose_no_increment(backend: str) -> None:
    count, step = tt.lscalar("count"), tt.lscalar("step")
    add = function([step, In(count, value=0, update=count + step)], count + step, mode=backend)
    seen: list[list[int]] = [[] for _ in range(THREADS)]

    def work(thread: int) -> None:
        seen[thread].extend(int(add(1)) for _ in range(300))

    _in_threads(work)
    assert sorted(n for own in seen for n in own) == list(range(1, 300 * THREADS + 1))


def test_the_check_detects_an_order_that_is_not_serial() -> None:
    serial: list[list[Any]] = [[Event(1, 0), Event(3, 2)], [Event(2, 1)], *([] for _ in range(THREADS - 2))]
    _check_serial(serial, 3)
    lost: list[list[Any]] = [[Event(1, 0)], [Event(2, 0)], *([] for _ in range(THREADS - 2))]
    with pytest.raises(AssertionError, match="read the same value"):
        _check_serial(lost, 2)
    swapped: list[list[Any]] = [[Event(1, 2), Event(2, 0)], [Event(3, 1)], *([] for _ in range(THREADS - 2))]
    with pytest.raises(AssertionError, match="changed places"):
        _check_serial(swapped, 3)
    circle: list[list[Any]] = [[Event(1, 2)], [Event(2, 1), Event(3, 0)], *([] for _ in range(THREADS - 2))]
    with pytest.raises(AssertionError, match="circle"):
        _check_serial(circle, 3)
