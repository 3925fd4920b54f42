"""Shared folders of entries, which are only read: filled once, used by many workers."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from treadle.cache.directory import current_user
from treadle.cache.errors import CacheWarning
from treadle.cache.files import Access, UnsafeFileError, checksum_of, read_entry
from treadle.config import new_lock, warn_user

_ROOT = 0


class SharedFolders:
    """The folders that a cache reads and never writes.

    Entries are run as code. So a folder counts only if nobody but its owner can write to it, or exchange it by way of a
    folder that it is in, and if all these owners are this user or the system's administrator, or the user says that
    others are trusted. The same holds for each folder inside and each file. One that does not count costs one warning.
    """

    def __init__(self, named: Callable[[], Sequence[Path]], trusted: Callable[[], bool]) -> None:
        self._named = named
        self._trusted = trusted
        self._lock = new_lock()
        self._reported: set[Path] = set()

    def usable(self) -> list[Path]:
        """Return the folders that may be read."""
        folders = []
        for folder in self._named():
            fault = self._fault(folder)
            if fault:
                self._report(folder, fault)
            else:
                folders.append(folder)
        return folders

    def read(self, folder: Path, file: Path) -> bytes | None:
        """Return the bytes of an entry in one of the folders; None if there is none that may be read."""
        try:
            return read_entry(file, self._access(folder))
        except UnsafeFileError as error:
            self._report(folder, str(error))
        except (OSError, MemoryError):
            pass
        return None

    def has_checksum(self, folder: Path, file: Path, checksum: str | None) -> bool:
        """Whether a file in one of the folders may be loaded, and has the content that its name promises."""
        try:
            return checksum_of(file, self._access(folder)) == checksum
        except UnsafeFileError as error:
            self._report(folder, str(error))
        except OSError:
            pass
        return False

    @staticmethod
    def _access(folder: Path) -> Access:
        user = current_user()
        if user is None:
            return Access(None, strict=True)
        try:
            owners = frozenset({user, _ROOT, folder.stat().st_uid})
        except OSError:
            owners = frozenset({user})
        return Access(owners, strict=True)

    def _fault(self, folder: Path) -> str:
        try:
            if not stat.S_ISDIR(folder.stat().st_mode):
                return "it is no folder"
            user = current_user()
            if user is None:
                return ""
            faults = (self._fault_of(place, place.lstat(), user) for place in _on_the_way(folder))
            return next((fault for fault in faults if fault), "")
        except (OSError, ValueError) as error:
            return str(error)

    def _fault_of(self, place: Path, status: os.stat_result, user: int) -> str:
        """Return why a folder, or a link, on the way to the entries lets others exchange them; or an empty text."""
        is_folder = stat.S_ISDIR(status.st_mode)
        # In a sticky folder, such as that for temporary files, others can only add.
        if is_folder and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX:
            return (
                f"users other than its owner can write to {place}, and its entries are run as code; take that right "
                "away"
            )
        if status.st_uid not in {user, _ROOT} and not self._trusted():
            return (
                f"{place} belongs to user {status.st_uid}, not to you ({user}), and its entries are run as code; if "
                "you trust that user, set the option cache__trust_shared"
            )
        return ""

    def _report(self, folder: Path, fault: str) -> None:
        with self._lock:
            if folder in self._reported:
                return
            self._reported.add(folder)
        warn_user(f"compile cache: the shared folder {folder} is not read: {fault}.", CacheWarning)


def _on_the_way(folder: Path) -> Iterator[Path]:
    """Yield a folder and all that contain it, as written and with links followed."""
    real = Path(os.path.realpath(folder))
    yield from dict.fromkeys((folder, *folder.parents, real, *real.parents))


def folders_in(text: str) -> tuple[Path, ...]:
    """Return the folders that a text names, separated as in PATH."""
    return tuple(Path(part).expanduser().absolute() for part in text.split(os.pathsep) if part)
