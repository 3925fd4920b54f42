"""SamplerTable: what one backend draws portable numbers with, by sampler."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Generic, TypeVar

from treadle.graph import DuplicateRegistrationError, LoweringTable
from treadle.tensor.random.generators.portable_draws import PortableDraws

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SamplerTable"]

E = TypeVar("E")


class SamplerTable(Generic[E]):
    """Texts or functions for the samplers of portable generators, by name.

    A sampler without an entry is compiled from its definition (see `treadle.tensor.random.PORTABLE_SAMPLERS`): an entry
    draws the same numbers faster. Others register theirs where their lowerings are, in what they publish under
    ``treadle.lowerings.<backend>``.

    Parameters
    ----------
    lowerings
        The backend's table of lowerings.
    entries
        The backend's own entries.
    """

    __slots__ = ("__weakref__", "_added", "_entries", "_lowerings", "backend", "module")

    def __init__(self, lowerings: LoweringTable, entries: Mapping[str, E]) -> None:
        self.backend = lowerings.backend
        # The module that the table was made in: what its package registers is the backend's own.
        self.module: str = sys._getframe(1).f_globals.get("__name__", "")
        self._lowerings = lowerings
        self._entries = dict(entries)
        self._added: list[tuple[str, E]] = []
        LoweringTable.tables.add(self)

    def register(self, name: str, entry: E) -> None:
        """Say how a sampler draws.

        Parameters
        ----------
        name
            Name of the sampler.
        entry
            What the backend takes; its documentation says what that is.

        Raises
        ------
        DuplicateRegistrationError
            If there is an entry already.
        """
        if name in self._entries:
            msg = f"{self.backend}: the sampler {name!r} is registered already. Remove one of the two."
            raise DuplicateRegistrationError(msg)
        self._entries[name] = entry
        if not self._lowerings.is_loading:
            self._added.append((name, entry))

    def added(self) -> list[tuple[type, tuple[str, E]]]:
        """Return names and entries that were not registered by what packages publish; nothing is loaded to tell."""
        return [(PortableDraws, pair) for pair in self._added]

    def find(self, name: str) -> E | None:
        """Return the entry of a sampler, or None."""
        self._lowerings.load()
        return self._entries.get(name)
