"""History: checkpoints of a graph, and the way back to them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from treadle.graph.errors import GraphValueError
from treadle.graph.fgraph.features.base import Feature

if TYPE_CHECKING:
    from treadle.graph.fgraph.function_graph import FunctionGraph


class History(Feature):
    """Feature that can undo changes.

    ``fgraph.checkpoint()`` returns a number, ``fgraph.revert(number)`` brings the graph back to that state exactly:
    nodes, clients and their order, inputs, outputs, update mapping and order of evaluation. Features attached at the
    time of the revert hear of each step back; which features are attached is left as it is. Checkpoints taken later
    than the one reverted to are gone.
    """

    def __init__(self) -> None:
        # For each graph, the place in its journal of each checkpoint.
        self._marks: dict[FunctionGraph, dict[int, int]] = {}
        self._count = 0

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Begin an empty history, and install ``checkpoint`` and ``revert``."""
        self.install(fgraph, checkpoint=partial(self.checkpoint, fgraph), revert=partial(self.revert, fgraph))
        self._marks[fgraph] = {}
        fgraph.keep_journal(True)

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget the history."""
        del self._marks[fgraph]
        fgraph.keep_journal(False)

    def clone(self) -> History:
        """Return a history for another graph."""
        return type(self)()

    def checkpoint(self, fgraph: FunctionGraph) -> int:
        """Return a number for the state of the graph."""
        self._count += 1
        self._marks[fgraph][self._count] = fgraph.journal_mark()
        return self._count

    def revert(self, fgraph: FunctionGraph, checkpoint: int) -> None:
        """Undo every change since the checkpoint.

        Raises
        ------
        GraphValueError
            If there is no such checkpoint, or the graph was reverted to an earlier one since.
        """
        marks = self._marks[fgraph]
        if checkpoint not in marks:
            msg = (
                f"revert: {checkpoint!r} is no checkpoint of this graph, or was taken after one that the graph was "
                "reverted to since. Pass what checkpoint() returned."
            )
            raise GraphValueError(msg)
        mark = marks[checkpoint]
        while (latest := next(reversed(marks))) > checkpoint:
            del marks[latest]
        fgraph.revert_journal(mark)

    def __getstate__(self) -> dict[str, object]:
        """Leave checkpoints out of pickles."""
        return {**self.__dict__, "_marks": {}}
