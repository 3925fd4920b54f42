"""Where entries are kept: files in a private directory, or this process's memory."""

import atexit
import errno
import math
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from treadle.cache.directory import (
    UnusableDirectoryError,
    files_in,
    is_marked,
    make_shard,
    names_in,
    prepare,
    remove_marked,
)
from treadle.cache.entry import MAGIC
from treadle.cache.errors import CacheWarning
from treadle.cache.files import Access, begins_with, checksum_of, own, read_entry, renew, write_atomically
from treadle.cache.shared import SharedFolders
from treadle.cache.survey import NOTE, SizeNote, survey
from treadle.config import dataclass, new_lock, warn_user

_GRACE = 7 * 24 * 60 * 60.0  # seconds from the age at which a file is no longer used to its removal
_ABANDONED = 24 * 60 * 60.0  # seconds after which what a process was writing counts as left behind
_GUESTS = ("inductor",)
_NESTED = ("support",)
_NOTES = re.compile(r"last-lookup\.json|size|stamps|failed-[0-9a-f]{64}\.c")
_KEPT = re.compile(r"[0-9a-f]{64}(\.entry|-[0-9a-f]{32}\..+)")
_CLAIMS = re.compile(r"[0-9a-f]{64}.*\.(lock|claim)")
_UNFINISHED = re.compile(r"\.(write|make)-.+")
_SURELY_UNFINISHED = re.compile(r"\.(write|make)-[a-z0-9_]{8}")  # as tempfile names them
_ROOM = 1 << 22  # bytes: where a directory takes this many, a failure is not blamed on a full disk


class _NotKeptError(OSError):
    """A file was written and could not be put into its place."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of the cache."""

    path: Path
    key: str
    size: int
    used: float


