"""The folder that a cache lives in: made private, and refused if it belongs to somebody else."""

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PRIVATE = 0o700


class UnusableDirectoryError(Exception):
    """The directory cannot serve; the text says why. Only the cache itself sees this error."""


def prepare(directory: Path) -> Path:
    """Make the directory if it is not there, make it private, and prove that it can be written.

    Raises
    ------
    UnusableDirectoryError
        If it belongs to another user, or cannot be made, made private, or written.
    """
    try:
        directory.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        status = directory.stat()
        user = current_user()
        if user is not None and status.st_uid != user:
            msg = f"it belongs to user {status.st_uid}, not to you ({user}), and its entries are run as code"
            raise UnusableDirectoryError(msg)
        if user is not None and stat.S_IMODE(status.st_mode) != _PRIVATE:
            directory.chmod(_PRIVATE)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise UnusableDirectoryError(str(error)) from error
    return directory


def current_user() -> int | None:
    """Return this process's user, or None where files have no numbered owner (Windows)."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that readers see all of it or nothing.

    Raises
    ------
    OSError
        If it cannot be written; nothing is left behind.
    """
    path.parent.mkdir(mode=_PRIVATE, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".write-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def files_in(directory: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield every file one level down, with its status; what vanishes meanwhile is left out."""
    try:
        shards = sorted(os.scandir(directory), key=lambda shard: shard.name)
    except OSError:
        return
    for shard in shards:
        if len(shard.name) != 2 or not shard.is_dir(follow_symlinks=False):
            continue
        try:
            found = sorted(os.scandir(shard.path), key=lambda file: file.name)
        except OSError:
            continue
        for file in found:
            try:
                if file.is_file(follow_symlinks=False):
                    yield Path(file.path), file.stat(follow_symlinks=False)
            except OSError:
                continue
