"""Digests of the code that compiled programs depend on, taken of the source itself rather than of a version number."""

from __future__ import annotations

import os
import sys
import time
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from treadle.cache.digests import digest
from treadle.cache.stamps import KeptStamps, state_of
from treadle.config import installed_version, is_installed_file, is_library_file, is_own_module, new_lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Libraries that every compiled program depends on, and whose versions each key of one holds. A backend names its own.
LIBRARIES = ("numpy", "scipy")
# A package of more files is known by the version of its distribution.
_MOST_FILES = 2000
_STARTED = time.time()


class Sources:
    """Digests of the code that modules stand for: their own, their package's, and that of the user's modules they use.

    A digest is taken once in a process, which has loaded the code once too.

    Parameters
    ----------
    started
        When the process began, in seconds since the epoch.
    kept
        The digests that earlier processes took of files that are as they were.
    """

    def __init__(self, started: float | None = None, kept: KeptStamps | None = None) -> None:
        self._started = _STARTED if started is None else started
        self._kept = kept
        self._lock = new_lock()
        self._roots: dict[str, str | None] = {}
        # The roots of modules and packages that are one, or Python's own: all modules of a package ask for its.
        self._whole: dict[str, str] = {}
        self._stamps: dict[str, str | None] = {}
        self._users: dict[str | None, bool] = {}

    def root(self, module: str | None) -> str | None:
        """Return the name of the outermost package that a module belongs to, namespaces apart.

        An empty text stands for Python's own modules; None for one whose code is in no file, and for no module: what
        was made in a namespace without a name has none.
        """
        if not isinstance(module, str):
            return None
        if module not in self._roots:
            self._roots[module] = self._find_root(module)
        return self._roots[module]

    def stamp(self, root: str) -> str | None:
        """Return a text that changes with the code of a root; None where the code cannot be known.

        That is so where there is no file, and where a file was changed after this process began: the loaded code may be
        older.
        """
        with self._lock:
            if root not in self._stamps:
                self._stamps[root] = self._make_stamp(root)
            return self._stamps[root]

    def stamps(self, modules: set[str]) -> dict[str, str | None]:
        """Return the stamp of each root that modules belong to, and of the roots that the user's among them use."""
        stamps: dict[str, str | None] = {}
        pending = sorted(modules)
        seen = set(pending)
        while pending:
            module = pending.pop()
            root = self.root(module)
            if root is None:
                stamps[module] = None
            elif root and root not in stamps:
                stamps[root] = self.stamp(root)
                if self.is_users(root):
                    more = {name for loaded in _loaded_of(root) for name in _used_by(loaded)} - seen
                    seen |= more
                    pending += sorted(name for name in more if self.is_users(name))
        if self._kept is not None:
            self._kept.save()
        return stamps

    def is_users(self, module: str | None) -> bool:
        """Whether a module is neither Python's, nor installed, nor treadle's, and its code is in a file."""
        if module not in self._users:
            self._users[module] = module is not None and self._find_users(self.root(module))
        return self._users[module]

    @staticmethod
    def _find_users(root: str | None) -> bool:
        if not root or is_own_module(root):
            return False
        file = _file_of(root)
        return file is not None and not is_installed_file(file)

    def _find_root(self, module: str) -> str | None:
        if module == "__main__":
            return module if getattr(sys.modules[module], "__file__", None) else None
        parts = module.split(".")
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            root = self._whole.get(name)
            if root is None:
                root = _root_at(name)
                if root is None:
                    continue
                self._whole[name] = root
            return root
        return None

    def _make_stamp(self, root: str) -> str | None:
        file = _file_of(root)
        if file is None:
            return None
        if not file.endswith(".py") or (is_installed_file(file) and not is_own_module(root)):
            version = _version_stamp(root)
            if version is not None or not file.endswith(".py"):
                return version
        path = Path(file)
        folders = _folders_of(root, path) if path.name == "__init__.py" else []
        try:
            files = sorted(islice(_python_files(folders), _MOST_FILES + 1)) if folders else [(file, os.stat(file))]  # noqa: PTH116 - as below
            if len(files) > _MOST_FILES:
                return _version_stamp(root)
            now = time.time()
            if any(self._started < status.st_mtime <= now for _, status in files):
                return None
            state = state_of(root, files)
            stamp = None if self._kept is None or state is None else self._kept.get(state)
            if stamp is None:
                stamp = self._read_stamp(root, [name for name, _ in files], folders or [str(path.parent)])
                if self._kept is not None and state is not None and stamp is not None:
                    self._kept.add(state, stamp)
        except OSError:
            return None
        return stamp

    def _read_stamp(self, root: str, files: Sequence[str], folders: Sequence[str]) -> str | None:
        parts: list[str | bytes] = [root]
        now = time.time()
        for name in files:
            changed, data = _read(name)
            if self._started < changed <= now:
                return None
            folder = next(folder for folder in folders if name.startswith(f"{folder}/"))
            parts += (name[len(folder) + 1 :], data)
        return digest(*parts)[:32]