class Store:
    """Keeps bytes by key in a directory, and in memory where the directory cannot be used.

    The directory is made, private to the user, when first needed. One that turns out unusable, at once or later (a
    full disk), costs one warning, unless `quiet`; from then on what cannot be written is kept in memory, and files go
    to a private temporary folder. Files may be used until `max_age` seconds after their last use. Above `max_bytes`
    the least recently used ones are removed; `evicted` is called with how many were removed for size or age. The
    folders of `shared` are only read.
    """

    def __init__(
        self,
        directory: Path,
        max_bytes: Callable[[], int],
        evicted: Callable[[int], None],
        max_age: Callable[[], float] = lambda: math.inf,
        shared: SharedFolders | None = None,
        *,
        quiet: bool = False,
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
        self._warned = quiet
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

    def folder(self, key: str) -> Path | None:
        """Return the folder of a key, made if it is missing; None if it cannot be used."""
        root = self.root()
        if root is None:
            return None
        try:
            self._make_shard(root / key[:2])
        except OSError as error:
            self._warn(str(error))
            return None
        return root / key[:2]

    def _make_shard(self, shard: Path) -> None:
        try:
            make_shard(shard)
        except FileNotFoundError:  # another process removed the directory meanwhile
            self._restore()
            make_shard(shard)

    def path(self, key: str) -> Path | None:
        """Return the file of an entry, whether or not it exists; None without a directory, or behind a link."""
        root = self.root()
        if root is None or stat.S_ISLNK(_mode(root / key[:2])):
            return None
        return root / key[:2] / f"{key}.entry"

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
            data = self._shared.read(folder, folder / key[:2] / f"{key}.entry")
            if data is not None:
                yield data

    def _read_own(self, path: Path) -> bytes | None:
        if not self.usable(path):
            return None
        try:
            data = read_entry(path, own())
        except (OSError, MemoryError):
            return None
        renew(path)
        return data

    def write(self, key: str, data: bytes) -> None:
        """Keep bytes under a key."""
        folder = self.folder(key)
        if folder is not None:
            try:
                self._write(folder, key, data)
            except OSError as error:
                self._warn(str(error))
            else:
                self._grow(len(data), folder / f"{key}.entry")
                return
        with self._lock:
            self._memory[key] = data

    def _write(self, folder: Path, key: str, data: bytes) -> None:
        try:
            write_atomically(folder / f"{key}.entry", data)
        except FileNotFoundError:  # another process purged the directory meanwhile, with the unfinished file
            self._make_shard(folder)
            write_atomically(folder / f"{key}.entry", data)

    def note(self, name: str, data: bytes) -> Path | None:
        """Keep bytes in a file of the directory itself; return the file, None if that is not possible.

        A directory that is gone is not made again for that.
        """
        root = self.root()
        if root is None:
            return None
        try:
            write_atomically(root / name, data)
        except OSError:
            return None
        return root / name

    def noted(self, name: str) -> bytes | None:
        """Return the entry in a file of the directory itself; None if there is none that may be read."""
        root = self.root()
        if root is None:
            return None
        try:
            return read_entry(root / name, own())
        except OSError:
            return None

    def guest(self, name: str) -> Path | None:
        """Return a folder inside the directory for what another package keeps there; None without one of our own."""
        root = self.root()
        if root is None:
            return None
        folder = root / name
        try:
            make_shard(folder)
        except OSError:
            return None
        return folder if is_marked(folder) or is_marked(root) else None

    def _restore(self) -> None:
        """Make the directory again."""
        try:
            prepare(self.directory)
        except UnusableDirectoryError as error:
            raise OSError(str(error)) from error

    def find_file(self, key: str, suffix: str) -> Path | None:
        """Return a materialised file whose content fits the checksum in its name; remove one that does not."""
        for path in self._own_files(key, suffix):
            checksum = _checksum_in(path, key, suffix)
            if checksum is None or not self.usable(path):
                continue
            if _has_checksum(path, checksum, own()):
                renew(path)
                return path
            _unlink(path)
        for folder in self._shared.usable():
            for path in _fitting(folder / key[:2], f"{key}-", suffix):
                if self._shared.has_checksum(folder, path, _checksum_in(path, key, suffix)):
                    return path
        return None

    def has_file(self, key: str, suffix: str) -> bool:
        """Whether there is a materialised file, whatever its content."""
        return bool(self._own_files(key, suffix))

    def _own_files(self, key: str, suffix: str) -> list[Path]:
        path = self.path(key)
        folders = (None if path is None else path.parent, self._temporary)  # the second after a full disk
        return sorted(path for folder in folders if folder for path in _fitting(folder, f"{key}-", suffix))

    def add_file(self, key: str, suffix: str, make: Callable[[Path], None]) -> Path:
        """Have `make` write a file in a folder of its own, and keep it under its checksum."""
        folder = self.folder(key)
        if folder is not None:
            work = None
            try:
                work = Path(tempfile.mkdtemp(prefix=".make-", dir=folder))
                return self._make_in(folder, work, key, suffix, make)
            except Exception as error:
                # Makers start compilers, whose errors say in other words that the disk is full.
                is_cache_error = work is None or isinstance(error, _NotKeptError)
                if not is_cache_error and not _is_disk_error(error, folder) and _has_room(folder):
                    raise
                self._warn(str(error) if is_cache_error else f"there is no room left: {type(error).__name__}")
        folder = self._temporary_folder()
        return self._make_in(folder, Path(tempfile.mkdtemp(prefix=".make-", dir=folder)), key, suffix, make)

    def _make_in(self, folder: Path, work: Path, key: str, suffix: str, make: Callable[[Path], None]) -> Path:
        try:
            file = work / f"{key}{suffix}"
            make(file)
            path, size = _move(file, folder, key, suffix)
        finally:
            _remove(work)
        if folder != self._temporary:
            self._grow(size, path)
        return path

    def files(self) -> Iterator[StoredFile]:
        """Yield the files of the directory, entries and materialised files, in the order of their names."""
        root = self.root()
        if root is None:
            return
        marked: dict[Path, bool] = {}
        for path, status in files_in(root):
            shard = path.parent
            if shard not in marked:
                marked[shard] = is_marked(root) or is_marked(shard)
            if _KEPT.fullmatch(path.name) and (marked[shard] or _is_ours(path)):
                yield StoredFile(path, path.name[:64], status.st_size, max(status.st_atime, status.st_mtime))

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
            for file in (path, *_fitting(path.parent, f"{key}-", "")):
                _unlink(file)

    def empty(self) -> int:
        """Remove every entry and file, and return how many there were."""
        with self._lock:
            removed = len(self._memory)
            self._memory.clear()
            self._size = None
            if self._root is not None:
                _unlink(self._root / NOTE)
            removed += sum(_unlink(file.path) for file in list(self.files()))
            root = self.root()
            if root is not None:
                for name in _GUESTS:
                    if is_marked(root / name) or is_marked(root):
                        _remove(root / name)
                for nested in self._nested(root):
                    nested.empty()
        return removed

    def _nested(self, root: Path) -> list["Store"]:
        """Return the caches inside the directory."""
        folders = [root / name for name in _NESTED if stat.S_ISDIR(_mode(root / name))]
        return [Store(folder, self._max_bytes, self._evicted, quiet=True) for folder in folders]

    def destroy(self) -> int:
        """Remove all that the cache put into the directory, and return how many entries and files it held.

        What the cache did not make stays, and the folders that it is in.
        """
        removed = self.empty()
        root = self.root()
        if root is not None:
            for nested in self._nested(root):
                nested.destroy()
            for path in self.leftovers():
                _remove(path)
            for shard in _shards(root):
                _remove_named(shard, _CLAIMS)
                if is_marked(shard) or is_marked(root):
                    remove_marked(shard)
            _remove_named(root, _NOTES)
            if is_marked(root):
                remove_marked(root)
        with self._lock:
            self._prepared = False
            self._root = None
        return removed

    def _temporary_folder(self) -> Path:
        with self._lock:
            if self._temporary is None:
                self._temporary = Path(tempfile.mkdtemp(prefix="treadle-"))
                # Not before exit: what was loaded from these files may outlive this object.
                atexit.register(_remove_in, os.getpid(), self._temporary)
            return self._temporary

    def _grow(self, size: int, written: Path) -> None:
        """Count a file that was written, and remove the oldest ones if there are too many."""
        root = self._root
        if root is None:
            return
        with self._lock:
            note = SizeNote(root)
            if self._size is None:
                self._size = note.read()
                if self._size is None:
                    self._size = self._look_through(root)
                    note.write(self._size)
                    size = 0  # the pass counted it
            if size:
                self._size += size
                note.add(size)
            limit = self._max_bytes()
            if self._size > limit:
                self._size = self._evict(root, limit, written)
                note.write(self._size)

    def _look_through(self, root: Path) -> int:
        """Return the bytes of the directory; remove files unused for long, and what was left behind.

        Files a little over age stay, since other processes may still use them.
        """
        now = time.time()
        oldest, abandoned = now - self._max_age() - _GRACE, now - _ABANDONED
        size = removed = 0
        for seen in survey(root):
            if _KEPT.fullmatch(seen.name):
                if seen.used >= oldest:
                    size += seen.size
                elif seen.marked or _is_ours(seen.path):
                    removed += _unlink(seen.path)
            elif seen.used < abandoned:
                unfinished = _UNFINISHED if seen.marked else _SURELY_UNFINISHED
                if unfinished.fullmatch(seen.name):
                    _remove(seen.path)
        if removed:
            self._evicted(removed)
        return size

    def leftovers(self) -> list[Path]:
        """Return what processes were writing when they ended, or are writing now."""
        root = self.root()
        if root is None:
            return []
        paths = []
        for shard in _shards(root):
            names = _UNFINISHED if is_marked(shard) or is_marked(root) else _SURELY_UNFINISHED
            paths += [shard / name for name in names_in(shard) if names.fullmatch(name)]
        return paths

    def _evict(self, root: Path, limit: int, written: Path) -> int:
        """Remove files until nine tenths of the limit are left, so that not every write evicts; return what is left.

        The file just written stays, however large it is and whatever the times of others say.
        """
        files = sorted((seen for seen in survey(root) if _KEPT.fullmatch(seen.name)), key=lambda seen: seen.used)
        size = sum(seen.size for seen in files)  # other processes write and evict as well
        removed = 0
        for seen in files:
            if size <= limit * 9 // 10:
                break
            if seen.path != written and (seen.marked or _is_ours(seen.path)) and _unlink(seen.path):
                size -= seen.size
                removed += 1
        self._evicted(removed)
        return size

    def _warn(self, reason: str) -> None:
        with self._lock:
            if self._warned:
                return
            self._warned = True
        msg = (
            f"compile cache: the directory {self.directory} cannot be used ({reason}). Compiled code is kept for this "
            "process only. Set the option compiledir to a folder that you own and can write."
        )
        warn_user(msg, CacheWarning)


def _remove_in(process: int, folder: Path) -> None:
    """Remove a folder, unless this is a child of the process that made it."""
    if os.getpid() == process:
        _remove(folder)


def _unlink(path: Path) -> bool:
    """Remove a file; return whether it was there and could be."""
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it, as far as that is possible."""
    with suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _remove_named(folder: Path, names: re.Pattern[str]) -> None:
    for name in names_in(folder):
        if names.fullmatch(name):
            _unlink(folder / name)


def _move(file: Path, folder: Path, key: str, suffix: str) -> tuple[Path, int]:
    """Put a new file into its place; return the place and its size."""
    try:
        path = folder / f"{key}-{checksum_of(file, own())}{suffix}"
        size = file.stat().st_size
        file.replace(path)
    except OSError as error:
        if not os.path.lexists(file) and folder.is_dir():
            raise  # nothing was written
        raise _NotKeptError(str(error)) from error
    return path, size


def _mode(path: Path) -> int:
    """Return the mode of what is at a path, a link too; 0 where nothing is."""
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _shards(root: Path) -> list[Path]:
    names = [name for name in names_in(root) if re.fullmatch("[0-9a-f]{2}", name)]
    return [root / name for name in names if stat.S_ISDIR(_mode(root / name))]


def _fitting(folder: Path, beginning: str, end: str) -> list[Path]:
    return [folder / name for name in names_in(folder) if name.startswith(beginning) and name.endswith(end)]


def _is_ours(path: Path) -> bool:
    """Whether the content of a file says that a cache wrote it."""
    try:
        if path.suffix == ".entry":
            return begins_with(path, MAGIC, own())
        return checksum_of(path, own()) == path.name[65:97]
    except OSError:
        return False


def _has_checksum(path: Path, checksum: str, access: Access) -> bool:
    try:
        return checksum_of(path, access) == checksum
    except OSError:
        return False


def _checksum_in(path: Path, key: str, suffix: str) -> str | None:
    """Return the checksum in a file's name; None if the name is of a longer suffix that ends in this one."""
    checksum = path.name.removeprefix(f"{key}-").removesuffix(suffix)
    return checksum if len(checksum) == 32 else None


def file_fault(path: Path) -> str:
    """Return what is wrong with a materialised file, or an empty text."""
    try:
        checksum = checksum_of(path, own())
    except OSError as error:
        return str(error)
    if checksum == path.name[65:97]:
        return ""
    return f"{path.name}: damaged: the checksum does not fit. It counts as missing and will be made anew."


_DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.ESTALE})


def _is_disk_error(error: Exception, folder: Path) -> bool:
    """Whether an error is about the disk, or a file in the folder, rather than about what was to be made."""
    if not isinstance(error, OSError):
        return False
    return error.errno in _DISK_ERRORS or str(error.filename).startswith(str(folder))


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
