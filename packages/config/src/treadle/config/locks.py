"""The locks of all packages: a forked child finds them free.

They are the interpreter's own objects, so that no signal handler can run between taking one and entering its block,
or between leaving the block and letting go: an interrupt leaves none of them held.
"""

import os
import threading
import weakref
from typing import Any


def usable_processors() -> int:
    """Return how many processors this process may use.

    >>> usable_processors() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Registry:
    """Every lock that is alive; it frees them in a forked child."""

    def __init__(self) -> None:
        self.locks: weakref.WeakSet[Any] = weakref.WeakSet()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        """Free the locks of threads that do not exist in this process; the thread that forked keeps its own."""
        for lock in list(self.locks):
            if not lock._is_owned():
                lock._at_fork_reinit()


_REGISTRY = _Registry()


def new_lock() -> threading.RLock:
    """Return a re-entrant lock, which is free in a forked child unless the thread that forks holds it.

    What it guards must be usable wherever another thread stood: values are put in place whole, by one assignment.
    """
    lock = threading.RLock()
    _REGISTRY.locks.add(lock)
    return lock


def new_condition() -> threading.Condition:
    """Return a condition on a lock of `new_lock`."""
    return threading.Condition(new_lock())


def live_locks() -> list[threading.RLock]:
    """Return all locks that are in use."""
    return list(_REGISTRY.locks)
