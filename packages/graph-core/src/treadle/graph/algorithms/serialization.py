"""Pickling graphs without recursion: all variables in one pickle share flat records.

A pickler keeps every object it has written alive. So a record made for the first variable of a graph is found again
(through weak references, per thread) when the pickler meets another variable of the same graph, and identity across
them holds. A variable in no record yet gets a new one, which refers to the earlier ones.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

from treadle.graph.algorithms.origins import named_inputs
from treadle.graph.algorithms.traversal import order_nodes
from treadle.graph.ir.apply import Apply
from treadle.graph.ir.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph.diagnostics.provenance import UserLine
    from treadle.graph.ir.op import Op
    from treadle.graph.ir.variable import ScratchPad

# The outputs of one node: class, type and name, from which they are created before their owner is known.
_Kinds = tuple[tuple[type[Variable], Any, "str | None"], ...]
# Tag, origins and the user's attributes (None for none) of each output of a node, set afterwards.
_Notes = tuple[tuple["ScratchPad | None", tuple[Variable, ...], "dict[str, object] | None"], ...]
# One node: op, inputs (as positions: first the record's inputs, then computed variables), outputs' notes, line, tag.
_NodeState = tuple["Op", tuple[int, ...], _Notes, "UserLine | None", "ScratchPad | None"]


class GraphRecord:
    """A flat list of nodes in order, and of the variables that they compute.

    It is restored in two steps: first nodes and variables without connections, then the connections. So whatever is
    pickled with the graph may refer to any of its variables: a shared variable to its default update, a tag to a later
    variable.
    """

    __slots__ = ("__weakref__", "nodes", "variables")

    def __init__(self, nodes: Sequence[Apply], variables: Sequence[Variable]) -> None:
        self.nodes = list(nodes)
        self.variables = list(variables)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the variables' kinds; what they are computed from is the state, which may refer back to the record."""
        computed = {id(var) for var in self.variables}
        inputs = list(dict.fromkeys(v for node in self.nodes for v in node.inputs if id(v) not in computed))
        position = {var: i for i, var in enumerate([*inputs, *self.variables])}
        states: list[_NodeState] = [
            (
                node.op,
                tuple(position[v] for v in node.inputs),
                tuple((out._tag, named_inputs(out.written_with), vars(out) or None) for out in node.outputs),
                node.user_line,
                node._tag,
            )
            for node in self.nodes
        ]
        kinds: list[_Kinds] = [tuple((type(v), v.type, v.name) for v in node.outputs) for node in self.nodes]
        return _blank_record, (kinds,), (inputs, states, [len(node.outputs) for node in self.nodes])

    def __setstate__(self, state: tuple[Sequence[Variable], Sequence[_NodeState], Sequence[int]]) -> None:
        """Join nodes and variables."""
        inputs, states, sizes = state
        variables = [*inputs, *self.variables]
        end = len(inputs)
        for node, size, (op, places, notes, line, tag) in zip(self.nodes, sizes, states, strict=True):
            outputs = variables[end : end + size]
            end += size
            for out, (out_tag, sources, attributes) in zip(outputs, notes, strict=True):
                out.tag = out_tag
                out.written_with = sources
                if attributes is not None:
                    vars(out).update(attributes)
            Apply.__init__(node, op, [variables[i] for i in places], outputs)
            node.user_line = line
            node.tag = tag


def _blank_record(kinds: Sequence[_Kinds]) -> GraphRecord:
    """Return a record whose nodes and variables are not connected yet."""
    variables = [kind(of_type, None, None, name) for outputs in kinds for kind, of_type, name in outputs]
    return GraphRecord([Apply.__new__(Apply) for _ in kinds], variables)


class _LiveRecords(threading.local):
    """Records that picklers of this thread keep alive, with the places in them of variables and nodes, by id."""

    def __init__(self) -> None:
        self.places: dict[int, tuple[weakref.ref[GraphRecord], int]] = {}
        self.references: set[weakref.ref[GraphRecord]] = set()

    def add(self, record: GraphRecord) -> dict[int, int]:
        """Remember a record's variables and nodes until the record dies; return their positions by identity."""
        places, references = self.places, self.references
        positions = {id(thing): i for things in (record.variables, record.nodes) for i, thing in enumerate(things)}

        def forget(ref: weakref.ref[GraphRecord]) -> None:
            references.discard(ref)
            for identity in positions:
                places.pop(identity, None)

        ref = weakref.ref(record, forget)
        references.add(ref)
        places.update((identity, (ref, i)) for identity, i in positions.items())
        return positions

    def __contains__(self, var: object) -> bool:
        return id(var) in self.places

    def find(self, thing: Variable | Apply) -> tuple[GraphRecord, int] | None:
        """Return the record that holds a variable or node, and its position there."""
        place = self.places.get(id(thing))
        if place is None:
            return None
        record = place[0]()
        return None if record is None else (record, place[1])


_LIVE = _LiveRecords()


def _record_of(var: Variable, thing: Variable | Apply) -> tuple[GraphRecord, int]:
    """Return the record of what a variable is computed from, and where in it the variable or its node is."""
    place = _LIVE.find(thing)
    if place is not None:
        return place
    nodes = order_nodes([var], _LIVE.__contains__)
    record = GraphRecord(nodes, [out for node in nodes for out in node.outputs])
    return record, _LIVE.add(record)[id(thing)]


def _variable_at(record: GraphRecord, position: int) -> Variable:
    return record.variables[position]


def _reduce_variable(var: Variable) -> tuple[object, ...]:
    return _variable_at, _record_of(var, var)


def _node_at(record: GraphRecord, position: int) -> Apply:
    return record.nodes[position]


def _sink(op: Op, inputs: Sequence[Variable], line: UserLine | None, tag: ScratchPad | None) -> Apply:
    node = Apply(op, inputs, [])
    node.user_line, node.tag = line, tag
    return node


def _reduce_node(node: Apply) -> tuple[object, ...]:
    if not node.outputs:
        return _sink, (node.op, list(node.inputs), node.user_line, node._tag)
    return _node_at, _record_of(node.outputs[0], node)


Variable.reducer = staticmethod(_reduce_variable)
Apply.reducer = staticmethod(_reduce_node)