def _root_at(name: str) -> str | None:
    """Return a name if the code of a root is there, an empty text if it is Python's own; None for a namespace."""
    file = _file_of(name)
    if file is not None:
        return "" if is_library_file(file) else name
    return "" if name in sys.builtin_module_names or name in sys.stdlib_module_names else None


def _read(name: str) -> tuple[float, bytes]:
    """Return the time of a file's last change, and its bytes."""
    # Without a file object, which for hundreds of files takes longer than what it reads.
    opened = os.open(name, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(opened)
        data = os.read(opened, status.st_size + 1)
        # A file that ends where it was said to has answered with less than it was asked for.
        while len(data) != status.st_size and (more := os.read(opened, status.st_size + 1)):
            data += more
        return status.st_mtime, data
    finally:
        os.close(opened)


def _file_of(module: str) -> str | None:
    loaded = sys.modules.get(module)
    if loaded is not None:
        file = getattr(loaded, "__file__", None)
        return os.path.realpath(file) if isinstance(file, str) else None
    try:
        spec = find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    return os.path.realpath(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _version_stamp(root: str) -> str | None:
    version = installed_version(root.partition(".")[0])
    return None if version is None else f"version {version}"


def _folders_of(root: str, file: Path) -> list[str]:
    """Return the folders of a package's modules: its own, and those that other distributions bring, loaded or not."""
    loaded = getattr(sys.modules.get(root), "__path__", ())
    parent, _, name = root.rpartition(".")
    brought: list[str] = []
    if is_own_module(root):
        beside = [f"{folder}/{name}" for folder in getattr(sys.modules.get(parent), "__path__", ())]
        brought = [folder for folder in beside if os.path.isdir(folder)]  # noqa: PTH112 - text, as all here
    return list(dict.fromkeys([str(file.parent), *map(os.path.realpath, (*loaded, *brought))]))


def _python_files(folders: list[str]) -> Iterator[tuple[str, os.stat_result]]:
    pending = list(folders)
    while pending:
        try:
            with os.scandir(pending.pop()) as scanned:
                entries = list(scanned)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    pending.append(entry.path)
            elif entry.name.endswith(".py"):
                yield entry.path, entry.stat()


def _loaded_of(root: str) -> list[ModuleType]:
    """Return the loaded modules of a root; for one that is not a package, without a walk over thousands of modules."""
    loaded = sys.modules.get(root)
    if loaded is not None and not hasattr(loaded, "__path__"):
        return [loaded]
    # A copy is made at once, while other threads may import.
    return [m for name, m in sys.modules.copy().items() if name == root or name.startswith(f"{root}.")]


def _used_by(module: ModuleType) -> set[str]:
    """Return the modules that a module refers to, and those that define the objects it refers to."""
    used = set()
    for value in list(vars(module).values()):
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name != module.__name__:
            used.add(name)
    return used


SOURCES = Sources(kept=KeptStamps())
