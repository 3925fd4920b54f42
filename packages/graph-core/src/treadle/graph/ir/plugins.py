"""What installed packages publish under an entry-point group, taken into a table when it is first asked."""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

from treadle.config import new_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Entry(Protocol):
    """What is published under a name."""

    def load(self) -> Any:
        """Import it and return it."""


class PluginLoader:
    """Takes in the published entries once; other threads that ask meanwhile wait for all of them.

    Parameters
    ----------
    find
        Returns the entries by name, each with a method ``load()``.
    take
        Is called with what each entry loads.
    """

    __slots__ = ("_find", "_loading", "_lock", "_take", "_taken", "is_complete")

    def __init__(self, find: Callable[[], Mapping[str, Entry]], take: Callable[[Any], object]) -> None:
        self._find = find
        self._take = take
        self._taken: set[str] = set()
        self._loading: int | None = None
        self._lock = new_lock()
        self.is_complete = False

    @property
    def is_loading(self) -> bool:
        """Whether entries are being taken in now."""
        return self._loading is not None

    def load(self) -> None:
        """Take in what is published, unless that is done; what a package does while it is taken in asks for no more."""
        if self.is_complete:
            return
        with self._lock:
            # Of a thread that a fork left behind, the child knows no more than that it took in some.
            if self._loading == get_ident() or self.is_complete:
                return
            self._loading = get_ident()
            try:
                for name, entry in self._find().items():
                    if name not in self._taken:
                        self._take(entry.load())
                        self._taken.add(name)
                self.is_complete = True
            finally:
                self._loading = None
