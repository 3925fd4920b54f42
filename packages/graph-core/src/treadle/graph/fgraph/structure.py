"""The tables of a changeable graph: users of variables, order of evaluation, and a journal to undo every step."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from treadle.graph.errors import CycleError
from treadle.graph.fgraph.journal import (
    Changed,
    ClientListed,
    Imported,
    InputChanged,
    Listed,
    MappingChanged,
    OutputChanged,
    Pruned,
    Reordered,
    Step,
)
from treadle.graph.fgraph.order import MaintainedOrder
from treadle.graph.ir.apply import Apply
from treadle.graph.ir.op import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph.fgraph.order import OrderChange
    from treadle.graph.ir.thunk import Cell, Value
    from treadle.graph.ir.variable import Variable

Client = tuple[Apply, int]


class Output(Op):
    """Stand-in client of a graph's output; it computes nothing and is never among the graph's nodes.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> fgraph = treadle.graph.FunctionGraph([x], [tt.exp(x)])
    >>> [(str(client.op), position) for client, position in fgraph.clients[fgraph.outputs[0]]]
    [('Output(idx=0)', 0)]
    """

    __props__ = ("idx",)

    def __init__(self, idx: int) -> None:
        self.idx = idx

    def make_node(self, *inputs: Variable) -> Apply:
        """Return the stand-in node of one output variable."""
        return Apply(self, inputs, [])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Do nothing: there are no outputs to compute."""


class Clients(dict[Client, int]):
    """The users of a variable: pairs of a node and the position of its input, the oldest first.

    Reads like the list of pairs: ``clients[0]``, ``len(clients)``, ``for node, i in clients``; whether a pair is
    among them is found in constant time.
    """

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        """Return the client at a position; for a pair, its serial number."""
        if isinstance(key, int | slice):
            return list(self)[key]
        return super().__getitem__(key)

    def __eq__(self, other: object) -> bool:
        """Compare with a list of pairs in order, or with other clients as sets."""
        if isinstance(other, list):
            return list(self) == other
        return self.keys() == other.keys() if isinstance(other, Clients) else NotImplemented

    __hash__ = None

    def __repr__(self) -> str:
        return repr(list(self))


