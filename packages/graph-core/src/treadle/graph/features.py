"""Features: observers and extensions of a FunctionGraph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph.errors import GraphValueError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph.apply import Apply
    from treadle.graph.fg import FunctionGraph
    from treadle.graph.variable import Variable


class AlreadyThere(GraphValueError):  # noqa: N818 - the documented name
    """A feature refuses to be attached a second time; the graph takes this as done."""


class Feature:
    """Base of features: every callback does nothing."""

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Called when the feature is attached; may raise `AlreadyThere`."""

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Called when the feature is removed."""

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Called after a node came into the graph."""

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Called after a node left the graph."""

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, old: Variable, new: Variable, reason: str | None
    ) -> None:
        """Called after input `i` of a node (or of an output) changed."""

    def validate(self, fgraph: FunctionGraph) -> None:
        """Raise an error if the graph is not acceptable to this feature."""

    def orderings(self, fgraph: FunctionGraph) -> dict[Apply, Sequence[Apply]]:
        """Return, for nodes, others that must run before them."""
        del fgraph
        return {}


class Bookkeeper(Feature):
    """Feature that treats attaching as the import, and removal as the pruning, of every node."""

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Import every node."""
        for node in fgraph.toposort():
            self.on_import(fgraph, node, "on_attach")

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Prune every node."""
        for node in fgraph.toposort():
            self.on_prune(fgraph, node, "on_detach")


class History(Feature):
    """Feature that can undo changes: take a checkpoint, change the graph, `revert` to it."""

    def __init__(self) -> None:
        self._log: dict[FunctionGraph, list[tuple[Apply, int, Variable]]] = {}
        self._reverting = False

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Begin an empty history."""
        self._log[fgraph] = []

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget the history."""
        del self._log[fgraph]

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, old: Variable, new: Variable, reason: str | None
    ) -> None:
        """Note the change."""
        del new, reason
        if not self._reverting:
            self._log[fgraph].append((node, i, old))

    def checkpoint(self, fgraph: FunctionGraph) -> int:
        """Return a mark to revert to."""
        return len(self._log[fgraph])

    def revert(self, fgraph: FunctionGraph, checkpoint: int) -> None:
        """Undo every change since the checkpoint."""
        log = self._log[fgraph]
        self._reverting = True
        try:
            while len(log) > checkpoint:
                node, i, old = log.pop()
                fgraph.change_node_input(node, i, old, reason="revert", check=False)
        finally:
            self._reverting = False


class NodeFinder(Bookkeeper):
    """Feature that finds the nodes of an op: ``fgraph.get_nodes(op)``."""

    def __init__(self) -> None:
        self._nodes: dict[Any, dict[Apply, None]] = {}

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Index the node."""
        del fgraph, reason
        self._nodes.setdefault(node.op, {})[node] = None

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Drop the node."""
        del fgraph, reason
        self._nodes.get(node.op, {}).pop(node, None)

    def get_nodes(self, op: Any) -> list[Apply]:
        """Return the nodes of the op, in order of import."""
        return list(self._nodes.get(op, ()))
