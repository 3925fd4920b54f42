"""A pause of Python's cyclic garbage collector, counted over threads."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

from treadle.config.locks import new_lock

if TYPE_CHECKING:
    from collections.abc import Iterator


class CollectorPause:
    """Keeps the collector from running while any block of `paused` lasts, in any thread.

    Rewriting makes many objects that live as long as the graph, and the first function of a process imports hundreds of
    modules. The collector would walk over all of them again and again, at a cost per node that grows with the graph:
    more than half of the whole time at 60,000 nodes.
    """

    __slots__ = ("_count", "_lock", "_was_enabled")

    def __init__(self) -> None:
        self._lock = new_lock()
        self._count = 0
        self._was_enabled = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the collector for a block; it goes on after the last one, if it ran before the first."""
        with self._lock:
            if self._count == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._count += 1
        try:
            yield
        finally:
            with self._lock:
                self._count -= 1
                if self._count == 0 and self._was_enabled:
                    gc.enable()


COLLECTOR = CollectorPause()
