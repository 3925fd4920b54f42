"""NodeFinder: the nodes of a graph by op."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph.fgraph.features.base import Bookkeeper

if TYPE_CHECKING:
    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.op import Op


class NodeFinder(Bookkeeper):
    """Feature that finds the nodes of an op: ``fgraph.get_nodes(op)``."""

    def __init__(self) -> None:
        self._fgraph: FunctionGraph | None = None
        self._nodes: dict[Op, dict[Apply, None]] = {}

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Index every node, and install ``get_nodes``.

        Raises
        ------
        GraphValueError
            If the feature belongs to another graph.
        """
        self.refuse_second(self._fgraph)
        self.install(fgraph, get_nodes=self.get_nodes)
        self._nodes.clear()
        super().on_attach(fgraph)
        self._fgraph = fgraph

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget every node."""
        self._fgraph = None
        self._nodes.clear()

    def clone(self) -> NodeFinder:
        """Return a finder for another graph."""
        return type(self)()

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Index the node."""
        self._nodes.setdefault(node.op, {})[node] = None

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Drop the node."""
        found = self._nodes.get(node.op, {})
        found.pop(node, None)
        if not found:
            self._nodes.pop(node.op, None)

    def get_nodes(self, op: Op) -> list[Apply]:
        """Return the nodes whose op equals `op`, in order of import."""
        return list(self._nodes.get(op, ()))

    def __getstate__(self) -> dict[str, object]:
        """Leave the index out of pickles: it is made anew when the feature is attached."""
        return {**self.__dict__, "_fgraph": None, "_nodes": {}}
