"""ScalarTable: what one backend computes scalar ops with."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar

from treadle.graph import DuplicateRegistrationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

E = TypeVar("E")
ALL_KINDS = "biufc"


class ScalarTable(Generic[E]):
    """Texts or functions for scalar ops, by name and by the kind of dtype that is computed with.

    Kinds are NumPy's letters: b, i, u, f and c. A scalar op with a body needs no entry; one that it has all the same
    is used instead of the body.

    Parameters
    ----------
    backend
        Name of the backend, for messages.
    module
        The module, or package, that registers the backend's own entries; it is imported at the first lookup.
    """

    __slots__ = ("_entries", "backend", "module")

    def __init__(self, backend: str, module: str) -> None:
        self.backend = backend
        self.module = module
        self._entries: dict[str, dict[str, E]] = {}

    def register(self, name: str, entries: Mapping[str, E]) -> None:
        """Say how a scalar op is computed.

        Parameters
        ----------
        name
            Name of the scalar op.
        entries
            For each of some kinds of dtype, ``"f"`` or ``"iu"``, what the backend takes; its documentation says what
            that is.

        Raises
        ------
        DuplicateRegistrationError
            If there is something for one of the kinds already.
        """
        known = self._entries.setdefault(name, {})
        for kinds, entry in entries.items():
            for kind in kinds:
                if kind in known:
                    msg = (
                        f"{self.backend}: the scalar op {name!r} is registered for dtypes of kind {kind!r} already. "
                        "Remove one of the two."
                    )
                    raise DuplicateRegistrationError(msg)
                known[kind] = entry

    def function(self, *names: str, kinds: str = ALL_KINDS) -> Callable[[E], E]:
        """Return a decorator that registers a function for scalar ops, which it computes for some kinds of dtype."""

        def decorate(entry: E) -> E:
            for name in names:
                self.register(name, {kinds: entry})
            return entry

        return decorate

    def find(self, name: str, kind: str) -> E | None:
        """Return what is registered for a scalar op and a kind of dtype, or None."""
        if self.module not in sys.modules:
            import_module(self.module)
        return self._entries.get(name, {}).get(kind)

    def entries(self, name: str) -> list[E]:
        """Return all that is registered for a scalar op so far."""
        return list(self._entries.get(name, {}).values())
