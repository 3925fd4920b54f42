"""Further folders of entries that are only read: filled once, used by many workers."""

import os
import stat
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from treadle.cache.directory import current_user
from treadle.cache.errors import CacheWarning
from treadle.config import new_lock

_ROOT = 0


class SharedFolders:
    """The folders that a cache reads and never writes.

    Entries are run as code. So a folder counts only if nobody but its owner can write to it, and if that owner is this
    user or the system's administrator, or the user says that others are trusted. One that does not count is told once.

    Parameters
    ----------
    named
        Returns the folders.
    trusted
        Returns whether folders of other users count.
    """

    def __init__(self, named: Callable[[], Sequence[Path]], trusted: Callable[[], bool]) -> None:
        self._named = named
        self._trusted = trusted
        self._lock = new_lock()
        self._told: set[Path] = set()

    def usable(self) -> list[Path]:
        """Return the folders that may be read."""
        found = []
        for folder in self._named():
            fault = self._fault(folder)
            if fault is None:
                found.append(folder)
            else:
                self._tell(folder, fault)
        return found

    def owners(self, folder: Path) -> frozenset[int] | None:
        """Return the users whose files in a folder may be read; None where files have no owners."""
        user = current_user()
        if user is None:
            return None
        try:
            return frozenset({user, _ROOT, folder.stat().st_uid})
        except OSError:
            return frozenset({user})

    def _fault(self, folder: Path) -> str | None:
        try:
            status = folder.stat()
        except OSError as error:
            return str(error)
        user = current_user()
        if not stat.S_ISDIR(status.st_mode):
            return "it is no folder"
        if user is None:
            return None
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return "users other than its owner can write to it, and its entries are run as code; take that right away"
        if status.st_uid not in {user, _ROOT} and not self._trusted():
            return (
                f"it belongs to user {status.st_uid}, not to you ({user}), and its entries are run as code; if you "
                "trust that user, set the option cache__trust_shared"
            )
        return None

    def _tell(self, folder: Path, fault: str) -> None:
        with self._lock:
            if folder in self._told:
                return
            self._told.add(folder)
        msg = f"compile cache: the shared folder {folder} is not read: {fault}."
        warnings.warn(msg, CacheWarning, stacklevel=6)


def folders_in(text: str) -> tuple[Path, ...]:
    """Return the folders that a text names, separated as in PATH."""
    return tuple(Path(part).expanduser().absolute() for part in text.split(os.pathsep) if part)
