"""Threads that compile in the background; at the end of the process they end at once, with the compilers they run."""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import os
import threading
import weakref
from time import monotonic
from typing import TYPE_CHECKING

from treadle.config import new_lock
from treadle.link.c.toolchain import end_compiler, forget_compilers

if TYPE_CHECKING:
    from collections.abc import Callable

# How long the end of a process waits for a thread to take back what it has begun to write, and looks again, in seconds.
_PATIENCE, _AGAIN = 5.0, 0.01


class Background:
    """Starts threads, which report nothing: whoever needs what they make asks again."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._is_registered = False
        self._threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()

    def start(
        self, work: Callable[[], object], name: str, context: contextvars.Context | None = None
    ) -> threading.Thread:
        """Start and return a thread that does some work, in a copy of the caller's context if none is given.

        Raises
        ------
        RuntimeError
            If the system has no thread left, or the process is about to end.
        """
        run = (context or contextvars.copy_context()).run
        thread = threading.Thread(target=run, args=(_quietly, work), name=f"treadle-c-{name}", daemon=True)
        with self._lock:
            if not self._is_registered:
                atexit.register(self._end)
                if hasattr(os, "register_at_fork"):
                    os.register_at_fork(after_in_child=self._forget)
            self._is_registered = True
        thread.start()
        self._threads.add(thread)
        return thread

    def _end(self) -> None:
        """Kill the compilers that threads run, and wait until these threads have ended; others are left alone."""
        until = monotonic() + _PATIENCE
        stopped: set[threading.Thread] = set()
        while monotonic() < until:
            alive = [thread for thread in self._threads if thread.is_alive()]
            stopped.update(thread for thread in alive if end_compiler(thread))
            left = stopped.intersection(alive)
            if not left:
                break
            for thread in left:
                thread.join(_AGAIN)

    def _forget(self) -> None:
        """Drop what belongs to the parent process."""
        self._threads.clear()
        forget_compilers()


def _quietly(work: Callable[[], object]) -> None:
    with contextlib.suppress(BaseException):
        work()


BACKGROUND = Background()
