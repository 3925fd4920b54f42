"""Object files of helper functions, kept in the compile cache: a helper is compiled once, with others that are missing.

An object has the helpers that a program needed and that no object had, with all that they need themselves. Which
object has a helper is kept under the helper's own key, a digest of all that its machine code depends on.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from treadle.config import dataclass, new_lock
from treadle.link.c.background import BACKGROUND
from treadle.link.c.errors import CompileError, HelperError
from treadle.link.c.text.prelude import HEADERS, prelude
from treadle.link.c.toolchain import APART, support_cache

if TYPE_CHECKING:
    import threading
    from collections.abc import Container, Sequence
    from pathlib import Path

    from treadle.cache import Cache
    from treadle.link.c.runtime import Library
    from treadle.link.c.toolchain import Toolchain

_SUFFIX = ".o"
_APART = " ".join(APART)


@dataclass(frozen=True, slots=True)
class Source:
    """The C text of a program, and the helper functions that are to be linked to it."""

    text: str
    # The text that helpers have in front of them, those that can be linked, and which of them the program calls.
    head: str = ""
    library: Library | None = None
    helpers: tuple[str, ...] = ()

    def object_text(self, helpers: Sequence[str]) -> str:
        """Return the text of an object with some of the helpers."""
        return "" if self.library is None else self.head + self.library.object_text(helpers)


@cache
def _key(toolchain: Toolchain, text: str) -> str:
    """Return the key of a helper by the text of its object."""
    return toolchain.key(f"{text}/* {_APART} */")


class HelperObjects:
    """Finds the objects that have helpers, and makes them."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._files: dict[tuple[Path, str], Path] = {}
        # Who compiles a helper in the background.
        self._begun: dict[tuple[Path, str], threading.Thread] = {}

    @staticmethod
    def keys(toolchain: Toolchain, source: Source) -> list[str]:
        """Return the keys of the helpers that a program calls, in order."""
        return [_key(toolchain, source.object_text([name])) for name in source.helpers]

    def find(self, toolchain: Toolchain, source: Source, without: Container[str] = ()) -> tuple[list[Path], list[str]]:
        """Return the objects that have helpers of a program, and the names of the helpers that no object has.

        Those `without` are left aside.
        """
        cache = support_cache()
        files: dict[Path, None] = {}
        missing = []
        for name, key in zip(source.helpers, self.keys(toolchain, source), strict=True):
            if name in without:
                continue
            file = self._file(cache, key)
            if file is None:
                missing.append(name)
            else:
                files[file] = None
        return [*files], missing

    def begin(self, toolchain: Toolchain, source: Source) -> None:
        """Compile the helpers of a program that no object has in the background.

        `supply` waits for them, and compiles again those that failed.
        """
        directory = support_cache().directory
        keys = dict(zip(source.helpers, self.keys(toolchain, source), strict=True))
        _, missing = self.find(toolchain, source)
        with self._lock:
            missing = [name for name in missing if (directory, keys[name]) not in self._begun]
            if not missing:
                return
            thread = BACKGROUND.start(partial(self.make, toolchain, source, missing), "helpers")
            self._begun.update(dict.fromkeys(((directory, keys[name]) for name in missing), thread))

    def supply(self, toolchain: Toolchain, source: Source, missing: Sequence[str]) -> list[Path]:
        """Return objects with the helpers that no object had: some are being compiled, the others are compiled here.

        Raises
        ------
        HelperError
            If the compiler does not take them.
        """
        directory = support_cache().directory
        keys = dict(zip(source.helpers, self.keys(toolchain, source), strict=True))
        with self._lock:
            begun = {n: thread for n in missing if (thread := self._begun.get((directory, keys[n])))}
        rest = [name for name in missing if name not in begun]
        objects = [self.make(toolchain, source, rest)] if rest else []
        for thread in dict.fromkeys(begun.values()):
            thread.join()
        files, failed = self.find(toolchain, replace(source, helpers=tuple(begun)))
        objects += files
        if failed:
            objects.append(self.make(toolchain, source, failed))
        with self._lock:
            for name in begun:
                self._begun.pop((directory, keys[name]), None)
        return objects

    def make(self, toolchain: Toolchain, source: Source, missing: Sequence[str]) -> Path:
        """Return a new object with the helpers that no object has.

        Raises
        ------
        HelperError
            If the compiler does not take them.
        """
        cache, text = support_cache(), source.object_text(missing)
        own = text.removeprefix(HEADERS)

        def compile_(path: Path) -> None:
            file = path.with_suffix(".c")
            file.write_text(prelude(own) + own, encoding="utf-8")
            try:
                toolchain.compile_object(file, path, *APART, keep=False)
            except CompileError as error:
                raise HelperError(str(error)) from error

        key = toolchain.key(f"{text}/* object, {_APART} */")
        file = cache.materialise(key, _SUFFIX, compile_)
        keys = dict(zip(source.helpers, self.keys(toolchain, source), strict=True))
        for name in missing:
            cache.put(keys[name], key.encode(), {"helper": name})
            with self._lock:
                self._files[cache.directory, keys[name]] = file
        return file

    def _file(self, cache: Cache, key: str) -> Path | None:
        """Return the object that has the helper of a key, if there is one."""
        place = cache.directory, key
        with self._lock:
            file = self._files.get(place)
        if file is not None and file.exists():
            return file
        at = cache.get(key)
        file = None if at is None else cache.file(at.decode(), _SUFFIX)
        with self._lock:
            if file is None:
                self._files.pop(place, None)
            else:
                self._files[place] = file
        return file


OBJECTS = HelperObjects()
