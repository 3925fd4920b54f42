"""Nested lists, tuples and dictionaries as a list of what stands in them and a description that can be pickled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Nesting:
    """How leaves are nested.

    Attributes
    ----------
    kind
        Class of the container; None for a leaf.
    keys
        Keys of a dictionary, in order.
    inner
        What stands in the container.
    """

    kind: Any
    keys: tuple[Any, ...] = ()
    inner: tuple[Nesting, ...] = ()

    def nested(self, leaves: Sequence[Any]) -> Any:
        """Return leaves put together."""
        return self._taken(iter(leaves))

    def _taken(self, leaves: Iterator[Any]) -> Any:
        if self.kind is None:
            return next(leaves)
        items = [part._taken(leaves) for part in self.inner]
        if issubclass(self.kind, dict):
            return self.kind(zip(self.keys, items, strict=True))
        # A named tuple takes its items one by one.
        return self.kind(*items) if hasattr(self.kind, "_fields") else self.kind(items)


_LEAF = Nesting(None)


def flattened(value: Any) -> tuple[list[Any], Nesting]:
    """Return the leaves of a nested value in order, and how they are nested. None is a leaf."""
    leaves: list[Any] = []
    return leaves, _described(value, leaves)


def _described(value: Any, leaves: list[Any]) -> Nesting:
    kind = type(value)
    if isinstance(value, dict):
        keys = tuple(value)
        return Nesting(kind, keys, tuple(_described(value[key], leaves) for key in keys))
    if isinstance(value, list | tuple):
        return Nesting(kind, (), tuple(_described(item, leaves) for item in value))
    leaves.append(value)
    return _LEAF
