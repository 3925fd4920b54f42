"""Reading and writing single files, safe against pipes, links, folders and files of others in their place."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from treadle.cache.directory import current_user
from treadle.cache.entry import size_of

_CHUNK = 1 << 20
_LARGEST = 1 << 30  # bytes of a file that is made by a compiler; reading a larger one would take for ever
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# Opening a pipe would wait for a writer.
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_BY_FOLDER = os.open in os.supports_dir_fd


class Access:
    """Who may own what is read; if `strict`, what group or others can write to is left alone."""

    def __init__(self, owners: frozenset[int] | None, *, strict: bool) -> None:
        self._owners = owners  # None where files have no numbered owner
        self._strict = strict

    def fault(self, status: os.stat_result) -> str:
        """Return why something may not be read; an empty text if it may."""
        if self._owners is None:
            return ""
        if status.st_uid not in self._owners:
            return f"it belongs to user {status.st_uid}"
        if self._strict and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return "users other than its owner can write to it"
        return ""


def own() -> Access:
    """Return the access to this user's own files."""
    user = current_user()
    return Access(None if user is None else frozenset({user}), strict=False)


class UnsafeFileError(OSError):
    """A file, or its folder, that may not be read: others could have written it."""


@contextmanager
def _opened(path: Path, access: Access) -> Iterator[FileIO]:
    """Open a regular file for reading, in a folder that is not a link; both are checked once they are open."""
    if not _BY_FOLDER:
        handle = os.open(path, os.O_RDONLY | _FILE | _BINARY)
    else:
        folder = os.open(path.parent, os.O_RDONLY | _FOLDER)
        try:
            _check(path.parent, folder, access)
            handle = os.open(path.name, os.O_RDONLY | _FILE, dir_fd=folder)
        finally:
            os.close(folder)
    with FileIO(handle) as file:
        status = _check(path, handle, access)
        if not stat.S_ISREG(status.st_mode):
            msg = f"{path} is not a regular file"
            raise OSError(msg)
        yield file


def _check(path: Path, handle: int, access: Access) -> os.stat_result:
    status = os.fstat(handle)
    fault = access.fault(status)
    if fault:
        msg = f"{path}: {fault}"
        raise UnsafeFileError(msg)
    return status


def read_entry(path: Path, access: Access) -> bytes:
    """Return the bytes of an entry; of a file that cannot be one, only its beginning."""
    with _opened(path, access) as file:
        data = bytearray(file.read(_CHUNK))
        # What is longer than its header says is damaged: it may be longer than the memory.
        size = size_of(bytes(data))
        while len(data) <= size:
            chunk = file.read(_CHUNK)
            if not chunk:
                break
            data += chunk
    return bytes(data)


def begins_with(path: Path, beginning: bytes, access: Access) -> bool:
    """Whether a file begins with these bytes."""
    with _opened(path, access) as file:
        return file.read(len(beginning)) == beginning


def checksum_of(path: Path, access: Access) -> str:
    """Return the checksum of a file's content, as it stands in a materialised file's name."""
    state = hashlib.blake2b(digest_size=16)
    with _opened(path, access) as file:
        if os.fstat(file.fileno()).st_size > _LARGEST:
            msg = f"{path} is larger than any file of the cache"
            raise OSError(msg)
        while data := file.read(_CHUNK):
            state.update(data)
    return state.hexdigest()


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that readers see all of it or nothing; what is in its place, a link too, is replaced."""
    handle, name = tempfile.mkstemp(prefix=".write-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def renew(path: Path) -> None:
    """Renew the time of last use (file systems may be mounted without access times)."""
    with suppress(OSError, NotImplementedError):
        os.utime(path, follow_symlinks=False)
