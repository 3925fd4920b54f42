"""Entry points of installed packages, loaded into a table when it is first used."""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

from treadle.config import new_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Entry(Protocol):
    """An entry point."""

    def load(self) -> Any:
        """Import it and return it."""


class PluginLoader:
    """Loads entry points once; other threads that ask meanwhile wait for all of them.

    ``find()`` returns the entries by name, and ``take`` is called with what each of them loads.
    """

    __slots__ = ("_find", "_loaded", "_loading", "_lock", "_take", "is_complete")

    def __init__(self, find: Callable[[], Mapping[str, Entry]], take: Callable[[Any], object]) -> None:
        self._find = find
        self._take = take
        self._loaded: set[str] = set()
        self._loading: int | None = None
        self._lock = new_lock()
        self.is_complete = False

    @property
    def is_loading(self) -> bool:
        """Whether entries are being loaded now."""
        return self._loading is not None

    def load(self) -> None:
        """Load all entries, unless that is done; a call from a package that is being loaded does nothing."""
        if self.is_complete:
            return
        with self._lock:
            # A fork may have stopped another thread halfway: the child goes on from the entries taken by then.
            if self._loading == get_ident() or self.is_complete:
                return
            self._loading = get_ident()
            try:
                for name, entry in self._find().items():
                    if name not in self._loaded:
                        self._take(entry.load())
                        self._loaded.add(name)
                self.is_complete = True
            finally:
                self._loading = None