class GraphStructure:
    """Inputs, outputs, nodes and clients of a graph, without features and without checks."""

    def __init__(self) -> None:
        self.inputs: list[Variable] = []
        self.outputs: list[Variable] = []
        # The inputs, for quick lookup.
        self.given: dict[Variable, None] = {}
        # The stand-in client of each output.
        self.output_nodes: list[Apply] = []
        # Every variable of the graph, with its users.
        self.clients: dict[Variable, Clients] = {}
        # Every node, with a serial number: the higher, the later it came.
        self.nodes: dict[Apply, int] = {}
        self.order = MaintainedOrder(self.nodes, self.clients, self.given, self.outputs)
        # The steps done since it was last emptied.
        self.journal: list[Step] = []
        # How many histories and open edits need repairs of the order journalled.
        self.keeping = 0
        # Which output is the new value of which input, by position.
        self.update_mapping: dict[int, int] | None = None
        # Tables in which something was put back, so that their order must be restored before it is looked at.
        self.disordered: set[Variable] = set()
        self.nodes_disordered = False
        self._serial = 0
        # Places in the journal at which the order was up to date, the latest last.
        self._clean_marks: list[int] = []
        # Whether a repair of the order was taken back.
        self._reordered = False

    # Steps forward

    def add_variable(self, var: Variable) -> None:
        """Enter a variable that nothing uses yet."""
        if var not in self.clients:
            self.clients[var] = Clients()

    def list_variable(self, var: Variable) -> None:
        """Enter a variable without owner, or an input, and journal that."""
        if var not in self.clients:
            table = self.clients[var] = Clients()
            self.journal.append(Listed(var, table, entered=True))

    def import_nodes(self, new_nodes: Sequence[Apply], reason: str | None) -> None:
        """Bring in nodes, each after those it needs."""
        clients, nodes = self.clients, self.nodes
        serial = self._serial
        new_variables: list[Variable] = []
        for node in new_nodes:
            for out in node.outputs:
                if out not in clients:
                    clients[out] = Clients()
                    new_variables.append(out)
            for i, x in enumerate(node.inputs):
                table = clients.get(x)
                if table is None:
                    table = clients[x] = Clients()
                    new_variables.append(x)
                serial += 1
                table[node, i] = serial
            nodes[node] = serial = serial + 1
        self._serial = serial
        self.order.add(new_nodes)
        self.journal.append(Imported(new_nodes, new_variables, reason))

    def change_input(self, node: Apply, i: int, new: Variable, reason: str | None) -> None:
        """Put a variable of the graph in place of an input; the old one is left for `prune`."""
        old = node.inputs[i]
        self._serial += 1
        self.clients[new][node, i] = self._serial
        serial = self.clients[old].pop((node, i))
        self.set_input(node, i, new)
        if new.owner is not None and node.outputs:
            self.order.add_edge(new, node, i)
        self.journal.append(Changed(node, i, old, new, serial, reason))

    def set_input(self, node: Apply, i: int, var: Variable) -> None:
        """Set an input, and the output that the node stands for."""
        node.inputs[i] = var
        if not node.outputs and isinstance(node.op, Output):
            self.outputs[node.op.idx] = var

    def prune(self, var: Variable, reason: str | None) -> None:
        """Remove what nothing uses any more, beginning with a variable; nodes that compute inputs count as unused."""
        clients, nodes, inputs = self.clients, self.nodes, self.given
        pending = [var]
        while pending:
            unused = pending.pop()
            table = clients.get(unused)
            if table is None or (table and unused not in inputs):
                continue
            node = unused.owner
            if node is None or node not in nodes:
                if unused not in inputs:
                    del clients[unused]
                    self.journal.append(Listed(unused, table, entered=False))
                continue
            if len(node.outputs) > 1 and any(clients[out] and out not in inputs for out in node.outputs):
                continue
            self._drop(node, reason)
            pending.extend(node.inputs)

    def _drop(self, node: Apply, reason: str | None) -> None:
        clients, given = self.clients, self.given
        removed: list[Variable] = []
        for out in node.outputs:
            if out not in given:
                del clients[out]
                removed.append(out)
        serials = [clients[x].pop((node, i)) for i, x in enumerate(node.inputs)]
        serial = self.nodes.pop(node)
        self.journal.append(Pruned(node, serial, serials, removed, self.order.discard(node), reason))

    def set_client(self, var: Variable, node: Apply, i: int, listed: bool) -> None:
        """List a client, or strike it off."""
        if listed:
            self._serial += 1
            self.clients[var][node, i] = serial = self._serial
        else:
            serial = self.clients[var].pop((node, i))
        self.journal.append(ClientListed(var, node, i, serial, entered=listed))

    def add_output(self, var: Variable, reason: str | None) -> None:
        """Add a variable of the graph as the last output."""
        index = len(self.outputs)
        node = Apply(Output(index), [var], [])
        self.outputs.append(var)
        self.output_nodes.append(node)
        self._serial += 1
        self.clients[var][node, 0] = self._serial
        self.journal.append(OutputChanged(index, node, var, self._serial, True, reason))

    def remove_output(self, index: int, reason: str | None) -> None:
        """Remove an output; what it alone needed is left for `prune`."""
        var, node = self.outputs.pop(index), self.output_nodes.pop(index)
        serial = self.clients[var].pop((node, 0))
        self.number_outputs(index)
        self.journal.append(OutputChanged(index, node, var, serial, False, reason))
        self._set_mapping({_moved(o, index): i for o, i in (self.update_mapping or {}).items() if o != index})

    def number_outputs(self, start: int) -> None:
        """Renumber the stand-ins from a position on."""
        for index in range(start, len(self.output_nodes)):
            self.output_nodes[index].op = Output(index)

    def add_input(self, var: Variable, reason: str | None) -> None:
        """Make a variable an input."""
        self.list_variable(var)
        self.inputs.append(var)
        self.given[var] = None
        self.journal.append(InputChanged(len(self.inputs) - 1, var, True, reason))

    def remove_input(self, index: int, reason: str | None) -> None:
        """Remove an input."""
        var = self.inputs.pop(index)
        del self.given[var]
        self.journal.append(InputChanged(index, var, False, reason))
        self._set_mapping({o: _moved(i, index) for o, i in (self.update_mapping or {}).items() if i != index})

    def _set_mapping(self, mapping: dict[int, int]) -> None:
        if self.update_mapping is not None and self.update_mapping != mapping:
            self.journal.append(MappingChanged(self.update_mapping))
            self.update_mapping = mapping

    # Order

    def repair(self) -> None:
        """Bring the order of evaluation up to date (see `MaintainedOrder.repair`)."""
        if not self.keeping:
            self.order.repair()
            return
        if self.order.is_clean:
            return
        self.journal.append(Reordered(None))
        log: list[OrderChange] = []
        try:
            self.order.repair(log)
        finally:
            self.journal.extend(map(Reordered, log))

    def sorted_clients(self, var: Variable) -> list[Client]:
        """Return the users of a variable, the oldest first."""
        if var in self.disordered:
            self.disordered.discard(var)
            table = self.clients[var]
            _sort(table)
        return list(self.clients[var])

    def sorted_nodes(self) -> dict[Apply, int]:
        """Return the nodes, the oldest first."""
        if self.nodes_disordered:
            self.nodes_disordered = False
            _sort(self.nodes)
        return self.nodes

    # Steps back

    def relist(self, var: Variable, node: Apply, i: int, serial: int) -> None:
        """List a client again that was struck off."""
        table = self.clients[var]
        if table and next(reversed(table.values())) > serial:
            self.disordered.add(var)
        table[node, i] = serial

    def mark(self) -> int:
        """Return the place in the journal, with the order of evaluation up to date if there is one."""
        try:
            self.repair()
        except CycleError:
            return len(self.journal)
        # Only places, not a list, are restored exactly.
        self.order.find_places()
        self.note_order()
        return len(self.journal)

    def note_order(self) -> None:
        """Note that the order of evaluation is up to date at this place in the journal."""
        place = len(self.journal)
        if not self._clean_marks or self._clean_marks[-1] != place:
            self._clean_marks.append(place)

    def forget_marks(self) -> None:
        """Forget at which places in the journal the order is known."""
        self._clean_marks.clear()

    def undo_last(self) -> Step:
        """Take back the last step, and return it."""
        step = self.journal.pop()
        step.undo(self)
        self._reordered = self._reordered or isinstance(step, Reordered)
        return step

    def settle(self, mark: int) -> None:
        """Bring the order in line after every step behind a place in the journal was taken back."""
        while self._clean_marks and self._clean_marks[-1] > mark:
            self._clean_marks.pop()
        if self._clean_marks and self._clean_marks[-1] == mark:
            self.order.settle()
        elif self._reordered:
            self.order.forget()
        self._reordered = False

    def clear_journal(self) -> None:
        """Forget all steps, so that they cannot be undone."""
        self.journal.clear()
        self._clean_marks.clear()


def _moved(place: int, removed: int) -> int:
    return place - (place > removed)


def _sort(table: dict[Any, int]) -> None:
    """Bring a table into the order of its serial numbers."""
    items = sorted(table.items(), key=itemgetter(1))
    table.clear()
    table.update(items)
