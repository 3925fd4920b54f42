"""Stamps of code, kept by what the file system says of its files: a process need not read hundreds of files again."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from treadle.cache.cache import Cache
from treadle.cache.digests import digest
from treadle.cache.entry import pack, unpack
from treadle.cache.errors import CacheFormatError
from treadle.config import config, new_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NAME = "stamps"
_KEY = digest(NAME)
_MOST = 256
# Within the resolution of a file's times it may change a second time without a sign.
_RESOLUTION = 2.0


def _quiet_cache() -> Cache:
    return Cache(config.compiledir, quiet=True)


class KeptStamps:
    """Stamps by the state of the files that they are of, in a file of the cache's directory.

    A directory that is not there is not made for them: they are kept with the first program.

    Parameters
    ----------
    cache
        Returns the cache whose directory it is.
    """

    def __init__(self, cache: Callable[[], Cache] = _quiet_cache) -> None:
        self._cache = cache
        self._lock = new_lock()
        self._stamps: dict[str, str] | None = None
        self._is_changed = False

    def get(self, state: str) -> str | None:
        """Return the stamp of files in a state; None if it is not known."""
        with self._lock:
            if self._stamps is None:
                self._stamps = self._read()
            return self._stamps.get(state)

    def add(self, state: str, stamp: str) -> None:
        """Take the stamp of files in a state, to be written by `save`."""
        with self._lock:
            self._stamps = {**(self._stamps or {}), state: stamp}
            self._is_changed = True

    def save(self) -> None:
        """Write what was added, as soon as there is a directory."""
        if not self._is_changed:
            return
        with self._lock:
            cache = self._cache()
            if not self._is_changed or not cache.directory.is_dir():
                return
            # What other processes wrote meanwhile is the older part; the oldest stamps go.
            stamps = list({**self._read(), **(self._stamps or {})}.items())[-_MOST:]
            text = "".join(f"{state} {stamp}\n" for state, stamp in stamps)
            cache.note(NAME, pack(_KEY, text.encode(), {}))
            self._is_changed = False

    def _read(self) -> dict[str, str]:
        cache = self._cache()
        data = cache.noted(NAME) if cache.directory.is_dir() else None
        try:
            lines = [] if data is None else unpack(_KEY, data).payload.decode().splitlines()
        except (CacheFormatError, UnicodeDecodeError):
            return {}
        return dict(line.split(" ", 1) for line in lines if " " in line)


def state_of(root: str, files: Sequence[tuple[str, os.stat_result]]) -> str | None:
    """Return a text that changes with every change of files; None where one was changed so lately that it might not."""
    latest = time.time() - _RESOLUTION
    if any(status.st_ctime > latest or status.st_mtime > latest for _, status in files):
        return None
    # The time of the last change of a file's status moves with each change of its content, and nobody can set it.
    rows = [f"{p}\0{s.st_size} {s.st_mtime_ns} {s.st_ctime_ns} {s.st_ino} {s.st_dev}" for p, s in files]
    return digest(root, *rows)[:32]
