"""Helper functions and support libraries that were compiled elsewhere, which an installed distribution may bring.

They are found by digests of their texts in folders that the entry-point group `GROUP` names. Whatever is missing there,
damaged, of another version, or for another compiler's flags, Python, NumPy or C library, is compiled here as if there
were no such folder.

A folder has `MANIFEST`, the support libraries, and for each level of the instruction set an index and archives of
object files: one archive for each text that helpers have in front of them, in which a helper has one symbol.
"""

from __future__ import annotations

import contextlib
import json
import platform
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.cache import digest
from treadle.config import DiscoveryError, EntryPointLoadError, config, discover, new_lock
from treadle.link.c.support.levels import processor_level
from treadle.link.c.toolchain import c_library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from treadle.link.c.toolchain import Toolchain

GROUP = "treadle.link.c.prebuilt"
MANIFEST, INDEX = "manifest.json", "index.json"
# That of the files, which changes with them.
FORMAT = 1
# Flags that machine code does not depend on: they are about files, and linking.
_NOT_OF_CODE = {"-shared", "-pipe", "-nostdlib", "-fno-use-linker-plugin"}
_NATIVE = {"-march=native", "-mcpu=native"}
# What reading a file that is not what it should be may raise.
_FAULTS = (OSError, ValueError, KeyError, TypeError, AttributeError)


def at_level(toolchain: Toolchain, level: str) -> tuple[str, ...]:
    """Return a toolchain's flags for object files, with a level in the place of this machine's processor.

    If the user named a processor, its name is still among them: they are the flags of no level.
    """
    flags = [flag for flag in toolchain.flags if flag not in _NOT_OF_CODE]
    return tuple(f"-march={level}" if flag in _NATIVE else flag for flag in flags)


def system() -> str:
    """Return the name of the system and of the kind of machine."""
    return f"{platform.system()} {platform.machine()}"


def library_key(text: str, interfaces: Iterable[str]) -> str:
    """Return the key of a support library's text, compiled for interfaces of Python and NumPy."""
    return digest("support library", text, *interfaces)


def helper_key(text: str) -> str:
    """Return the key of the whole text of a helper's object."""
    return digest("helper", text)


class Level:
    """What a folder has for one level: the archives, and which of them has the helper of a key."""

    def __init__(self, folder: Path, flags: Sequence[str]) -> None:
        archives: dict[str, Any] = json.loads((folder / INDEX).read_bytes())
        self.flags = tuple(flags)
        self.helpers = {key: name for name, each in archives.items() for key in each["helpers"]}
        self._folder = folder
        self._digests = {name: str(each["digest"]) for name, each in archives.items()}
        # Those that were asked for so far: None for those that are not as they were made.
        self._checked: dict[str, Path | None] = {}

    def archive(self, key: str) -> Path | None:
        """Return the archive that has the helper of a key, if there is one and it is undamaged."""
        name = self.helpers.get(key)
        if name is None:
            return None
        if name not in self._checked:
            self._checked[name] = _checked(self._folder / name, self._digests[name])
        return self._checked[name]


class Folder:
    """One folder of prebuilt files; what is wrong with it makes it an empty one."""

    def __init__(self, path: Path, distribution: str = "") -> None:
        self.path = path
        # The distribution that brings it.
        self.distribution = distribution
        self._levels: dict[str, Level | None] = {}

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """The manifest, if its files can be used here: an older C library may lack what they call."""
        try:
            manifest: dict[str, Any] = json.loads((self.path / MANIFEST).read_bytes())
            here = manifest["format"] == FORMAT and manifest["system"] == system()
            return manifest if here and _is_at_least(c_library(), manifest["c_library"]) else {}
        except _FAULTS:
            return {}

    def library(self, key: str) -> Path | None:
        """Return the support library of a key, if it is there and undamaged."""
        try:
            about = self.manifest["libraries"][key]
            return _checked(self.path / about["file"], about["digest"])
        except _FAULTS:
            return None

    def level(self, name: str) -> Level | None:
        """Return what there is for a level."""
        if name not in self._levels:
            try:
                self._levels[name] = Level(self.path / name, self.manifest["levels"][name])
            except _FAULTS:
                self._levels[name] = None
        return self._levels[name]


def installed_folders() -> list[Folder]:
    """Return the folders of the installed distributions, whether there is anything in them or not."""
    folders = []
    with contextlib.suppress(DiscoveryError):
        for entry in discover(GROUP).values():
            with contextlib.suppress(EntryPointLoadError, TypeError):
                folders.append(Folder(Path(entry.load()), entry.distribution))
    return folders


class Prebuilt:
    """What all folders bring, which are looked for when something is first asked for."""

    def __init__(self, folders: Callable[[], list[Folder]] = installed_folders) -> None:
        self._lock = new_lock()
        self._find = folders
        self._folders: list[Folder] | None = None
        self._refused = False

    @property
    def folders(self) -> list[Folder]:
        """The folders; none with option ``c__support_libraries`` off."""
        if not config.c__support_libraries:
            return []
        with self._lock:
            if self._folders is None:
                self._folders = self._find()
            return self._folders

    def library(self, key: str) -> Path | None:
        """Return the support library of a key, if there is one."""
        return next((file for folder in self.folders if (file := folder.library(key))), None)

    def archives(self, toolchain: Toolchain, names: Iterable[str], text_of: Callable[[str], str]) -> dict[str, Path]:
        """Return the archives that have helpers, by their names; `text_of` returns the text of a helper's object."""
        levels = [] if self._refused else self._levels(toolchain)
        if not levels:
            return {}
        keys = {name: helper_key(text_of(name)) for name in names}
        with self._lock:
            found = [(name, level.archive(key)) for level in reversed(levels) for name, key in keys.items()]
        return {name: archive for name, archive in found if archive is not None}

    def refuse_archives(self) -> None:
        """Do without the archives from now on, since the linker does not take them."""
        self._refused = True

    def _levels(self, toolchain: Toolchain) -> list[Level]:
        folders = self.folders
        name = processor_level() if folders else ""
        if not name:
            return []
        flags = at_level(toolchain, name)
        with self._lock:
            levels = [folder.level(name) for folder in folders]
        return [level for level in levels if level is not None and level.flags == flags]

    def about(self, toolchain: Toolchain) -> str:
        """Return in words what there is, and whether it is used here."""
        if not config.c__support_libraries:
            return "turned off by option c__support_libraries"
        folders = [folder for folder in self.folders if (folder.path / MANIFEST).exists()]
        if not folders:
            return "nothing is installed"
        if self._refused:
            return "left aside, since the linker does not take the archives"
        names = " and ".join(folder.distribution or str(folder.path) for folder in folders)
        if not any(folder.manifest for folder in folders):
            return f"{names} is for another system or C library"
        count = sum(len(level.helpers) for level in self._levels(toolchain))
        if not count:
            return f"{names} has no helper functions for this processor and these flags"
        return f"{count} helper functions for {processor_level()} from {names}"


def _checked(file: Path, expected: str) -> Path | None:
    """Return a file if its content has the digest that it should have."""
    try:
        return file if digest(file.read_bytes()) == expected else None
    except OSError:
        return None


def _is_at_least(here: str, needed: str) -> bool:
    """Whether a C library, such as ``glibc 2.36``, is the needed one or a newer one of the same name."""
    name, _, version = here.partition(" ")
    other, _, least = needed.partition(" ")
    numbers = [[int(part) for part in re.findall(r"\d+", text)] for text in (version, least)]
    return bool(name) and name == other and numbers[0] >= numbers[1]


PREBUILT = Prebuilt()
