"""Nested lists, tuples and dictionaries as a list of what stands in them and a description that can be pickled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Nesting:
    """How leaves are nested: a container's class (None for a leaf), what is in it, and a dictionary's keys in order."""

    __slots__ = ("inner", "keys", "kind")

    def __init__(
        self, kind: type | None, inner: tuple[Nesting, ...] = (), keys: tuple[object, ...] | None = None
    ) -> None:
        self.kind = kind
        self.inner = inner
        self.keys = keys

    def unflatten(self, leaves: Iterable[object]) -> Any:
        """Return leaves put together."""
        return self._take(iter(leaves))

    def _take(self, leaves: Iterator[object]) -> object:
        if self.kind is None:
            return next(leaves)
        items = [part._take(leaves) for part in self.inner]
        if self.keys is not None:
            return self.kind(zip(self.keys, items, strict=True))
        # A named tuple takes its items one by one.
        return self.kind(*items) if hasattr(self.kind, "_fields") else self.kind(items)


def flatten(value: object) -> tuple[list[object], Nesting]:
    """Return the leaves of a nested value in order, and how they are nested. None is a leaf."""
    leaves: list[object] = []
    return leaves, _describe(value, leaves)


def _describe(value: object, leaves: list[object]) -> Nesting:
    if isinstance(value, dict):
        return Nesting(type(value), tuple(_describe(item, leaves) for item in value.values()), tuple(value))
    if isinstance(value, list | tuple):
        return Nesting(type(value), tuple(_describe(item, leaves) for item in value))
    leaves.append(value)
    return Nesting(None)
