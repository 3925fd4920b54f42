"""Memory that a program of the VM keeps for its next call, where values are not freed (``allow_gc=False``)."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from treadle.graph import memory_roots, roots_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.graph import Apply, FunctionGraph, Value, Variable


class Buffers:
    """Values that nodes computed in the last call of each thread: ``perform`` finds them in its output cells.

    A call takes all of them and leaves its own, so that a call within a call has none in common with it.
    """

    __slots__ = ("_of_thread",)

    def __init__(self) -> None:
        self._of_thread = threading.local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Let the calls of nodes inside use the values of the last call."""
        mine = self._of_thread
        outer = getattr(mine, "taken", None)
        mine.taken, mine.spare = getattr(mine, "spare", None) or {}, None
        try:
            yield
        finally:
            mine.taken, mine.spare = outer, mine.taken

    def take(self, var: Variable) -> Value:
        """Return what may be overwritten to compute a variable, or None."""
        taken: dict[Variable, object] | None = getattr(self._of_thread, "taken", None)
        return None if taken is None else taken.pop(var, None)

    def leave(self, var: Variable, value: object) -> None:
        """Keep a value for the next call."""
        taken: dict[Variable, object] | None = getattr(self._of_thread, "taken", None)
        if taken is not None:
            taken[var] = value

    def clear(self) -> None:
        """Forget the values of all threads."""
        self._of_thread = threading.local()


def reusable_outputs(fgraph: FunctionGraph) -> dict[Apply, list[bool]]:
    """Return for each node which outputs' memory nobody has after a call: no output of the graph, no input, no view."""
    order = fgraph.toposort()
    roots = memory_roots(order)
    escaping = {root for out in fgraph.outputs for root in roots_of(out, roots)}
    found = {}
    for node in order:
        own = [out not in roots and out not in escaping for out in node.outputs]
        if any(own):
            found[node] = own
    return found
