"""Where entries are kept: files in a private directory, or this process's memory."""

import atexit
import errno
import math
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from treadle.cache.directory import UnusableDirectoryError, current_user, files_in, prepare, write_atomically
from treadle.cache.entry import file_checksum
from treadle.cache.errors import CacheWarning
from treadle.cache.shared import SharedFolders
from treadle.config import new_lock

_GRACE = 7 * 24 * 60 * 60.0  # seconds between the age at which a file is used no more and its removal
_ABANDONED = 24 * 60 * 60.0  # seconds after which what a process was writing counts as left behind
_GUESTS = ("companions", "inductor")
_NOTES = ("last-lookup.json",)
_ROOM = 1 << 22  # bytes that a directory must still take for a failure not to be blamed on a full disk


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of the cache."""

    path: Path
    key: str
    size: int
    used: float


class Store:
    """Keeps bytes by key in a directory, and in memory where the directory cannot be used.

    A directory that turns out unusable, at once or later (a full disk), costs one warning; from then on what
    cannot be written is kept in memory, and files go to a private temporary folder.

    Parameters
    ----------
    directory
        The directory; it is made, private to the user, when first needed.
    max_bytes
        Returns the size above which the least recently used files are removed.
    evicted
        Told how many files were removed for size or age.
    max_age
        Returns the seconds after its last use for which a file may be used again.
    shared
        Further directories, which are only read.
    """

    def __init__(
        self,
        directory: Path,
        max_bytes: Callable[[], int],
        evicted: Callable[[int], None],
        max_age: Callable[[], float] = lambda: math.inf,
        shared: SharedFolders | None = None,
    ) -> None:
        self.directory = directory
        self._max_bytes = max_bytes
        self._max_age = max_age
        self._evicted = evicted
        self._shared = shared if shared is not None else SharedFolders(lambda: (), lambda: False)
        self._lock = new_lock()
        self._memory: dict[str, bytes] = {}
        self._root: Path | None = None
        self._prepared = False
        self._warned = False
        self._temporary: Path | None = None
        self._size: int | None = None

    def root(self) -> Path | None:
        """Return the directory, made and checked, or None if it cannot be used."""
        if not self._prepared:
            with self._lock:
                if not self._prepared:
                    try:
                        self._root = prepare(self.directory)
                    except UnusableDirectoryError as error:
                        self._warn(str(error))
                    finally:
                        self._prepared = True
        return self._root

    def path(self, key: str) -> Path | None:
        """Return the file of an entry, whether or not it exists; None without a directory."""
        root = self.root()
        return None if root is None else root / key[:2] / f"{key}.entry"

    def usable(self, path: Path) -> bool:
        """Whether a file exists and was used lately enough to be used again."""
        try:
            return time.time() - path.stat().st_mtime <= self._max_age()
        except OSError:
            return False

    def read(self, key: str) -> bytes | None:
        """Return the bytes kept under a key, and renew the time of their last use."""
        path = self.path(key)
        data = None if path is None else self._read_own(path)
        if data is None:
            data = self._memory.get(key)
        return data

    def read_shared(self, key: str) -> Iterator[bytes]:
        """Yield the bytes that shared directories keep under a key."""
        for folder in self._shared.usable():
            data = _read_file(folder / key[:2] / f"{key}.entry", self._shared.owners(folder))
            if data is not None:
                yield data

    def _read_own(self, path: Path) -> bytes | None:
        if not self.usable(path):
            return None
        user = current_user()
        data = _read_file(path, None if user is None else frozenset({user}))
        if data is not None:
            _touch(path)
        return data

    def write(self, key: str, data: bytes) -> None:
        """Keep bytes under a key."""
        path = self.path(key)
        if path is not None:
            try:
                self._write_file(path, data)
            except OSError as error:
                self._warn(str(error))
            else:
                self._grow(len(data))
                return
        with self._lock:
            self._memory[key] = data

    def _write_file(self, path: Path, data: bytes) -> None:
        try:
            write_atomically(path, data)
        except FileNotFoundError:  # somebody removed the directory meanwhile
            self._restore()
            write_atomically(path, data)

    def _restore(self) -> None:
        """Make the directory again.

        Raises
        ------
        OSError
            If that is not possible.
        """
        try:
            prepare(self.directory)
        except UnusableDirectoryError as error:
            raise OSError(str(error)) from error

    def find_file(self, key: str, suffix: str) -> Path | None:
        """Return a materialised file whose content fits the checksum in its name; remove one that does not."""
        folders = dict.fromkeys((self._file_folder(key), self._temporary))  # the second after a full disk
        user = current_user()
        owners = None if user is None else frozenset({user})
        for path in sorted(path for folder in folders if folder for path in folder.glob(f"{key}-*{suffix}")):
            checksum = _checksum_in(path, key, suffix)
            if checksum is None or not self.usable(path):
                continue
            data = _read_file(path, owners)
            if data is not None and file_checksum(data) == checksum:
                _touch(path)
                return path
            with suppress(OSError):
                path.unlink()
        for folder in self._shared.usable():
            for path in sorted((folder / key[:2]).glob(f"{key}-*{suffix}")):
                data = _read_file(path, self._shared.owners(folder))
                if data is not None and file_checksum(data) == _checksum_in(path, key, suffix):
                    return path
        return None

    def add_file(self, key: str, suffix: str, make: Callable[[Path], None]) -> Path:
        """Have `make` write a file in a folder of its own, and keep it under its checksum.

        Raises
        ------
        FileNotFoundError
            If `make` did not write the file.
        """
        folder = self._file_folder(key)
        try:
            work = self._work_folder(folder)
        except OSError as error:
            self._warn(str(error))
        else:
            try:
                return self._made_in(folder, work, key, suffix, make)
            except Exception as error:
                # Makers start compilers, which tell in their own words that the disk is full.
                if folder == self._temporary or (_has_room(folder) and not _is_full(error)):
                    raise
                self._warn(f"there is no room left: {type(error).__name__}")
        folder = self._temporary_folder()
        return self._made_in(folder, self._work_folder(folder), key, suffix, make)

    def _work_folder(self, folder: Path) -> Path:
        """Return a new folder inside one that is made if it is missing."""
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except FileNotFoundError:
            self._restore()
            folder.mkdir(mode=0o700, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".make-", dir=folder))

    def _made_in(self, folder: Path, work: Path, key: str, suffix: str, make: Callable[[Path], None]) -> Path:
        try:
            made = work / f"{key}{suffix}"
            make(made)
            data = made.read_bytes()
            path = folder / f"{key}-{file_checksum(data)}{suffix}"
            made.replace(path)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        if folder != self._temporary:
            self._grow(len(data))
        return path

    def files(self) -> Iterator[StoredFile]:
        """Yield the files of the directory, entries and materialised files, in the order of their names."""
        root = self.root()
        if root is None:
            return
        for path, status in files_in(root):
            key = path.name[:64]
            if path.suffix == ".entry" or path.name[64:65] == "-":
                yield StoredFile(path, key, status.st_size, max(status.st_atime, status.st_mtime))

    def memory(self) -> dict[str, bytes]:
        """Return what is kept in memory."""
        with self._lock:
            return dict(self._memory)

    def discard(self, key: str) -> None:
        """Remove the entry and the files of a key, if there are any."""
        with self._lock:
            self._memory.pop(key, None)
        path = self.path(key)
        if path is not None:
            for found in (path, *path.parent.glob(f"{key}-*")):
                with suppress(OSError):
                    found.unlink()

    def empty(self) -> int:
        """Remove every entry and file, and return how many there were."""
        with self._lock:
            removed = len(self._memory)
            self._memory.clear()
            self._size = None
            for file in list(self.files()):
                with suppress(OSError):
                    file.path.unlink()
                    removed += 1
            for folder in self._guests():
                shutil.rmtree(folder, ignore_errors=True)
        return removed

    def _guests(self) -> list[Path]:
        """Return the folders inside the directory in which compilers and packages keep what is theirs."""
        root = self.root()
        return [] if root is None else [root / name for name in _GUESTS if (root / name).is_dir()]

    def destroy(self) -> int:
        """Remove the directory with all that the cache put there, and return how many files it held.

        Files that the cache did not make stay, and the directory with them.
        """
        removed = self.empty()
        root = self.root()
        if root is not None:
            for shard in root.glob("[0-9a-f][0-9a-f]"):
                shutil.rmtree(shard, ignore_errors=True)
            for name in _NOTES:
                (root / name).unlink(missing_ok=True)
            with suppress(OSError):
                root.rmdir()
        with self._lock:
            self._prepared = False
            self._root = None
        return removed

    def _file_folder(self, key: str) -> Path:
        root = self.root()
        return self._temporary_folder() if root is None else root / key[:2]

    def _temporary_folder(self) -> Path:
        with self._lock:
            if self._temporary is None:
                self._temporary = Path(tempfile.mkdtemp(prefix="treadle-"))
                # Not before exit: what was loaded from these files may outlive this object.
                atexit.register(shutil.rmtree, self._temporary, ignore_errors=True)
            return self._temporary

    def _grow(self, size: int) -> None:
        """Take account of new bytes, and remove the oldest files if there are too many."""
        with self._lock:
            if self._size is None:
                self._remove_old()
                self._size = sum(file.size for file in self.files())
            else:
                self._size += size
            limit = self._max_bytes()
            if self._size > limit:
                self._evict(limit)

    def _remove_old(self) -> None:
        """Remove files that have not been of use for long: other processes may still take those a little over age."""
        oldest = time.time() - self._max_age() - _GRACE
        removed = 0
        for file in list(self.files()):
            if file.used < oldest:
                with suppress(OSError):
                    file.path.unlink()
                    removed += 1
        if removed:
            self._evicted(removed)
        self._remove_abandoned()

    def leftovers(self) -> list[Path]:
        """Return what processes were writing when they ended, or are writing now."""
        root = self.root()
        return [] if root is None else sorted((*root.glob("??/.write-*"), *root.glob("??/.make-*")))

    def _remove_abandoned(self) -> None:
        """Remove what processes left behind that were killed while they wrote."""
        oldest = time.time() - _ABANDONED
        for path in self.leftovers():
            with suppress(OSError):
                if path.lstat().st_mtime < oldest:
                    if path.is_dir():
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        path.unlink()

    def _evict(self, limit: int) -> None:
        """Remove files until nine tenths of the limit are left, so that not every write evicts."""
        files = sorted(self.files(), key=lambda file: file.used)
        size = sum(file.size for file in files)  # other processes write and evict as well
        removed = 0
        for file in files[:-1]:  # the one just written stays, however large
            if size <= limit * 9 // 10:
                break
            with suppress(OSError):
                file.path.unlink()
                size -= file.size
                removed += 1
        self._size = size
        self._evicted(removed)

    def _warn(self, reason: str) -> None:
        with self._lock:
            if self._warned:
                return
            self._warned = True
        msg = (
            f"compile cache: the directory {self.directory} cannot be used ({reason}). Compiled code is kept for this "
            "process only. Set the option compiledir to a folder that you own and can write."
        )
        warnings.warn(msg, CacheWarning, stacklevel=3)


def _touch(path: Path) -> None:
    """Renew the time of last use (file systems may be mounted without access times)."""
    with suppress(OSError):
        path.touch()


def _read_file(path: Path, owners: frozenset[int] | None) -> bytes | None:
    """Return a file's bytes, if it can be read and belongs to one of the users."""
    try:
        with path.open("rb") as file:
            if owners is not None and os.fstat(file.fileno()).st_uid not in owners:
                return None
            return file.read()
    except OSError:
        return None


def _checksum_in(path: Path, key: str, suffix: str) -> str | None:
    """Return the checksum in a file's name; None if the name is of a longer suffix that ends in this one."""
    checksum = path.name.removeprefix(f"{key}-").removesuffix(suffix)
    return checksum if len(checksum) == 32 else None


def file_fault(path: Path) -> str:
    """Return what is wrong with a materialised file, or an empty text."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return str(error)
    if file_checksum(data) == path.name[65:97]:
        return ""
    return f"{path.name}: damaged: the checksum does not fit. It counts as missing and will be made anew."


def _is_full(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def _has_room(folder: Path) -> bool:
    """Whether a folder still takes a file of some size."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(_ROOM))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError:
        return False
    return True
