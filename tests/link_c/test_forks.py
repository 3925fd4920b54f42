"""Locks in forked children, and programs called with too few or too many values."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.link.c.locks import ForkLock

if TYPE_CHECKING:
    from collections.abc import Callable

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def _exit_code_of_child_that_takes(lock: ForkLock) -> int:
    child = os.fork()
    if child == 0:
        taken = threading.Event()

        def take() -> None:
            with lock:
                taken.set()

        threading.Thread(target=take, daemon=True).start()
        os._exit(7 if taken.wait(20) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@needs_fork
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_lock_that_another_thread_holds_is_free_in_a_forked_child() -> None:
    lock, held, done = ForkLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    assert _exit_code_of_child_that_takes(lock) == 7
    done.set()
    thread.join()


@needs_fork
def test_child_of_the_thread_that_holds_a_lock_lets_go_of_it() -> None:
    lock = ForkLock()
    with lock:
        child = os.fork()
    if child == 0:
        with lock:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    with lock:
        pass


def test_lock_excludes_other_threads() -> None:
    lock, inside, most = ForkLock(), [0], [0]

    def work() -> None:
        for _ in range(200):
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert most == [1]


@pytest.mark.parametrize("count", [1, 60])
@pytest.mark.parametrize("given", [-1, 1])
def test_program_refuses_another_number_of_values(count: int, given: int, link: Callable[..., Any]) -> None:
    xs = [tt.dvector(f"x{k}") for k in range(count)]
    program = link(xs, [sum(xs[1:], xs[0])])
    with pytest.raises(TypeError, match=f"takes {count} values, got {count + given}"):
        program(*[np.ones(3)] * (count + given))
