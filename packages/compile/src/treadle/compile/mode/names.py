"""NameTable: modes, linkers and sets of rewrites by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

from treadle.compile.errors import FunctionTypeError, UnknownNameError
from treadle.config import lazy_module, new_lock, text_of
from treadle.graph import DuplicateRegistrationError

if TYPE_CHECKING:
    import difflib
    from collections.abc import Callable, Iterable, Iterator
else:
    difflib = lazy_module("difflib")

T = TypeVar("T")


class NameTable(Mapping[str, T], Generic[T]):
    """Things of one kind by name; names can be added, but never be given to a second thing.

    What may be registered is of the classes `accepts`; `needed` ends the message about anything else, with a place for
    its text. `first` is what the table holds at first. `fold` returns the form of a name in which it is looked up:
    capitals may not matter.
    """

    def __init__(
        self,
        kind: str,
        accepts: type[T] | tuple[type[T], ...],
        needed: str,
        first: Mapping[str, T] = MappingProxyType({}),
        fold: Callable[[object], str] = str,
    ) -> None:
        self.kind = kind
        self._accepts = accepts
        self._needed = needed
        self._fold = fold
        self._items: dict[str, tuple[str, T]] = {fold(name): (name, thing) for name, thing in first.items()}
        self._lock = new_lock()

    def register(self, name: str, thing: T) -> None:
        """Add something under a name."""
        if not isinstance(name, str) or not name:
            msg = f"register_{self.kind}: the name must be a string, got {text_of(name)}."
            raise FunctionTypeError(msg)
        if not isinstance(thing, self._accepts):
            msg = f"register_{self.kind} {name!r}: {self._needed.format(text_of(thing))}"
            raise FunctionTypeError(msg)
        with self._lock:
            if name in self:
                msg = f"register_{self.kind} {name!r}: the name is taken. Choose another one."
                raise DuplicateRegistrationError(msg)
            self._items[self._fold(name)] = (name, thing)

    def _further_names(self) -> Iterable[str]:
        """Return the names of what is not registered but found elsewhere, such as the installed backends."""
        return ()

    def _find(self, name: str) -> T:
        """Return what a name that is not registered stands for."""
        raise self._unknown(name)

    def names(self) -> dict[str, str]:
        """Return all names as they are written, by the form in which they are looked up."""
        names: dict[str, str] = {}
        for name in (*self._further_names(), *(written for written, _ in list(self._items.values()))):
            names.setdefault(self._fold(name), name)
        return names

    def __getitem__(self, name: str) -> T:
        """Return what has a name."""
        key = self._fold(name)
        if key in self._items:
            return self._items[key][1]
        written = self.names().get(key)
        if written is None:
            raise self._unknown(name)
        return self._find(written)

    def _unknown(self, name: object) -> UnknownNameError:
        """Return the error for a name that nothing has."""
        return UnknownNameError(self._message(f"{self.kind}: none is called {name!r}.", name))

    def _message(self, head: str, name: object) -> str:
        """Return the head of a message with the nearest names, and all names."""
        names = self.names()
        near = difflib.get_close_matches(self._fold(name), names, n=3)
        hint = f" Did you mean {' or '.join(names[n] for n in near)}?" if near else ""
        return f"{head}{hint} Known: {', '.join(names.values())}."

    def __iter__(self) -> Iterator[str]:
        return iter(self.names().values())

    def __len__(self) -> int:
        return len(self.names())

    def __contains__(self, name: object) -> bool:
        return self._fold(name) in self._items or self._fold(name) in self.names()
