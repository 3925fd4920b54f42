"""NameTable: what modes, linkers and sets of rewrites are known by."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from treadle.compile.errors import FunctionTypeError, UnknownNameError
from treadle.config import new_lock, text_of
from treadle.graph import DuplicateRegistrationError

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


class NameTable(Mapping[str, T], Generic[T]):
    """Things by name; names can be added, never taken by a second thing.

    Parameters
    ----------
    kind
        What it holds, for messages: ``mode``, ``linker`` or ``optimizer``.
    first
        What it holds at first.
    """

    def __init__(self, kind: str, first: Mapping[str, T]) -> None:
        self.kind = kind
        self._items: dict[str, T] = dict(first)
        self._written: dict[str, str] = {}
        self._lock = new_lock()

    def register(self, name: str, thing: T) -> None:
        """Add something under a name.

        Raises
        ------
        DuplicateRegistrationError
            If the name is taken.
        FunctionTypeError
            If the name is no string, or the thing is of a wrong kind.
        """
        if not isinstance(name, str) or not name:
            msg = f"register_{self.kind}: the name must be a string, got {text_of(name)}."
            raise FunctionTypeError(msg)
        checked = self._checked(name, thing)
        with self._lock:
            if name in self:
                msg = f"register_{self.kind} {name!r}: the name is taken. Choose another one."
                raise DuplicateRegistrationError(msg)
            self._items[self._key(name)] = checked
            self._written[self._key(name)] = name

    def _checked(self, name: str, given: T) -> T:
        """Return what is to be registered; refuse what is of a wrong kind."""
        del name
        return given

    def _key(self, name: object) -> str:
        """Return the form of a name by which things are found."""
        return str(name)

    def __getitem__(self, name: str) -> T:
        """Return what has a name.

        Raises
        ------
        UnknownNameError
            If nothing has; the message lists near names.
        """
        try:
            return self._items[self._key(name)]
        except KeyError:
            raise self.unknown(name) from None

    def unknown(self, name: object) -> UnknownNameError:
        """Return the error for a name that nothing has."""
        names = list(self)
        near = difflib.get_close_matches(str(name).lower(), [n.lower() for n in names], n=3)
        meant = [n for n in names if n.lower() in near]
        hint = f" Did you mean {' or '.join(meant)}?" if meant else ""
        msg = f"{self.kind}: none is called {name!r}.{hint} Known: {', '.join(names)}."
        return UnknownNameError(msg)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self.own_names())

    def own_names(self) -> list[str]:
        """Return the names that things were given here, as they were written."""
        return [self._written.get(key, key) for key in list(self._items)]

    def __len__(self) -> int:
        """Return the number of names."""
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        """Whether something has the name."""
        return self._key(name) in self._items
