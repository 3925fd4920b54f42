"""A lock that a forked child finds free."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


class ForkLock:
    """A lock for ``with`` that is free in a forked child: the thread that held it in the parent does not exist there.

    What it guards must be usable wherever that thread stood: values are put in place whole, by one assignment.
    """

    __slots__ = ("__weakref__", "_lock", "_taken")

    def __init__(self) -> None:
        self._lock = self._taken = threading.Lock()
        if hasattr(os, "register_at_fork"):
            # The list of handlers lives as long as the process; it must not keep locks alive.
            this = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _renew(this()))

    def __enter__(self) -> None:
        lock = self._lock
        lock.acquire()
        # Where the thread that forks holds it, the child lets go of the lock that it took.
        self._taken = lock

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._taken.release()


def _renew(lock: ForkLock | None) -> None:
    if lock is not None:
        lock._lock = threading.Lock()
