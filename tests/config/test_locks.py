"""The locks of all packages: exclusive between threads, free in forked children."""

import os
import threading
from typing import Any

import pytest

from treadle.config import live_locks, new_condition, new_lock

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def is_free_for_another_thread(lock: Any) -> bool:
    taken = threading.Event()

    def take() -> None:
        if lock.acquire(timeout=20):
            lock.release()
            taken.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    thread.join()
    return taken.is_set()


def exit_code(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("make", [new_lock, new_condition])
def test_lock_that_another_thread_holds_is_free_in_a_forked_child(make: Any) -> None:
    lock, held, done = make(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    child = os.fork()
    if child == 0:
        os._exit(7 if is_free_for_another_thread(lock) else 1)
    assert exit_code(child) == 7
    done.set()
    thread.join()


def test_child_of_the_thread_that_holds_a_lock_lets_go_of_it_as_often_as_that_would() -> None:
    lock = new_lock()
    with lock:
        with lock:
            child = os.fork()
        free_inside = child == 0 and lock.acquire(blocking=False)
        if free_inside:
            lock.release()
    if child == 0:
        os._exit(7 if free_inside and is_free_for_another_thread(lock) else 1)
    assert exit_code(child) == 7
    assert is_free_for_another_thread(lock)


def test_lock_excludes_other_threads() -> None:
    lock, inside, most = new_lock(), [0], [0]

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


def test_lock_that_nothing_refers_to_is_forgotten() -> None:
    lock = new_lock()
    assert any(lock is known for known in live_locks())
    key = id(lock)
    del lock
    assert all(id(known) != key for known in live_locks())
