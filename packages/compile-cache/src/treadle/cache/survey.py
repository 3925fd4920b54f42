"""What a directory holds, listed in one pass that reads no content, and its size, noted between passes."""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from treadle.cache.directory import is_marked
from treadle.cache.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTE = "size"
_SHARD = re.compile("[0-9a-f]{2}")
_EVERY = 24 * 60 * 60.0  # seconds after which a directory is looked through again, for files that are too old
_LONGEST = 1 << 20  # bytes of a note: a line for each write since the last pass


class Seen(NamedTuple):
    """A file as a pass over the directory sees it."""

    folder: Path
    name: str
    size: int  # in bytes
    used: float  # when it was last read or written, in seconds since 1970
    marked: bool  # whether it lies in a folder that the cache made

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / self.name


def survey(root: Path) -> Iterator[Seen]:
    """Yield the files, folders and all else that the folders of a directory hold; no content is read."""
    own = is_marked(root)
    for shard in _entries(root):
        if not _SHARD.fullmatch(shard.name) or not shard.is_dir(follow_symlinks=False):
            continue
        folder = root / shard.name
        marked = own or is_marked(folder)
        for entry in _entries(folder):
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:  # removed meanwhile
                continue
            is_file = stat.S_ISREG(status.st_mode)
            used = max(status.st_atime, status.st_mtime) if is_file else status.st_mtime
            yield Seen(folder, entry.name, status.st_size if is_file else 0, used, marked)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


class SizeNote:
    """A file in a directory that notes its size: what the last pass counted, and a line for each write since.

    Writes of several processes are appended; what is lost between a pass and its note is found by the next pass.
    """

    def __init__(self, root: Path) -> None:
        self._file = root / NOTE

    def read(self) -> int | None:
        """Return the bytes noted; None if there is no note, or the last pass is long ago."""
        try:
            if self._file.lstat().st_size > _LONGEST:
                return None
            first, *writes = self._file.read_text(encoding="ascii").split("\n")
            total, when = first.split()
            if not 0 <= time.time() - float(when) <= _EVERY:
                return None
            return int(total) + sum(int(line) for line in writes[:-1])
        except (OSError, ValueError):
            return None

    def write(self, total: int) -> None:
        """Note what a pass found."""
        with suppress(OSError):
            write_atomically(self._file, f"{total} {int(time.time())}\n".encode("ascii"))

    def add(self, size: int) -> None:
        """Note a write."""
        with suppress(OSError):
            handle = os.open(self._file, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0))
            try:
                os.write(handle, f"{size}\n".encode("ascii"))
            finally:
                os.close(handle)
