"""The value of every option at one moment."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from treadle.config.lazy import lazy_module

if TYPE_CHECKING:
    import hashlib
else:
    hashlib = lazy_module("hashlib")


class Snapshot(Mapping[str, Any]):
    """An immutable mapping from option name to value, for all options at one moment.

    A Function keeps the snapshot it was made with; cache keys hold its `code_key`.
    Snapshots pickle, and compare by value.
    """

    __slots__ = ("_code_names", "_hash", "_values")

    _values: Mapping[str, object]
    _code_names: tuple[str, ...]
    _hash: int | None

    def __init__(self, values: Mapping[str, object], code_names: tuple[str, ...]) -> None:
        object.__setattr__(self, "_values", dict(values))
        object.__setattr__(self, "_code_names", code_names)
        object.__setattr__(self, "_hash", None)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __setattr__(self, name: str, value: object) -> None:
        msg = f"snapshot: cannot be changed, but {name} was assigned. Assign to config and take a new one."
        raise AttributeError(msg)

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash(self.code_key()))
        return self._hash or 0

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Snapshot):
            return self._values == other._values and self._code_names == other._code_names
        return NotImplemented

    def __repr__(self) -> str:
        return f"Snapshot({dict(self._values)!r})"

    def __reduce__(self) -> tuple[type["Snapshot"], tuple[dict[str, object], tuple[str, ...]]]:
        return Snapshot, (dict(self._values), self._code_names)

    def code_key(self) -> tuple[tuple[str, str], ...]:
        """Return (name, text of the value) for each option that can affect compiled code, by name.

        The text is the value's `repr`, which for strings, numbers and booleans is the same in every
        process; paths enter as their text.
        """
        return tuple((name, _text(self._values[name])) for name in self._code_names)

    def digest(self) -> str:
        """Return a SHA-256 digest of `code_key`, in hexadecimal."""
        return hashlib.sha256(repr(self.code_key()).encode()).hexdigest()


def _text(value: object) -> str:
    return repr(value) if isinstance(value, str | int | float | bool | None) else f"{type(value).__name__}:{value}"
