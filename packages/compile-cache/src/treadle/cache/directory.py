"""The folders that a cache keeps things in: made private and marked, and refused if others could change them."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PRIVATE = 0o700
# An empty folder that marks the one around it as made by a cache, which may therefore remove it.
_MARK = ".treadle"
_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class UnusableDirectoryError(Exception):
    """The directory cannot serve; the text says why. Only the cache itself sees this error."""


def prepare(directory: Path) -> Path:
    """Make the directory, private, if it is not there, and prove that it can be written; its mode stays if it is."""
    try:
        str(directory).encode()  # compilers and loaders of libraries accept no other names
        make_folder(directory, parents=True)
        fault = fault_of(directory.stat())
        if fault:
            raise UnusableDirectoryError(fault)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except (OSError, ValueError) as error:
        raise UnusableDirectoryError(str(error)) from error
    return directory


def fault_of(status: os.stat_result) -> str:
    """Return why a folder cannot hold entries, which are run as code; an empty text if it can."""
    user = current_user()
    if not stat.S_ISDIR(status.st_mode):
        return "it is no folder"
    if user is None:
        return ""
    if status.st_uid != user:
        return f"it belongs to user {status.st_uid}, not to you ({user}), and its entries are run as code"
    if status.st_mode & _OF_OTHERS:
        return "other users can write to it, and its entries are run as code; take that right away"
    return ""


def make_folder(folder: Path, *, parents: bool = False) -> None:
    """Make a folder that is private and marked as the cache's; one that is there stays as it is."""
    try:
        folder.mkdir(mode=_PRIVATE, parents=parents)
    except FileExistsError:
        return
    with suppress(OSError):  # without the mark, less is removed later
        (folder / _MARK).mkdir(mode=_PRIVATE)


def make_shard(shard: Path) -> None:
    """Make a folder inside the cache's directory, or check that the one there is the user's own and no link."""
    make_folder(shard)
    fault = fault_of(shard.lstat())
    if fault:
        msg = f"{shard.name}: {fault}"
        raise NotADirectoryError(msg)


def is_marked(folder: Path) -> bool:
    """Whether a cache of this user's made a folder."""
    try:
        return not fault_of((folder / _MARK).lstat())
    except OSError:
        return False


def remove_marked(folder: Path) -> None:
    """Remove a folder that a cache made, if nothing is in it but its mark."""
    with suppress(OSError):
        if is_marked(folder):
            (folder / _MARK).rmdir()
        folder.rmdir()


def current_user() -> int | None:
    """Return this process's user, or None where files have no numbered owner (Windows)."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; none if it cannot be read."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are all that is needed
    except OSError:
        return []


def files_in(directory: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield every regular file one level down, with its status; what vanishes meanwhile, and links, are left out."""
    for name in names_in(directory):
        shard = directory / name
        if len(name) != 2 or not _is_folder(shard):
            continue
        for inside in names_in(shard):
            path = shard / inside
            try:
                status = path.lstat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                yield path, status


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
