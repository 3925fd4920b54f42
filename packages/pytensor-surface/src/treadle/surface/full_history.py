"""FullHistory: every state that a graph went through, to go back and forth between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from treadle.graph import Feature, GraphValueError

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply, FunctionGraph, Variable


class HistoryEntry(NamedTuple):
    """One change: input `i` of `node` became `new_var` instead of `var`."""

    node: Apply
    i: int
    var: Variable
    new_var: Variable
    reason: str | None


class FullHistory(Feature):
    """Feature that remembers every state of one graph: ``start``, ``prev``, ``next``, ``end`` and ``goto(number)``.

    State -1 is the one at attachment, state 0 the one after the first changed input, and so on; each of the methods
    returns the graph in that state, with its order of evaluation found anew. A change made while the graph is in an
    earlier state makes that the latest: what came after it is forgotten.

    Parameters
    ----------
    callback
        Called after each new change, without arguments.
    """

    def __init__(self, callback: Callable[[], object] | None = None) -> None:
        self.callback = callback
        self.entries: list[HistoryEntry] = []
        self.pointer = -1
        self._fgraph: FunctionGraph | None = None
        # The place in the journal of each state, beginning with state -1.
        self._marks: list[int] = []
        self._moving = False

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Begin an empty history; a feature of another graph is refused."""
        self.refuse_second(self._fgraph)
        self._fgraph = fgraph
        fgraph.keep_journal(True)
        self.entries, self._marks, self.pointer = [], [fgraph.told_mark()], -1

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget the history."""
        fgraph.keep_journal(False)
        self._fgraph = None

    def clone(self) -> FullHistory:
        """Return a history for another graph."""
        return type(self)(self.callback)

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, var: Variable, new_var: Variable, reason: str | None = None
    ) -> None:
        """Note the change, and the state after it."""
        if self._moving:
            return
        del self.entries[self.pointer + 1 :], self._marks[self.pointer + 2 :]
        self.entries.append(HistoryEntry(node, i, var, new_var, reason))
        self._marks.append(fgraph.told_mark())
        self.pointer += 1
        if self.callback is not None:
            self.callback()

    def goto(self, checkpoint: int) -> FunctionGraph:
        """Bring the graph to a state.

        Raises
        ------
        GraphValueError
            If there is no such state, or the feature is attached to no graph.
        """
        graph = self._fgraph
        if graph is None:
            msg = "FullHistory: the feature is attached to no graph. Attach it first."
            raise GraphValueError(msg)
        if not -1 <= checkpoint < len(self.entries):
            msg = f"FullHistory: there is no state {checkpoint!r}. Pass a number from -1 to {len(self.entries) - 1}."
            raise GraphValueError(msg)
        self._moving = True
        try:
            if checkpoint < self.pointer:
                graph.revert_journal(self._marks[checkpoint + 1])
                self.pointer = checkpoint
            while self.pointer < checkpoint:
                node, i, _, new_var, reason = self.entries[self.pointer + 1]
                graph.change_node_input(node, i, new_var, reason, check=False)
                self.pointer += 1
                self._marks[self.pointer + 1] = graph.told_mark()
        finally:
            self._moving = False
        return graph

    def start(self) -> FunctionGraph:
        """Bring the graph to the state at attachment."""
        return self.goto(-1)

    def end(self) -> FunctionGraph:
        """Bring the graph to its latest state."""
        return self.goto(len(self.entries) - 1)

    def prev(self) -> FunctionGraph:
        """Bring the graph to the state before this one; the first one stays."""
        return self.goto(max(-1, self.pointer - 1))

    def next(self) -> FunctionGraph:
        """Bring the graph to the state after this one; the latest one stays."""
        return self.goto(min(len(self.entries) - 1, self.pointer + 1))

    def __getstate__(self) -> dict[str, object]:
        """Leave the states out of pickles: they belong to a graph that is not there."""
        return {**self.__dict__, "entries": [], "pointer": -1, "_fgraph": None, "_marks": []}
