"""An order of evaluation that is kept while a graph changes.

Edits only note what may be out of order; the next question repairs it as Pearce and Kelly 2006 do: an edge that points
backwards is searched from both ends, and only through nodes that stand between them. Here the two searches take turns,
and the one that ends first is enough: what it found is moved past the other end, which a list with labels allows. Many
edits at once are answered by one linear sort instead.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from treadle.graph.algorithms.traversal import cycle_error, order_nodes
from treadle.graph.fgraph.labelled_list import LabelledList, Slot
from treadle.graph.ir.apply import Apply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from treadle.graph.ir.variable import Variable

# A sort of the whole graph costs less per node than repairs: it is used if more than one in this many nodes waits.
REPAIRED_PART = 8


class OrderStatistics:
    """Work done to keep an order of evaluation, in counts.

    Attributes
    ----------
    repairs, rebuilds
        How often edits were repaired one by one, and how often the whole graph was sorted.
    placed
        Nodes put into the order by repairs.
    visited, edges
        Nodes that repairs looked at because an edge pointed backwards, and the edges looked at from them.
    relabelled
        Nodes that got new labels because there was no room between two.
    """

    __slots__ = ("edges", "placed", "rebuilds", "relabelled", "repairs", "visited")

    def __init__(self) -> None:
        self.repairs = self.rebuilds = self.placed = self.visited = self.edges = self.relabelled = 0

    def __repr__(self) -> str:
        return f"OrderStatistics({', '.join(f'{n}={getattr(self, n)}' for n in self.__slots__)})"


class Placed(NamedTuple):
    """Nodes were put into the order."""

    nodes: list[Apply]


class Moved(NamedTuple):
    """Nodes were moved, one after the other; these are their places before."""

    places: list[tuple[Apply, Slot]]


class Rebuilt(NamedTuple):
    """All nodes were sorted; this is the order before, and the nodes that waited to be placed."""

    sorted: list[Apply]
    places: LabelledList | None
    unplaced: dict[Apply, None]


# How to take back one repair.
OrderChange: TypeAlias = Placed | Moved | Rebuilt


class MaintainedOrder:
    """The order of a graph's nodes: those a node needs stand before it. The parameters are the graph's own tables."""

    def __init__(
        self,
        nodes: Mapping[Apply, int],
        clients: Mapping[Variable, Mapping[tuple[Apply, int], int]],
        inputs: Mapping[Variable, None],
        outputs: Sequence[Variable],
    ) -> None:
        self._nodes = nodes
        self._clients = clients
        self._inputs = inputs
        self._outputs = outputs
        # The order as a list that may still hold nodes which have left the graph, None if it must be read from the
        # places; and the places, None from a sort of the whole graph to the first repair after it.
        self._sorted: list[Apply] | None = []
        self._places: LabelledList | None = None
        # What is to be repaired: nodes without a place, edges and constraints that may point backwards.
        self._unplaced: dict[Apply, None] = {}
        self._edges: list[tuple[Variable, Apply, int]] = []
        self._constraints: list[tuple[Apply, Apply]] = []
        self._before: dict[Apply, dict[Apply, None]] = {}
        self._after: dict[Apply, dict[Apply, None]] = {}
        self.statistics = OrderStatistics()

    # Edits, each in constant time

    def add(self, nodes: Iterable[Apply]) -> None:
        """Note nodes that came into the graph."""
        self._unplaced.update(dict.fromkeys(nodes))

    def discard(self, node: Apply) -> Slot | bool:
        """Forget a node that left the graph; return for `restore` its place, or whether it has a place at all."""
        if node in self._unplaced:
            del self._unplaced[node]
            return False
        if self._places is None:
            return True
        slot = self._places.remove(node)
        self._sorted = None
        return slot if slot is not None else False

    def restore(self, node: Apply, slot: Slot | bool) -> None:
        """Take back the removal of a node; removals are taken back in reverse order."""
        if slot is True and self._places is None:
            return
        if isinstance(slot, bool) or self._places is None:
            self._unplaced[node] = None
            return
        self._places.restore(node, slot)
        self._sorted = None

    def add_edge(self, var: Variable, node: Apply, i: int) -> None:
        """Note that input `i` of a node became a variable."""
        self._edges.append((var, node, i))

    def add_constraint(self, first: Apply, second: Apply) -> None:
        """Put a node before another one, whatever the flow of data says."""
        self._after.setdefault(first, {})[second] = None
        self._before.setdefault(second, {})[first] = None
        self._constraints.append((first, second))

    def remove_constraint(self, first: Apply, second: Apply) -> None:
        """Take back `add_constraint`."""
        for table, key, other in ((self._after, first, second), (self._before, second, first)):
            neighbours = table.get(key)
            if neighbours is not None:
                neighbours.pop(other, None)
                if not neighbours:
                    del table[key]

    def forget(self) -> None:
        """Let the next question sort the whole graph."""
        self._places, self._sorted = None, []
        self._unplaced = dict.fromkeys(self._nodes)
        self._edges.clear()
        self._constraints.clear()

    # Questions

    def sequence(self, final: bool = False) -> list[Apply]:
        """Return all nodes in order, as of the last repair; if `final`, no removal will be taken back."""
        if self._sorted is None:
            self._sorted = list(self.find_places())
        if len(self._sorted) == len(self._nodes):
            return list(self._sorted)
        order = [node for node in self._sorted if node in self._nodes]
        if final:
            self._sorted = list(order)
        return order

    @property
    def is_clean(self) -> bool:
        """Whether nothing waits to be repaired."""
        return not (self._unplaced or self._edges or self._constraints)

    def find_places(self) -> LabelledList:
        """Give every node a place after a sort of the whole graph, unless that is done; return the places."""
        if self._places is None:
            unplaced, order = self._unplaced, self._sorted or ()
            self._places = LabelledList(node for node in order if node in self._nodes and node not in unplaced)
            self._sorted = None
        return self._places

    # Repair

    def repair(self, log: list[OrderChange] | None = None) -> None:
        """Bring the order up to date; `log` takes what `undo` needs. A cycle is raised until an edit has broken it."""
        if self.is_clean:
            return
        waiting = len(self._unplaced) + len(self._edges) + len(self._constraints)
        if waiting * REPAIRED_PART > len(self._nodes) or not self._repair_each(log):
            self._rebuild(log)

    def _repair_each(self, log: list[OrderChange] | None) -> bool:
        """Repair edit by edit; False if that becomes more work than a sort."""
        self.statistics.repairs += 1
        relabelled = self.find_places().relabelled
        if self._unplaced:
            self._place_new(log)
        limit = self.statistics.visited + len(self._nodes)
        while self._edges:
            var, node, i = self._edges[-1]
            if var.owner is not None and node.inputs[i] is var and var not in self._inputs:
                self._put_before(var.owner, node, log)
            self._edges.pop()
            if self.statistics.visited > limit:
                return False
        while self._constraints:
            first, second = self._constraints[-1]
            if second in self._after.get(first, ()):
                self._put_before(first, second, log)
            self._constraints.pop()
            if self.statistics.visited > limit:
                return False
        self.statistics.relabelled += self.find_places().relabelled - relabelled
        return True

    def _place_new(self, log: list[OrderChange] | None) -> None:
        """Put each new node before the first one that uses it, the last new one first."""
        places, inputs = self.find_places(), self._inputs
        slots = places.slots
        outs = [out for node in self._unplaced for out in node.outputs]
        new = order_nodes(outs, lambda var: var.owner in slots or var in inputs)
        for node in reversed(new):
            users = (slots[user] for user in self._successors(node))
            places.insert(node, min(users, key=attrgetter("label"), default=None))
        self.statistics.placed += len(new)
        self._unplaced.clear()
        self._sorted = None
        for node in new:
            self._edges.extend((var, node, i) for i, var in enumerate(node.inputs) if var.owner is not None)
        if log is not None:
            log.append(Placed(new))

    # The search from both ends

    def _successors(self, node: Apply) -> Iterator[Apply]:
        slots, inputs = self.find_places().slots, self._inputs
        for out in node.outputs:
            if out not in inputs:
                for user, _ in self._clients[out]:
                    if user in slots:
                        yield user
        for second in self._after.get(node, ()):
            if second in slots:
                yield second

    def _predecessors(self, node: Apply) -> Iterator[Apply]:
        slots, inputs = self.find_places().slots, self._inputs
        for var in node.inputs:
            if var.owner is not None and var.owner in slots and var not in inputs:
                yield var.owner
        for first in self._before.get(node, ()):
            if first in slots:
                yield first

    def _put_before(self, first: Apply, second: Apply, log: list[OrderChange] | None) -> None:
        """Make sure that a node stands before another one, moving only nodes between them."""
        places = self.find_places()
        slots = places.slots
        if first not in slots or second not in slots:
            return
        low, high = slots[second].label, slots[first].label
        if high < low:
            return
        if first is second:
            raise cycle_error([first])
        ahead: dict[Apply, Apply | None] = {second: None}
        behind: dict[Apply, Apply | None] = {first: None}
        searches = (
            self._search(second, first, True, high, ahead),
            self._search(first, second, False, low, behind),
        )
        at = 0
        while next(searches[at], None) is not None:
            at = 1 - at
        if at == 0:
            moved, target = sorted(ahead, key=self._label), slots[first].following
        else:
            moved, target = sorted(behind, key=self._label), slots[second]
        old = []
        for node in moved:
            slot = places.remove(node)
            if slot is not None:
                old.append((node, slot))
            places.insert(node, target)
        if log is not None:
            log.append(Moved(old))
        self._sorted = None

    def _label(self, node: Apply) -> int:
        return self.find_places().slots[node].label

    def _search(
        self, start: Apply, target: Apply, forward: bool, limit: int, reached: dict[Apply, Apply | None]
    ) -> Iterator[Apply]:
        """Find nodes that need `start` and stand before a label, or that it needs and stand behind; yield at each edge.

        Each node reached is noted with the one that led to it. A path to `target` is a cycle.
        """
        slots, count = self.find_places().slots, self.statistics
        neighbours = self._successors if forward else self._predecessors
        pending = [start]
        while pending:
            node = pending.pop()
            count.visited += 1
            for other in neighbours(node):
                count.edges += 1
                if other is target:
                    path = _path(node, reached)
                    raise cycle_error([*path[::-1], target] if forward else [target, *path])
                label = slots[other].label
                if other not in reached and (label < limit if forward else label > limit):
                    reached[other] = node
                    pending.append(other)
                yield other

    # The sort of the whole graph

    def _rebuild(self, log: list[OrderChange] | None) -> None:
        order = self._sort()
        self.statistics.rebuilds += 1
        if log is not None:
            log.append(Rebuilt(self._sorted or [], self._places, dict(self._unplaced)))
        self._places, self._sorted = None, order
        self._unplaced.clear()
        self._edges.clear()
        self._constraints.clear()

    def _sort(self) -> list[Apply]:
        """Return the nodes in order: depth first from the outputs, then those that no output needs."""
        inputs, before = self._inputs, self._before
        is_input = inputs.__contains__ if inputs else None
        order = order_nodes(self._outputs, is_input, before)
        if len(order) < len(self._nodes):
            unneeded = (out for node in self._nodes for out in node.outputs)
            order = order_nodes([*self._outputs, *unneeded], is_input, before)
        if len(order) > len(self._nodes):
            # A constraint may name a node that has left the graph.
            order = [node for node in order if node in self._nodes]
        return order

    # Taking back repairs

    def undo(self, change: OrderChange) -> None:
        """Take back one repair; changes are taken back in reverse order."""
        if isinstance(change, Placed):
            for node in reversed(change.nodes):
                self.find_places().remove(node)
                self._unplaced[node] = None
            self._sorted = None
        elif isinstance(change, Moved):
            places = self.find_places()
            for node, slot in reversed(change.places):
                places.remove(node)
                places.restore(node, slot)
            self._sorted = None
        else:
            self._sorted = None if change.places is not None else change.sorted
            self._places, self._unplaced = change.places, change.unplaced

    def settle(self) -> None:
        """Declare that nothing is out of order: the graph is as it was when this was known."""
        if self._unplaced:
            self.forget()
        self._edges.clear()
        self._constraints.clear()


def _path(node: Apply, reached: dict[Apply, Apply | None]) -> list[Apply]:
    """Return the nodes from one that a search found back to where it began."""
    path = [node]
    while (before := reached[path[-1]]) is not None:
        path.append(before)
    return path
