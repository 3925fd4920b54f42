"""Compilations in background threads: a few at once, abandoned when nobody wants them, gone in a forked child."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from treadle.config import lazy_module, new_condition

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Iterable
else:
    ctypes = lazy_module("ctypes")

# Seconds that the end of the process gives jobs to notice it, and then to end what Python cannot interrupt, such as the
# work of XLA or LLVM: a library that is in the middle of something may crash while the process takes itself apart.
_FIRST_WAIT, _LAST_WAIT = 0.2, 60.0
# Seconds after which a thread is interrupted again: where it stood before, the error may have been lost.
_AGAIN = 0.5
# Seconds that a fork waits, at most, for jobs to come to a place where they check whether they are wanted. Elsewhere
# the child would inherit half-imported modules, and locks of libraries that nobody releases.
_FORK_WAIT = 30.0


class AbandonedError(BaseException):
    """Ends a compilation that nobody wants any more; no program sees it."""


class Job(Protocol):
    """A compilation."""

    def run(self) -> None:
        """Compile. It calls `BackgroundThreads.check` often, and raises nothing."""

    def lose(self) -> None:
        """Take note that no thread works on it or will: the process was forked."""


class BackgroundThreads:
    """Threads that run jobs, and end when there are none.

    They are daemons: the end of the process ends the jobs, compilers that these run included. Jobs that nobody else
    refers to are dropped before they begin. The process forks while jobs stand still, at a `check`.
    """

    def __init__(self) -> None:
        self._changed = new_condition()
        self._waiting: deque[weakref.ref[Job]] = deque()
        self._threads: list[threading.Thread] = []
        # What a forked child has to be told of.
        self._jobs: weakref.WeakSet[Job] = weakref.WeakSet()
        self._is_registered = False
        self._is_closing = False
        self._forks = 0  # how many threads fork now
        self._busy = 0  # how many threads are in a job, and not at a check

    @property
    def running(self) -> int:
        """How many threads there are."""
        return len(self._threads)

    def submit(self, job: Job, limit: int, *, soon: bool = False) -> bool:
        """Have a job run, in one of at most `limit` threads; return False if the process ends or has no thread left.

        Parameters
        ----------
        job
            The job. Only its caller keeps it alive until it runs.
        limit
            How many threads there may be.
        soon
            Whether it goes before all that wait.
        """
        with self._changed:
            self._register()
            if self._is_closing:
                return False
            self._jobs.add(job)
            entry = weakref.ref(job)
            if soon:
                self._waiting.appendleft(entry)
            else:
                self._waiting.append(entry)
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            if len(self._threads) < limit:
                thread = threading.Thread(target=self._work, name="treadle background compilation", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system has no thread left, or Python starts none any more
                    if not self._threads:
                        self._waiting.clear()
                        return False
                else:
                    self._threads.append(thread)
        return True

    def hasten(self, job: Job) -> None:
        """Let a job that waits go before all others."""
        with self._changed:
            entry = weakref.ref(job)
            if entry in self._waiting:
                self._waiting.remove(entry)
                self._waiting.appendleft(entry)

    def check(self) -> None:
        """End the job that calls it if the process is about to end; wait while it forks."""
        if self._is_closing:
            raise AbandonedError
        if self._forks:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()
                try:
                    self._changed.wait_for(lambda: not self._forks)
                finally:
                    self._busy += 1

    def close(self, patience: float = _LAST_WAIT) -> None:
        """End all jobs; return when their threads have ended, or after some seconds."""
        with self._changed:
            self._is_closing = True
            self._waiting.clear()
            threads = list(self._threads)
        _join(threads, _FIRST_WAIT)
        until = monotonic() + patience
        plain_hook, plain_thread_hook = sys.unraisablehook, threading.excepthook
        sys.unraisablehook = lambda raised: None if raised.exc_type is AbandonedError else plain_hook(raised)
        threading.excepthook = lambda raised: None if raised.exc_type is AbandonedError else plain_thread_hook(raised)
        try:
            while (alive := [thread for thread in threads if thread.is_alive()]) and monotonic() < until:
                for thread in alive:
                    _interrupt(thread)
                _join(alive, _AGAIN)
        finally:
            sys.unraisablehook, threading.excepthook = plain_hook, plain_thread_hook

    def _register(self) -> None:
        if not self._is_registered:
            atexit.register(self.close)
            if hasattr(os, "register_at_fork"):
                # Both hold locks of their own while the process forks, which jobs need to get to a check. What is
                # registered last runs first.
                import concurrent.futures.thread  # noqa: F401, PLC0415 - see above
                import logging  # noqa: F401, PLC0415 - see above

                os.register_at_fork(before=self._hold, after_in_parent=self._release, after_in_child=self._forget)
        self._is_registered = True

    def _hold(self) -> None:
        """Have all jobs stand still, before the process forks."""
        with self._changed:
            self._forks += 1
            if threading.current_thread() not in self._threads:
                self._changed.wait_for(lambda: not self._busy, _FORK_WAIT)

    def _release(self) -> None:
        """Have all jobs go on."""
        with self._changed:
            self._forks -= 1
            self._changed.notify_all()

    def _forget(self) -> None:
        """Drop what belongs to the parent process: its threads."""
        jobs, self._jobs = list(self._jobs), weakref.WeakSet()
        self._threads, self._waiting = [], deque()
        self._forks = self._busy = 0
        for job in jobs:
            job.lose()

    def _work(self) -> None:
        # The end of the process may raise it anywhere.
        with suppress(AbandonedError):
            while (job := self._next()) is not None:
                try:
                    job.run()
                finally:
                    with self._changed:
                        self._busy -= 1
                        self._changed.notify_all()
                del job  # while the thread waits for the lock, nobody refers to it from here

    def _next(self) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: not self._forks)
            while self._waiting:
                job = self._waiting.popleft()()
                if job is not None:
                    self._busy += 1
                    return job
            # Whoever submits a job from now on starts a thread for it.
            this = threading.current_thread()
            self._threads = [thread for thread in self._threads if thread is not this]
        return None


def _interrupt(thread: threading.Thread) -> None:
    """Raise the error of abandoned work in a thread, when it next runs Python."""
    if thread.ident is not None:
        error = ctypes.py_object(AbandonedError)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), error)


def _join(threads: Iterable[threading.Thread], seconds: float) -> None:
    """Wait for threads to end, so many seconds for all."""
    until = monotonic() + seconds
    for thread in threads:
        thread.join(max(until - monotonic(), 0.0))


THREADS = BackgroundThreads()
