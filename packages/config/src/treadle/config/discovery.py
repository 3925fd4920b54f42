"""Entry points of the installed distributions, read without importing anything.

``importlib.metadata`` reads and parses every distribution's whole metadata; here only the
``entry_points.txt`` files are read, once per state of ``sys.path``.
"""

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from typing import Any, NamedTuple

from treadle.config.errors import DiscoveryError, EntryPointLoadError
from treadle.config.locks import new_lock

_Key = tuple[tuple[str, int], ...]


class EntryPointRef(NamedTuple):
    """One entry point: its group, its name, what it names, and the distribution that claims it."""

    group: str
    name: str
    value: str
    distribution: str

    def load(self) -> Any:
        """Import and return what the entry point names.

        Raises
        ------
        EntryPointLoadError
            If the module cannot be imported or lacks the attribute.
        """
        module, _, attribute = self.value.partition(":")
        try:
            return reduce(getattr, filter(None, attribute.split(".")), import_module(module))
        except (ImportError, AttributeError) as error:
            msg = (
                f"{self.group} {self.name!r}: the distribution {self.distribution} points it at "
                f"{self.value!r}, which cannot be loaded ({error}). Reinstall {self.distribution}."
            )
            raise EntryPointLoadError(msg) from error


class _Installed(NamedTuple):
    distribution: str
    version: str
    entry_points: str


class EntryPointTable:
    """The entry points on the search path, kept until the path or a folder on it changes."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._key: _Key | None = None
        # The distributions in each folder, and its modification time when they were read.
        self._folders: dict[str, tuple[int, tuple[_Installed, ...]]] = {}
        self._distributions: tuple[_Installed, ...] = ()
        self._groups: dict[str, dict[str, EntryPointRef]] = {}
        self._frozen = threading.local()
        self.scans = 0

    def discover(self, group: str) -> dict[str, EntryPointRef]:
        """Return the entry points of a group by name, in name order, without importing any.

        The table is read when first asked for, and again when ``sys.path`` or a folder on it has
        changed.

        Raises
        ------
        DiscoveryError
            If two distributions claim one name, naming both.
        """
        with self._lock:
            self._refresh()
            if group not in self._groups:
                self._groups[group] = self._collect(group)
            return dict(self._groups[group])

    def version(self, distribution: str) -> str | None:
        """Return the version of an installed distribution without importing it; None if there is none."""
        name = _normal(distribution)
        with self._lock:
            self._refresh()
            return next(
                (installed.version for installed in self._distributions if installed.distribution == name), None
            )

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let this thread look at what is installed once while the block runs, or again when ``sys.path`` is changed.

        Each look costs a system call per folder. What another thread installs meanwhile is seen after the block.
        """
        outer = getattr(self._frozen, "path", None)
        self._frozen.path = outer or []
        try:
            yield
        finally:
            self._frozen.path = outer

    def _refresh(self) -> None:
        looked_at = getattr(self._frozen, "path", None)
        if looked_at is not None:
            if looked_at == sys.path:
                return
            self._frozen.path = list(sys.path)
        key = _path_state()
        if key == self._key:
            return
        # Programs write files into folders of the path all the time: only such a folder is read again.
        for folder, time in key:
            if folder not in self._folders or self._folders[folder][0] != time:
                self._folders[folder] = time, tuple(_installed_in(folder))
        distributions = tuple(_first_of_each(each for folder, _ in key for each in self._folders[folder][1]))
        if self._key is None or distributions != self._distributions:
            self.scans += 1
            self._distributions = distributions
            self._groups = {}
        self._key = key

    def _collect(self, group: str) -> dict[str, EntryPointRef]:
        entries: dict[str, EntryPointRef] = {}
        for installed in self._distributions:
            # Most have none of a group: their lines need not be looked at.
            if f"[{group}]" not in installed.entry_points:
                continue
            distribution = installed.distribution
            for name, value in _lines_of_group(installed.entry_points, group, distribution):
                claim = EntryPointRef(group, name, value, distribution)
                rival = entries.setdefault(name, claim)
                if rival is not claim:
                    msg = (
                        f"{group} {name!r}: claimed by two distributions, {rival.distribution} "
                        f"({rival.value}) and {distribution} ({value}). Uninstall one of them."
                    )
                    raise DiscoveryError(msg)
        return {name: entries[name] for name in sorted(entries)}


