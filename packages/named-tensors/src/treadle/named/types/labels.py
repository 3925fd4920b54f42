"""The names of the batch dimensions of plain tensors, while a graph is vectorised."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LABELS: ContextVar[tuple[str, ...]] = ContextVar("labels of the batch", default=())


def labels_of_batch() -> tuple[str, ...]:
    """Return the names of the leading dimensions that plain tensors get; empty where no graph is vectorised by name."""
    return _LABELS.get()


@contextmanager
def labelled(labels: tuple[str, ...]) -> Iterator[None]:
    """Let plain tensors have a batch of these dimensions."""
    token = _LABELS.set(labels)
    try:
        yield
    finally:
        _LABELS.reset(token)
