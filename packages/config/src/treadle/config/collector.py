"""A pause of Python's cyclic garbage collector, counted over threads."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from threading import get_ident
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

    __slots__ = ("_by", "_count", "_lock", "_was_enabled")

    def __init__(self) -> None:
        self._lock = new_lock()
        self._count = 0
        self._was_enabled = False
        # The thread of the first block.
        self._by: int | None = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the collector for a block; it goes on after the last one, if it ran before the first."""
        with self._lock:
            if self._count == 0:
                self._was_enabled, self._by = gc.isenabled(), get_ident()
                gc.disable()
            self._count += 1
        try:
            yield
        finally:
            with self._lock:
                self._count -= 1
                if self._count == 0:
                    self._by = None
                    if self._was_enabled:
                        gc.enable()

    def use_wait(self) -> None:
        """Look at the objects made in a pause so far, in its thread, which has to wait for something else anyway.

        They would be looked at as soon as the pause ends.
        """
        if self._was_enabled and self._by == get_ident():
            gc.collect(0)


COLLECTOR = CollectorPause()