def _path_state() -> _Key:
    """Return each folder of ``sys.path`` with its modification time (folders that exist)."""
    state = []
    for entry in dict.fromkeys(sys.path):
        folder = entry or os.getcwd()  # noqa: PTH109 - as below
        try:
            state.append((folder, os.stat(folder).st_mtime_ns))  # noqa: PTH116 - on every call, so without Path objects
        except OSError:
            continue
    return tuple(state)


def _installed_in(folder: str) -> Iterator[_Installed]:
    """Yield each distribution in a folder."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - one call, no Path objects: this is the scan's cost
    except (NotADirectoryError, PermissionError, FileNotFoundError):
        return
    for name in names:
        if not name.endswith((".dist-info", ".egg-info")):
            continue
        distribution, _, version = name.rpartition(".")[0].partition("-")
        try:
            with open(f"{folder}/{name}/entry_points.txt", encoding="utf-8") as file:  # noqa: PTH123 - as above
                text = file.read()
        except (FileNotFoundError, NotADirectoryError):
            text = ""
        yield _Installed(_normal(distribution), version, text)


def _first_of_each(installed: Iterator[_Installed]) -> Iterator[_Installed]:
    """Yield each distribution once: of two with one name, the first on the path counts."""
    seen: set[str] = set()
    for each in installed:
        if each.distribution not in seen:
            seen.add(each.distribution)
            yield each


def _normal(distribution: str) -> str:
    """Return the one spelling of a distribution's name."""
    return distribution.replace("_", "-").replace(".", "-").lower()


def _lines_of_group(text: str, group: str, distribution: str) -> Iterator[tuple[str, str]]:
    """Yield (name, value) for each line of one group of an entry_points.txt."""
    inside = False
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("["):
            inside = line == f"[{group}]"
        elif inside and line and line[0] not in "#;":
            name, equals, value = line.partition("=")
            if not equals:
                msg = (
                    f"{group}: the distribution {distribution} has the malformed entry point "
                    f"{line!r}. Reinstall {distribution}."
                )
                raise DiscoveryError(msg)
            # An extras marker such as "module:attr [extra]" is no part of the object's name.
            yield name.strip(), value.partition("[")[0].strip()


_TABLE = EntryPointTable()


discover = _TABLE.discover
frozen = _TABLE.frozen
installed_version = _TABLE.version


def modules_awaited(entry: EntryPointRef) -> tuple[str, ...]:
    """Return the modules that what an entry point names is about: until one of them is imported, nothing needs it.

    A distribution says so by entry points of the group ``treadle.awaits`` that have the entry's name, or begin with it
    and a dot. There are none for what is needed at once.

    Examples
    --------
    >>> from treadle.config import EntryPointRef
    >>> modules_awaited(EntryPointRef("treadle.rules", "tensor", "treadle.tensor.rewrites:RULE_SETS", "tensor"))
    ()
    """
    return tuple(
        awaited.value
        for name, awaited in discover("treadle.awaits").items()
        if name.partition(".")[0] == entry.name and awaited.distribution == entry.distribution
    )


def is_imported(modules: Iterable[str]) -> bool:
    """Whether one of some modules has been imported, by whomever."""
    return not sys.modules.keys().isdisjoint(modules)


def package_folders(package: str) -> list[str]:
    """Return the folders of a package's modules: its own, and those of its name that other distributions bring.

    A package that says ``__path__ = package_folders(__name__)`` takes in modules of other distributions, which have a
    folder of the package's path without an ``__init__.py``. Wheels of both are installed into one folder anyway; from
    folders of their own, as editable installs have them, nothing else would import them.
    """
    parent, _, name = package.rpartition(".")
    own = list(sys.modules[package].__path__)
    candidates = [f"{folder}/{name}" for folder in sys.modules[parent].__path__]
    return own + [folder for folder in candidates if folder not in own and os.path.isdir(folder)]  # noqa: PTH112 - as above
