"""The compile cache: compiled code is kept and used again, in every process of this user."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from treadle.cache.claims import Claims
from treadle.cache.digests import check_key
from treadle.cache.entry import Entry, pack, unpack
from treadle.cache.errors import CacheFormatError
from treadle.cache.files import own, read_entry
from treadle.cache.shared import SharedFolders, folders_in
from treadle.cache.statistics import Counters, Statistics
from treadle.cache.store import Store, file_fault
from treadle.config import config, dataclass, new_lock

_NO_META: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class EntryInfo:
    """One line of a listing.

    `kind` is ``"entry"`` for bytes put by key, the suffix for a materialised file, and ``"memory"`` for what is
    kept in this process only. `used` is the time of the last use in seconds since the epoch (0 for memory).
    """

    key: str
    kind: str
    size: int
    used: float
    meta: Mapping[str, str]
    fault: str = ""


class Cache:
    """A content-addressed store of compiled code.

    Reading never fails: what is damaged, cut short or not ours counts as missing. Methods may be called from
    any number of threads and processes.

    Parameters
    ----------
    directory
        Where to keep the entries; the option ``compiledir`` if not given. It is made on first use with mode
        0700. One that belongs to another user, that others can write to, or that cannot be written, is left alone with
        one warning, and the cache is then kept in memory.
    wait, timeout, max_bytes, shared
        In place of the options ``compile__wait``, ``compile__timeout``, ``cache__max_bytes`` and ``cache__shared``.
    quiet
        Whether a directory that cannot be used costs no warning.
    """

    def __init__(
        self,
        directory: Path | str | None = None,
        *,
        wait: float | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        shared: Sequence[Path | str] | None = None,
        quiet: bool = False,
    ) -> None:
        self._counters = Counters()
        self._claims = Claims(
            lambda: float(config.compile__wait) if wait is None else wait,
            lambda: float(config.compile__timeout) if timeout is None else timeout,
        )
        self._store = Store(
            Path(config.compiledir if directory is None else directory).absolute(),
            lambda: int(config.cache__max_bytes) if max_bytes is None else max_bytes,
            lambda removed: self._counters.count("evictions", removed),
            lambda: float(config.cmodule__age_thresh_use),
            SharedFolders(
                lambda: folders_in(config.cache__shared) if shared is None else [Path(f).absolute() for f in shared],
                lambda: bool(config.cache__trust_shared),
            ),
            quiet=quiet,
        )

    @property
    def directory(self) -> Path:
        """The directory that was asked for, usable or not."""
        return self._store.directory

    @property
    def persistent(self) -> bool:
        """Whether entries outlive the process."""
        return self._store.root() is not None

    @property
    def statistics(self) -> Statistics:
        """What this object has done so far."""
        return self._counters.read()

    def get(self, key: str) -> bytes | None:
        """Return the payload kept under a key of `digest`, or None."""
        entry = self._look(check_key(key))
        self._counters.count("misses" if entry is None else "hits")
        return None if entry is None else entry.payload

    def put(self, key: str, payload: bytes, meta: Mapping[str, str] = _NO_META) -> None:
        """Keep a payload under a key, with a description for listings."""
        self._store.write(key, pack(check_key(key), payload, meta))
        self._counters.count("puts")

    def get_or_create(self, key: str, make: Callable[[], bytes], meta: Mapping[str, str] = _NO_META) -> bytes:
        """Return the payload of a key, made and kept if it is missing.

        Of several threads and processes that ask at once, one makes it and the others wait for the result. If
        `make` raises, its error passes through, and another one makes it.
        """
        payload = self.get(key)
        if payload is not None:
            return payload
        with self.claim(key) as existing:
            if existing is not None:
                return existing
            self._counters.count("made")
            payload = make()
            self.put(key, payload, meta)
        return payload

    @contextmanager
    def claim(self, key: str) -> Iterator[bytes | None]:
        """Hold the right to make the payload of a key while the block runs.

        Of several threads and processes, one at a time holds it; the others wait. The block is given the payload, if
        it is there by then, else None: then the block makes it and calls `put`, or leaves that to the next one.
        """
        path = self._store.path(check_key(key))
        folder = self._store.folder(key)
        with self._claims.hold(key, folder, lambda: path is not None and self._store.usable(path)):
            entry = self._look(key)
            if entry is not None:
                self._counters.count("hits")
            yield None if entry is None else entry.payload

    def materialise(self, key: str, suffix: str, make: Callable[[Path], None]) -> Path:
        """Return the file of a key, made if it is missing: for what has to be a file, such as a shared library.

        Parameters
        ----------
        key
            A key of `digest`.
        suffix
            The end of the file's name, such as ``".so"``; a key may have one file of each suffix.
        make
            Writes the file at the path it is given. It may write others beside it, which are thrown away.

        Returns
        -------
        Path
            A file whose content was checked against the checksum in its name. It is not to be changed. Without a
            usable directory it lies in a temporary folder that is removed at exit.

        Raises
        ------
        FileNotFoundError
            If `make` did not write the file.
        """
        path = self.file(key, suffix)
        if path is not None:
            return path
        folder = self._store.folder(key)
        with self._claims.hold(f"{key}{suffix}", folder, lambda: self._store.has_file(key, suffix)):
            path = self._store.find_file(key, suffix)
            if path is not None:
                self._counters.count("hits")
                return path
            self._counters.count("made")
            path = self._store.add_file(key, suffix, make)
            self._counters.count("puts")
        return path

    def list(self) -> tuple[EntryInfo, ...]:
        """Return what the cache holds, by key; damaged entries say so in `fault`."""
        infos = []
        for file in self._store.files():
            kind, meta, fault = "entry", _NO_META, ""
            if file.path.suffix == ".entry":
                try:
                    meta = unpack(file.key, read_entry(file.path, own())).meta
                except (CacheFormatError, OSError) as error:
                    fault = str(error)
            else:
                kind = file.path.name[64 + 1 + 32 :]
                fault = file_fault(file.path)
            infos.append(EntryInfo(file.key, kind, file.size, file.used, meta, fault))
        for key, data in sorted(self._store.memory().items()):
            infos.append(EntryInfo(key, "memory", len(data), 0.0, unpack(key, data).meta))
        return tuple(infos)

    def explain(self, key: str) -> str:
        """Return sentences on whether a request for this key would hit, and why."""
        check_key(key)
        infos = [info for info in self.list() if info.key == key]
        place = f"in {self.directory}" if self.persistent else f"in memory, since {self.directory} cannot be used"
        if not infos:
            return f"{key}: not {place}. It was never made under this key, or was removed for size."
        lines = []
        for info in infos:
            about = "".join(f", {name} {value}" for name, value in sorted(info.meta.items()))
            lines.append(f"{key}: {info.kind} of {info.size} bytes {place}{about}. {info.fault or 'A request hits.'}")
        return "\n".join(lines)

    def file(self, key: str, suffix: str) -> Path | None:
        """Return the file that `materialise` made for a key, if it is there and undamaged."""
        path = self._store.find_file(check_key(key), suffix)
        self._counters.count("misses" if path is None else "hits")
        return path

    def discard(self, key: str) -> None:
        """Remove what is kept under a key, because it turned out to be of no use."""
        self._store.discard(check_key(key))

    def verify(self) -> tuple[EntryInfo, ...]:
        """Check every entry and every file against its checksum; return the damaged ones, each with its `fault`.

        What interrupted processes left behind is listed too, as kind ``"leftover"``: it does no harm, and goes after
        a day, or with `purge`.
        """
        damaged = [info for info in self.list() if info.fault]
        for path in self._store.leftovers():
            fault = f"{path}: was being written when a process ended, or is being written now"
            damaged.append(EntryInfo("", "leftover", 0, 0.0, _NO_META, fault))
        return tuple(damaged)

    def note(self, name: str, data: bytes) -> Path | None:
        """Keep bytes in a file of this name in the directory; return the file, None where there is no directory."""
        return self._store.note(name, data)

    def noted(self, name: str) -> bytes | None:
        """Return the entry that `note` kept in a file of this name; None if there is none that may be read."""
        return self._store.noted(name)

    def guest(self, name: str) -> Path | None:
        """Return a folder in the directory for what another package keeps there, which `clear` removes.

        None without a usable directory, and where there is such a folder that the cache did not make.
        """
        return self._store.guest(name)

    def clear(self) -> int:
        """Remove all entries and files, and return how many; what the cache did not make stays."""
        return self._store.empty()

    def purge(self) -> int:
        """Remove all entries, and everything else that the cache left in its directory; return how many entries.

        This includes what interrupted processes left behind. No other process may be compiling meanwhile.
        """
        return self._store.destroy()

    def _look(self, key: str) -> Entry | None:
        data = self._store.read(key)
        if data is not None:
            try:
                return unpack(key, data)
            except CacheFormatError:
                self._counters.count("damaged")
                self._store.discard(key)
        for shared in self._store.read_shared(key):
            try:
                return unpack(key, shared)
            except CacheFormatError:
                self._counters.count("damaged")
        return None


class _CachesByDirectory:
    """One cache object per directory, so that its statistics and its claims are the process's."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._caches: dict[Path, Cache] = {}

    def get(self, directory: Path) -> Cache:
        with self._lock:
            if directory not in self._caches:
                self._caches[directory] = Cache(directory)
            return self._caches[directory]


_CACHES = _CachesByDirectory()


def default_cache() -> Cache:
    """Return this process's cache in the directory of the option ``compiledir`` as seen from here."""
    return _CACHES.get(config.compiledir)
