"""One maker per key: between the threads of a process, and between processes."""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.config import checkpoint, new_lock

if TYPE_CHECKING:
    from filelock import BaseFileLock


# Seconds between two looks whether work that waits for another thread is still wanted, where it may be abandoned.
_LOOK = 0.05


class Claims:
    """Hands out claims on keys.

    Between processes a claim is a lock file beside the entry, which the system releases when its
    holder dies. `wait` gives the seconds between two attempts on it. Its stamp file is refreshed while
    the holder works; a claim whose stamp is older than `timeout` (a stopped process, a lost network) is
    taken over. A claim only saves work: two makers of one key write the same entry, so a takeover that
    was wrong does no harm.
    """

    def __init__(self, wait: Callable[[], float], timeout: Callable[[], float]) -> None:
        self._wait = wait
        self._timeout = timeout
        self._guard = new_lock()
        self._held: dict[str, tuple[threading.RLock, int]] = {}

    @contextmanager
    def hold(self, name: str, folder: Path | None, ready: Callable[[], bool]) -> Iterator[None]:
        """Hold the claim on `name`, a file name, or go on without it as soon as `ready` is true.

        The lock file goes into `folder`; without one, the claim is among this process's threads only. `ready` says
        whether another process has meanwhile made what the claim is for.
        """
        with self._among_threads(name):
            lock = None if folder is None else self._among_processes(folder / f"{name}.lock", ready)
            if lock is None:
                yield
                return
            path = Path(lock.lock_file)
            finished = threading.Event()
            # The option is read here: a block that changes it does not reach the thread.
            keeper = threading.Thread(target=_refresh, args=(path, self._timeout() / 2, finished), daemon=True)
            keeper.start()
            try:
                yield
            finally:
                finished.set()
                keeper.join()
                with suppress(OSError):  # Windows cannot remove an open file; purge does it later
                    path.unlink()
                with suppress(OSError):
                    _stamp(path).unlink()
                lock.release()

    @contextmanager
    def _among_threads(self, name: str) -> Iterator[None]:
        with self._guard:
            lock, users = self._held.get(name, (new_lock(), 0))
            self._held[name] = (lock, users + 1)
        try:
            with _patiently(lock):
                yield
        finally:
            with self._guard:
                lock, users = self._held[name]
                if users == 1:
                    del self._held[name]
                else:
                    self._held[name] = (lock, users - 1)

    def _among_processes(self, path: Path, ready: Callable[[], bool]) -> "BaseFileLock | None":
        """Return the lock, acquired; None if `ready` came first or the file system has no locks."""
        age = _Age(path)
        while True:
            try:
                lock = _try_lock(path)
            except (OSError, NotImplementedError):
                return None
            if lock is not None:
                _write_stamp(_stamp(path))
                return lock
            if not self._pause(path, age, ready):
                return None

    def _pause(self, path: Path, age: "_Age", ready: Callable[[], bool]) -> bool:
        """Wait until the next attempt is due; return False if none is needed."""
        until = time.monotonic() + self._wait() * random.uniform(1, 2)
        step = 0.002
        while time.monotonic() < until:
            if ready():
                return False
            if not os.path.lexists(path):  # the holder gave up, or finished without result
                return True
            if age.read() > self._timeout():
                with suppress(OSError):
                    path.unlink()  # a new file is a new lock, whoever still holds the old one
                return True
            checkpoint()
            time.sleep(step)
            step = min(2 * step, 0.1)
        return True


@contextmanager
def _patiently(lock: threading.RLock) -> Iterator[None]:
    """Hold a lock; work that may be abandoned calls its check while it waits for it."""
    if not checkpoint():
        with lock:
            yield
        return
    while not lock.acquire(timeout=_LOOK):
        checkpoint()
    try:
        yield
    finally:
        lock.release()


def _refresh(path: Path, period: float, finished: threading.Event) -> None:
    while not finished.wait(period):
        with suppress(OSError):
            os.utime(_stamp(path))


def _try_lock(path: Path) -> "BaseFileLock | None":
    """Return the lock on a file, acquired; None if another holds it."""
    from filelock import FileLock, Timeout  # noqa: PLC0415 - 0.02 s that a process without misses need not pay

    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


def _write_stamp(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _stamp(path: Path) -> Path:
    # Not the lock file's own time, which every attempt by others renews.
    return path.with_suffix(".claim")


class _Age:
    """How long ago a claim's stamp was refreshed: by the clock, or by how long it was seen unchanged.

    The clock may be set back, and a stamp then lie in the future: what was seen counts too.
    """

    def __init__(self, path: Path) -> None:
        self._path = _stamp(path)
        self._began = time.time()
        self._stamp: float | None = None
        self._seen = time.monotonic()

    def read(self) -> float:
        try:
            stamp = self._path.stat().st_mtime
        except OSError:
            stamp = self._began
        if stamp != self._stamp:
            self._stamp, self._seen = stamp, time.monotonic()
        return max(time.time() - stamp, time.monotonic() - self._seen)
