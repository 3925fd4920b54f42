"""The steps done to a graph, each of which can be undone exactly and reported to features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from treadle.graph.fgraph.features.base import REVERT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph.fgraph.labelled_list import Slot
    from treadle.graph.fgraph.order import OrderChange
    from treadle.graph.fgraph.structure import Clients, GraphStructure
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.variable import Variable

# A callback of features, with its arguments after the graph.
News: TypeAlias = "tuple[str, tuple[Any, ...]]"


class Step(ABC):
    """One change of a graph's tables.

    Attributes
    ----------
    callback
        The only callback that features are told of the step by, empty if they are told nothing; None if the step says.
    """

    __slots__ = ()
    callback: ClassVar[str | None] = ""

    @abstractmethod
    def undo(self, graph: GraphStructure) -> None:
        """Undo the step; every later step has been undone before."""

    def news(self, back: bool = False) -> Sequence[News]:
        """Return the callbacks of features after the step, in order.

        With `back`, return those after the step was undone, which are called from the last to the first.
        """
        return ()


class Imported(Step):
    """Nodes entered in, and with them variables that were not known before."""

    __slots__ = ("new_variables", "nodes", "reason")
    callback = "on_import"

    def __init__(self, nodes: Sequence[Apply], new_variables: list[Variable], reason: str | None) -> None:
        self.nodes, self.new_variables, self.reason = nodes, new_variables, reason

    def undo(self, graph: GraphStructure) -> None:
        """Remove the nodes and the variables."""
        clients = graph.clients
        for node in reversed(self.nodes):
            for i, x in enumerate(node.inputs):
                del clients[x][node, i]
            del graph.nodes[node]
            graph.order.discard(node)
        for var in self.new_variables:
            del clients[var]

    def news(self, back: bool = False) -> Sequence[News]:
        """Report each node."""
        name, reason = ("on_prune", REVERT) if back else ("on_import", self.reason)
        return [(name, (node, reason)) for node in self.nodes]


class Pruned(Step):
    """A node left, with its outputs."""

    __slots__ = ("node", "outputs", "reason", "serial", "serials", "slot")
    callback = "on_prune"

    def __init__(
        self,
        node: Apply,
        serial: int,
        serials: list[int],
        outputs: list[Variable],
        slot: Slot | bool,
        reason: str | None,
    ) -> None:
        self.node, self.serial, self.serials = node, serial, serials
        self.outputs, self.slot, self.reason = outputs, slot, reason

    def undo(self, graph: GraphStructure) -> None:
        """Bring the node back to where it was."""
        node = self.node
        graph.nodes[node] = self.serial
        graph.nodes_disordered = True
        for out in self.outputs:
            graph.add_variable(out)
        for i, (x, serial) in enumerate(zip(node.inputs, self.serials, strict=True)):
            graph.relist(x, node, i, serial)
        graph.order.restore(node, self.slot)

    def news(self, back: bool = False) -> Sequence[News]:
        """Report the removal, or the return."""
        return (("on_import", (self.node, REVERT)) if back else ("on_prune", (self.node, self.reason)),)


class Changed(Step):
    """An input of a node became another variable."""

    __slots__ = ("i", "new", "node", "old", "reason", "serial")
    callback = "on_change_input"

    def __init__(self, node: Apply, i: int, old: Variable, new: Variable, serial: int, reason: str | None) -> None:
        self.node, self.i, self.old, self.new = node, i, old, new
        self.serial, self.reason = serial, reason

    def undo(self, graph: GraphStructure) -> None:
        """Put the old variable back."""
        node, i = self.node, self.i
        del graph.clients[self.new][node, i]
        graph.set_input(node, i, self.old)
        graph.relist(self.old, node, i, self.serial)

    def news(self, back: bool = False) -> Sequence[News]:
        """Report the change."""
        change = (self.new, self.old, REVERT) if back else (self.old, self.new, self.reason)
        return (("on_change_input", (self.node, self.i, *change)),)


class Listed(Step):
    """A variable without owner was entered, or an unused one removed."""

    __slots__ = ("entered", "table", "var")

    def __init__(self, var: Variable, table: Clients, entered: bool) -> None:
        self.var, self.table, self.entered = var, table, entered

    def undo(self, graph: GraphStructure) -> None:
        """Remove the variable, or enter it again."""
        if self.entered:
            del graph.clients[self.var]
        else:
            graph.clients[self.var] = self.table


class ClientListed(Step):
    """A client was listed or struck off by hand."""

    __slots__ = ("entered", "i", "node", "serial", "var")

    def __init__(self, var: Variable, node: Apply, i: int, serial: int, entered: bool) -> None:
        self.var, self.node, self.i, self.serial, self.entered = var, node, i, serial, entered

    def undo(self, graph: GraphStructure) -> None:
        """Strike the client off, or list it again."""
        if self.entered:
            del graph.clients[self.var][self.node, self.i]
        else:
            graph.relist(self.var, self.node, self.i, self.serial)


class OutputChanged(Step):
    """An output was added or removed."""

    __slots__ = ("added", "index", "node", "reason", "serial", "var")
    callback = None

    def __init__(self, index: int, node: Apply, var: Variable, serial: int, added: bool, reason: str | None) -> None:
        self.index, self.node, self.var, self.serial = index, node, var, serial
        self.added, self.reason = added, reason

    def undo(self, graph: GraphStructure) -> None:
        """Remove the output, or put it back to its place."""
        if self.added:
            graph.outputs.pop()
            graph.output_nodes.pop()
            del graph.clients[self.var][self.node, 0]
            return
        graph.outputs.insert(self.index, self.var)
        graph.output_nodes.insert(self.index, self.node)
        graph.number_outputs(self.index)
        graph.relist(self.var, self.node, 0, self.serial)

    def news(self, back: bool = False) -> Sequence[News]:
        """Report the output."""
        name = "on_remove_output" if self.added is back else "on_add_output"
        return ((name, (self.node, REVERT if back else self.reason)),)


class InputChanged(Step):
    """An input was added or removed."""

    __slots__ = ("added", "index", "reason", "var")
    callback = None

    def __init__(self, index: int, var: Variable, added: bool, reason: str | None) -> None:
        self.index, self.var, self.added, self.reason = index, var, added, reason

    def undo(self, graph: GraphStructure) -> None:
        """Remove the input, or put it back to its place."""
        if self.added:
            graph.inputs.pop()
            del graph.given[self.var]
        else:
            graph.inputs.insert(self.index, self.var)
            graph.given[self.var] = None

    def news(self, back: bool = False) -> Sequence[News]:
        """Report the input."""
        name = "on_remove_input" if self.added is back else "on_add_input"
        return ((name, (self.var, REVERT if back else self.reason)),)


class MappingChanged(Step):
    """The update mapping followed a removed input or output."""

    __slots__ = ("old",)

    def __init__(self, old: dict[int, int] | None) -> None:
        self.old = old

    def undo(self, graph: GraphStructure) -> None:
        """Put the old mapping back."""
        graph.update_mapping = self.old


class Reordered(Step):
    """The maintained order was repaired: something was changed in it, or it was found right (None)."""

    __slots__ = ("change",)

    def __init__(self, change: OrderChange | None) -> None:
        self.change = change

    def undo(self, graph: GraphStructure) -> None:
        """Put the nodes back to where they stood."""
        if self.change is not None:
            graph.order.undo(self.change)
