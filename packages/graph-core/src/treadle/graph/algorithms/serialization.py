"""Pickling graphs without recursion: all variables in one pickle share flat records.

A pickler keeps every object it has written alive. So a record made for the first variable of a graph is found again
(through weak references, per thread) when the pickler meets another variable of the same graph, and identity across
them holds. A variable beyond the records known makes a new one, which refers to the earlier ones.
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

# One node on the wire: op, inputs (positions among the record's variables), outputs, line, tag.
_OutputState = tuple[type[Variable], Any, "str | None", "ScratchPad | None", tuple[Variable, ...]]
_NodeState = tuple["Op", tuple[int, ...], tuple[_OutputState, ...], "UserLine | None", "ScratchPad | None"]


class GraphRecord:
    """A flat list of variables and nodes: what is given first, then the outputs of each node in order."""

    __slots__ = ("__weakref__", "given", "nodes", "variable_positions", "variables")

    def __init__(self, given: Sequence[Variable], nodes: Sequence[Apply]) -> None:
        self.given = list(given)
        self.nodes = list(nodes)
        self.variables = [*given, *(out for node in nodes for out in node.outputs)]
        self.variable_positions = {var: i for i, var in enumerate(self.variables)}

    def __reduce__(self) -> tuple[object, ...]:
        position = self.variable_positions
        states: list[_NodeState] = [
            (
                node.op,
                tuple(position[v] for v in node.inputs),
                tuple(
                    (type(out), out.type, out.name, out._tag, named_inputs(out.written_with)) for out in node.outputs
                ),
                node.user_line,
                node._tag,
            )
            for node in self.nodes
        ]
        return _restore_record, (self.given, states)


def _restore_record(given: Sequence[Variable], states: Sequence[_NodeState]) -> GraphRecord:
    variables = list(given)
    nodes = []
    for op, inputs, outputs, line, tag in states:
        made = [kind(of_type, None, None, name) for kind, of_type, name, _, _ in outputs]
        for out, (_, _, _, out_tag, sources) in zip(made, outputs, strict=True):
            out.tag = out_tag
            out.written_with = sources
        node = Apply(op, [variables[i] for i in inputs], made)
        node.user_line = line
        node.tag = tag
        nodes.append(node)
        variables += made
    return GraphRecord(given, nodes)


class _LiveRecords(threading.local):
    """Where the computed variables are that a pickler of this thread still keeps alive, by identity."""

    def __init__(self) -> None:
        self.places: dict[int, tuple[weakref.ref[GraphRecord], int]] = {}
        self.references: set[weakref.ref[GraphRecord]] = set()

    def add(self, record: GraphRecord) -> None:
        """Remember a record's computed variables until the record dies."""
        start = len(record.given)
        identities = [id(v) for v in record.variables[start:]]
        places, references = self.places, self.references

        def forget(ref: weakref.ref[GraphRecord]) -> None:
            references.discard(ref)
            for identity in identities:
                places.pop(identity, None)

        ref = weakref.ref(record, forget)
        references.add(ref)
        places.update((identity, (ref, start + i)) for i, identity in enumerate(identities))

    def __contains__(self, var: object) -> bool:
        return id(var) in self.places

    def find(self, var: Variable) -> tuple[GraphRecord, int] | None:
        """Return the record that holds the variable, and its position there."""
        place = self.places.get(id(var))
        if place is None:
            return None
        record = place[0]()
        return None if record is None else (record, place[1])


_LIVE = _LiveRecords()


def _record_of(var: Variable) -> tuple[GraphRecord, int]:
    found = _LIVE.find(var)
    if found is not None:
        return found
    nodes = order_nodes([var], _LIVE.__contains__)
    inside = {out for node in nodes for out in node.outputs}
    given = dict.fromkeys(v for node in nodes for v in node.inputs if v not in inside)
    record = GraphRecord(list(given), nodes)
    _LIVE.add(record)
    return record, record.variable_positions[var]


def _variable_at(record: GraphRecord, position: int) -> Variable:
    return record.variables[position]


def _reduce_variable(var: Variable) -> tuple[object, ...]:
    return _variable_at, _record_of(var)


def _node_at(record: GraphRecord, position: int) -> Apply:
    # A record's computed variables always have owners.
    owner: Any = record.variables[position].owner
    node: Apply = owner
    return node


def _sink(op: Op, inputs: Sequence[Variable], line: UserLine | None, tag: ScratchPad | None) -> Apply:
    node = Apply(op, inputs, [])
    node.user_line, node.tag = line, tag
    return node


def _reduce_node(node: Apply) -> tuple[object, ...]:
    if not node.outputs:
        return _sink, (node.op, list(node.inputs), node.user_line, node._tag)
    return _node_at, _record_of(node.outputs[0])


Variable.reducer = staticmethod(_reduce_variable)
Apply.reducer = staticmethod(_reduce_node)
