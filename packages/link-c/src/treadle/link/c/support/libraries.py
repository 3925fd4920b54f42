"""Two small libraries that make programs faster, and that nothing waits for: the pool, and the helper extension.

They are prebuilt in an installed distribution, or kept in the compile directory. What is missing in both is compiled in
the background, a moment after the first program is linked, if the process lives that long. Without a compiler, Python's
headers or a directory to keep them in, programs do without them.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
from functools import partial
from importlib import machinery, util
from typing import TYPE_CHECKING

from treadle.cache import Cache, default_cache
from treadle.config import TreadleError, config, new_lock
from treadle.link.c.background import BACKGROUND
from treadle.link.c.support.library_sources import EXTENSION, EXTENSION_LIBRARY, POOL_LIBRARY, SUFFIX
from treadle.link.c.support.pool import POOL
from treadle.link.c.support.prebuilt import PREBUILT, library_key
from treadle.link.c.toolchain import SUPPORT_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    from treadle.link.c.support.library_sources import LibrarySource
    from treadle.link.c.toolchain import Toolchain

# Seconds until the background work begins; a process that ends before does not start it.
DELAY = 0.25


class SupportLibraries:
    """Loads or compiles the two libraries, once in a process."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._begun = False
        self._done = threading.Event()
        self._extension: ModuleType | None = None
        self._waiting: list[Callable[[ModuleType], None]] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._give_up)

    def _give_up(self) -> None:
        """In a forked child, which lacks the thread that compiles them, do without the missing libraries."""
        # Another thread of the parent may have held the lock inside of the event.
        self._done = threading.Event()
        if self._begun:
            self._waiting.clear()
            self._done.set()

    @property
    def extension(self) -> ModuleType | None:
        """The helper extension, or None while there is none."""
        return self._extension

    def begin(self, toolchain: Toolchain) -> None:
        """Load the libraries that are prebuilt or in the cache, and compile the others in the background."""
        if not config.c__support_libraries:
            return
        with self._lock:
            begun, self._begun = self._begun, True
        if begun:
            return
        try:
            missing = self._missing(toolchain)
        except (TreadleError, OSError, ImportError):
            missing = []
        if not missing:
            self._finish()
            return
        # What they are for outlives the work that has asked: whatever ends that does not end this.
        BACKGROUND.start(partial(self._work, config.snapshot(), missing), "support", contextvars.Context())

    def when_ready(self, take: Callable[[ModuleType], None]) -> None:
        """Pass the extension to a function: at once, or when it is compiled, or never."""
        with self._lock:
            if not self._done.is_set():
                if self._begun:
                    self._waiting.append(take)
                return
        if self._extension is not None:
            take(self._extension)

    def wait(self, seconds: float) -> bool:
        """Wait until both are loaded or have failed; return whether that happened in time."""
        return self._done.wait(seconds)

    def _missing(self, toolchain: Toolchain) -> list[_Work]:
        """Load the libraries that are there; return the work on the others."""
        uses = ((POOL_LIBRARY, POOL.install), (EXTENSION_LIBRARY, self._load))
        rest = [(source, use) for source, use in uses if not _load_prebuilt(source, use)]
        within = default_cache()
        if not rest or not within.persistent:
            return []
        cache = Cache(within.directory / SUPPORT_FOLDER, quiet=True)
        if not cache.persistent:
            return []
        work = [_Work(cache, source, toolchain, use) for source, use in rest if source.has_headers()]
        return [each for each in work if not each.load()]

    def _load(self, path: Path) -> None:
        loader = machinery.ExtensionFileLoader(EXTENSION, str(path))
        spec = util.spec_from_file_location(EXTENSION, str(path), loader=loader)
        if spec is None:
            return
        module = util.module_from_spec(spec)
        loader.exec_module(module)
        self._extension = module

    def _work(self, options: Mapping[str, object], missing: Sequence[_Work]) -> None:
        threading.Event().wait(DELAY)
        with config.using(options):
            for work in missing:
                # Where warnings are errors, a warning about the directory is suppressed as well.
                with contextlib.suppress(TreadleError, OSError, ImportError, Warning):
                    work.make()
        self._finish()

    def _finish(self) -> None:
        while True:
            with self._lock:
                waiting, self._waiting = self._waiting, []
                if not waiting or self._extension is None:
                    self._done.set()
                    return
            for take in waiting:
                take(self._extension)


def _load_prebuilt(source: LibrarySource, use: Callable[[Path], None]) -> bool:
    """Load a library that an installed distribution brings; return whether there is one that can be loaded."""
    file = PREBUILT.library(library_key(source.text, source.interfaces))
    if file is None:
        return False
    try:
        use(file)
    except (OSError, ImportError):
        return False
    return True


class _Work:
    """One library: its text, how to compile it, and the function that loads it."""

    def __init__(self, cache: Cache, source: LibrarySource, toolchain: Toolchain, use: Callable[[Path], None]) -> None:
        self._cache = cache
        self._toolchain = source.toolchain(toolchain)
        self._text = source.stamped
        self._use = use
        self._key = self._toolchain.key(self._text)

    def load(self) -> bool:
        """Load the library if it is in the cache; return whether it is."""
        file = self._cache.file(self._key, SUFFIX)
        if file is not None:
            # Compiling a library again that cannot be loaded would not help, and the other one does not depend on it.
            with contextlib.suppress(OSError, ImportError):
                self._use(file)
        return file is not None

    def make(self) -> None:
        """Compile the library and load it."""
        self._use(self._toolchain.kept(self._key, self._text, self._toolchain.compile, self._cache))


SUPPORT = SupportLibraries()
