"""The installed backends, found through the entry-point group ``treadle.backends``."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

from treadle.compile.errors import BackendWarning, MissingBackendError
from treadle.config import (
    BACKEND_REQUIREMENTS,
    LINKER_REQUIREMENTS,
    EntryPointLoadError,
    discover,
    install_advice,
    lazy_module,
    new_lock,
)

if TYPE_CHECKING:
    import difflib

    from treadle.config import EntryPointRef
    from treadle.link.vm import Backend
else:
    difflib = lazy_module("difflib")


def requirements() -> list[str]:
    """Return the requirements that install the backends of this project."""
    return list(dict.fromkeys(BACKEND_REQUIREMENTS.values()))


class BackendTable:
    """Backends by name; each is loaded when it is first asked for."""

    __slots__ = ("_loaded", "_lock", "_warned")

    def __init__(self) -> None:
        self._loaded: dict[EntryPointRef, Backend] = {}
        self._warned: set[str] = set()
        self._lock = new_lock()

    def names(self) -> list[str]:
        """Return the names of the installed backends."""
        return sorted(discover("treadle.backends"))

    def load(self, name: str) -> Backend | None:
        """Return an installed backend by name, or None."""
        entry = discover("treadle.backends").get(name)
        if entry is None:
            return None
        with self._lock:
            if entry not in self._loaded:
                self._loaded[entry] = entry.load()
            return self._loaded[entry]

    def find(self, name: str) -> Backend:
        """Return a backend by its name, or by an alias of option ``linker``; it must work on this machine."""
        backend = self._named(name.lower())
        if backend is None:
            raise MissingBackendError(self._missing(name))
        reason = backend.unavailable()
        if reason is not None:
            msg = f"mode {name}: backend {backend.name} cannot be used here: {reason}. Mend that, or pick another mode."
            raise MissingBackendError(msg)
        return backend

    def check(self, name: str) -> None:
        """Check that a backend has the name or alias; whether it works on this machine is left open."""
        if self._named(name.lower()) is None:
            raise MissingBackendError(self._missing(name))

    def _named(self, name_or_alias: str) -> Backend | None:
        backend = self.load(name_or_alias)
        if backend is not None:
            return backend
        backends = [backend_or_none for name in self.names() if (backend_or_none := self.load(name)) is not None]
        return next((b for b in backends if name_or_alias in b.aliases), None)

    def _missing(self, name: str) -> str:
        installed = self.names()
        near = difflib.get_close_matches(name.lower(), installed, n=1)
        hint = f" Did you mean {near[0].upper()}?" if near else ""
        requirement = LINKER_REQUIREMENTS.get(name.lower())
        extras = f"Backends are extras of this package: {install_advice(*requirements())}"
        advice = extras if requirement is None else f"Install it: {install_advice(requirement)}"
        return (
            f"mode {name!r}: no installed backend has this name.{hint} Installed: "
            f"{', '.join(n.upper() for n in installed)}. {advice}; "
            "after installing one in an editable environment, sync it again."
        )

    def default(self) -> Backend:
        """Return the backend of the highest priority that works on this machine.

        There is one warning for each of a higher priority that is installed but cannot work.
        """
        ranked: list[Backend] = []
        for name in self.names():
            try:
                backend = self.load(name)
            except EntryPointLoadError as error:
                self._warn_once(name, str(error))
                continue
            if backend is not None and backend.priority is not None:
                ranked.append(backend)
        for backend in sorted(ranked, key=lambda b: (-(b.priority or 0), b.name)):
            reason = backend.unavailable()
            if reason is None:
                return backend
            self._warn_once(backend.name, reason)
        raise MissingBackendError(self._missing("default"))

    def libraries(self) -> frozenset[str]:
        """Return the names of the libraries that the installed backends compute with."""
        libraries: set[str] = set()
        for name in self.names():
            with suppress(EntryPointLoadError):  # it is reported where the backend is asked for
                backend = self.load(name)
                libraries.update(() if backend is None else backend.libraries)
        return frozenset(libraries)

    def _warn_once(self, name: str, reason: str) -> None:
        with self._lock:
            first = name not in self._warned
            self._warned.add(name)
        if first:
            text = f"default mode: backend {name} cannot be used: {reason.rstrip('.')}. Another takes its place."
            warnings.warn(text, BackendWarning, stacklevel=3)


BACKENDS = BackendTable()
