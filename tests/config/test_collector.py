"""Pauses of the garbage collector, and what it does while a thread waits in one."""

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from treadle.config import COLLECTOR


class Node:
    """Refers to itself."""

    def __init__(self) -> None:
        self.own = self


def garbage() -> weakref.ref[Node]:
    return weakref.ref(Node())


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    was = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was else gc.disable)()


def test_wait_in_a_pause_is_used_by_its_thread_alone() -> None:
    with COLLECTOR.paused():
        assert not gc.isenabled()
        made = garbage()
        other = threading.Thread(target=COLLECTOR.use_wait)
        other.start()
        other.join()
        assert made() is not None
        with COLLECTOR.paused():
            COLLECTOR.use_wait()
        assert made() is None
        assert not gc.isenabled()
    assert gc.isenabled()


def test_wait_is_not_used_without_a_pause() -> None:
    gc.disable()
    made = garbage()
    COLLECTOR.use_wait()
    assert made() is not None


def test_wait_is_not_used_where_the_collector_was_disabled() -> None:
    gc.disable()
    with COLLECTOR.paused():
        made = garbage()
        COLLECTOR.use_wait()
        assert made() is not None
    assert not gc.isenabled()
