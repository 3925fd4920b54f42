"""Entry points of installed packages, loaded into a table when it is first used."""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

from treadle.config import EntryPointRef, is_imported, modules_awaited, new_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Entry(Protocol):
    """An entry point."""

    def load(self) -> Any:
        """Import it and return it."""


class PluginLoader:
    """Loads entry points once; other threads that ask meanwhile wait for all of them.

    ``find()`` returns the entries by name, and ``take`` is called with what each of them loads. Entries that await
    modules (see `treadle.config.modules_awaited`) are loaded once one of these is imported.
    """

    __slots__ = ("_awaited", "_find", "_loaded", "_loading", "_lock", "_take", "is_complete")

    def __init__(self, find: Callable[[], Mapping[str, Entry]], take: Callable[[Any], object]) -> None:
        self._find = find
        self._take = take
        self._loaded: set[str] = set()
        self._loading: int | None = None
        self._lock = new_lock()
        # The modules that each entry awaits which is not loaded; None until the others are.
        self._awaited: tuple[tuple[str, ...], ...] | None = None
        self.is_complete = False

    @property
    def is_loading(self) -> bool:
        """Whether entries are being loaded now."""
        return self._loading is not None

    def load(self, *, everything: bool = False) -> None:
        """Load the entries that are not loaded yet, those that await modules too if `everything` is asked for.

        A call from a package that is being loaded does nothing.
        """
        if self.is_complete:
            return
        awaited = self._awaited
        if awaited is not None and not everything and not any(map(is_imported, awaited)):
            return
        with self._lock:
            # A fork may have stopped another thread halfway: the child goes on from the entries taken by then.
            if self._loading == get_ident() or self.is_complete:
                return
            self._loading = get_ident()
            try:
                self._awaited = self._load_rest(everything)
                self.is_complete = not self._awaited
            finally:
                self._loading = None

    def _load_rest(self, everything: bool) -> tuple[tuple[str, ...], ...]:
        """Load what is needed; return the modules that the other entries await."""
        rest: dict[str, tuple[Entry, tuple[str, ...]]] = {}
        for name, entry in self._find().items():
            if name not in self._loaded:
                rest[name] = entry, modules_awaited(entry) if isinstance(entry, EntryPointRef) else ()

        def is_needed(modules: tuple[str, ...]) -> bool:
            return everything or not modules or is_imported(modules)

        # Loading one may import what another awaits.
        while needed := [name for name, (_, modules) in rest.items() if is_needed(modules)]:
            for name in needed:
                self._take(rest.pop(name)[0].load())
                self._loaded.add(name)
        return tuple(modules for _, modules in rest.values())
