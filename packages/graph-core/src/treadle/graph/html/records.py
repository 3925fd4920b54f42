"""A graph as plain data: what the page shows of every node, in a form that goes into JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from treadle.config import text_of
from treadle.graph.algorithms.traversal import order_nodes
from treadle.graph.errors import GraphTypeError
from treadle.graph.fgraph.abstract_graph import AbstractFunctionGraph
from treadle.graph.ir.apply import Apply
from treadle.graph.ir.inner_graph import HasInnerGraph
from treadle.graph.ir.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from treadle.graph.ir.op import Op

_LONGEST = 300

as_text = partial(text_of, write=str, longest=_LONGEST)

# An object of JSON.
Json = dict[str, Any]


class _Table:
    """Rows that many boxes share, each written once."""

    def __init__(self) -> None:
        self.rows: list[object] = []
        self._alive: list[object] = []  # keeps things alive, so that their ids are not reused
        self._keys: dict[Hashable, int] = {}
        self._texts: dict[str, int] = {}

    def of(self, item: Any, row: Callable[[Any], Any]) -> int:
        """Return the number of a thing's row; things are compared by identity.

        Comparing ops and types may be slow, or fail, for third-party classes.
        """
        if id(item) not in self._keys:
            self._alive.append(item)
        return self.number(id(item), lambda: row(item))

    def number(self, key: Hashable, row: Callable[[], object]) -> int:
        """Return the number of the row for a key, which is made when the key is new; equal rows are one."""
        position = self._keys.get(key)
        if position is None:
            content = row()
            position = self._keys[key] = self._texts.setdefault(repr(content), len(self.rows))
            if position == len(self.rows):
                self.rows.append(content)
        return position


def _parameter(value: object) -> str:
    """Return a static parameter as text: a dataclass with a name by class and name, anything else by its repr."""
    name = getattr(value, "name", None)
    if isinstance(name, str) and hasattr(value, "__dataclass_fields__"):
        return f"{type(value).__name__}({as_text(name)})"
    # Addresses differ from one run to the next.
    return re.sub(r" at 0x[0-9a-fA-F]+", "", as_text(value, write=repr, longest=4 * _LONGEST))[:_LONGEST]


def _op_row(op: Op) -> Json:
    fields = getattr(op, "__dataclass_fields__", None)
    names: Iterable[str] = (n for n, f in fields.items() if f.compare) if fields is not None else op.__props__ or ()
    parameters = [[name, _parameter(getattr(op, name, None))] for name in names]
    row: dict[str, object] = {"name": as_text(op), "class": type(op).__name__}
    if parameters:
        row["parameters"] = parameters
    for title, changed in (("overwrites", op.destroy_map), ("views", op.view_map)):
        if changed:
            row[title] = as_text(changed)
    return row


def _type_row(kind: object) -> Json:
    row: dict[str, object] = {"text": as_text(kind)}
    dtype, shape = getattr(kind, "dtype", None), getattr(kind, "shape", None)
    if dtype is not None:
        row["dtype"] = as_text(dtype)
    if isinstance(shape, tuple):
        lengths = ["?" if length is None else as_text(length) for length in shape]
        row["shape"] = f"({', '.join(lengths)}{',' if len(lengths) == 1 else ''})"
    return row


class Record:
    """A graph as plain data: tables of ops, types, lines and scopes, and the graphs, the outer one first.

    A graph is a list of boxes; an op's inner graph is another of the graphs, shared by all nodes of the op.
    """

    def __init__(self, name: str, profile: Mapping[Apply, float]) -> None:
        # The place of each node's and leaf's box in the outer graph.
        self.boxes: dict[Apply | Variable, int] = {}
        self._profile = profile
        self._ops, self._types, self._lines, self._scopes = _Table(), _Table(), _Table(), _Table()
        # Positions of the graphs inside ops, in the order in which the ops were met.
        self._inner: dict[int, int] = {}
        self._holders: list[HasInnerGraph] = []
        self.graphs: list[Json] = []
        self.data: Json = {
            "name": name,
            "ops": self._ops.rows,
            "types": self._types.rows,
            "lines": self._lines.rows,
            "scopes": self._scopes.rows,
            "graphs": self.graphs,
        }

    def add(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], order: Iterable[Apply], names: Mapping[int, str]
    ) -> None:
        """Add the outer graph, then the graphs inside its ops, and those inside them."""
        self.boxes = self._graph(inputs, outputs, order, names)
        for op in self._holders:  # grows on the way
            self._graph(op.inner_inputs, op.inner_outputs, order_nodes(op.inner_outputs, None), {})

    def _graph(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], order: Iterable[Apply], names: Mapping[int, str]
    ) -> dict[Apply | Variable, int]:
        boxes: list[dict[str, object]] = []
        places: dict[Apply | Variable, int] = {}
        graph_inputs = set(inputs)

        def source(var: Variable) -> list[int]:
            if var not in graph_inputs and var.owner in places:
                return [places[var.owner], var.index or 0]
            place = places.get(var)
            if place is None:
                place = places[var] = len(boxes)
                boxes.append(self._leaf(var))
            return [place, 0]

        starts = [source(var)[0] for var in inputs]
        for node in order:
            wires = [number for var in node.inputs for number in source(var)]
            places[node] = len(boxes)
            boxes.append(self._node(node, wires))
        ends = []
        for i, var in enumerate(outputs):
            box: dict[str, object] = {
                "kind": "output",
                "in": source(var),
                "name": names.get(i, var.name or f"output {i}"),
            }
            if i in names:
                box["update"] = True
            ends.append(len(boxes))
            boxes.append(box)
        self.graphs.append({"boxes": boxes, "inputs": starts, "outputs": ends})
        return places

    def _leaf(self, var: Variable) -> Json:
        kind = self._type(var)
        if isinstance(var, Constant):
            return {"kind": "constant", "name": as_text(var), "out": [[kind]]}
        state = "shared" if getattr(var, "container", None) is not None else "input"
        return {"kind": state, "name": as_text(var), "out": [[kind]]}

    def _node(self, node: Apply, wires: list[int]) -> Json:
        op = node.op
        box: Json = {"kind": "op", "op": self._ops.of(op, _op_row), "in": wires}
        box["out"] = [
            [self._type(var)] if var.name is None else [self._type(var), as_text(var.name)] for var in node.outputs
        ]
        line = node.user_line
        if line is not None and line.line:
            box["line"] = self._lines.number(
                (line.file, line.line), lambda: {"file": line.file, "line": line.line, "text": as_text(line.text)}
            )
        scope = getattr(node, "scope", None)
        if scope:
            box["scope"] = self._scopes.number(scope, lambda: as_text(scope))
        seconds = self._profile.get(node)
        if seconds is not None:
            box["seconds"] = float(seconds)
        if isinstance(op, HasInnerGraph):
            box["inner"] = self._inner_number(op)
        return box

    def _type(self, var: Variable) -> int:
        return self._types.of(var.type, _type_row)

    def _inner_number(self, op: HasInnerGraph) -> int:
        number = self._inner.get(id(op))
        if number is None:
            self._holders.append(op)
            number = self._inner[id(op)] = len(self._holders)
        return number


def _graph_of(value: object) -> AbstractFunctionGraph | None:
    """Return a function graph, or that of a compiled function; None for anything else."""
    fgraph = getattr(getattr(value, "maker", None), "fgraph", value)
    return fgraph if isinstance(fgraph, AbstractFunctionGraph) else None


def _roots(value: object) -> list[Variable]:
    """Return the variables of a variable, a node, or a list of both."""
    roots: list[Variable] = []
    for item in value if isinstance(value, list | tuple) and value else [value]:
        if not isinstance(item, Variable | Apply):
            msg = (
                f"graph page: a variable, node, graph, function or list of variables is needed, got {item!r}. Pass one."
            )
            raise GraphTypeError(msg)
        roots += [item] if isinstance(item, Variable) else item.outputs
    return roots


def _updated(function: object, fgraph: AbstractFunctionGraph) -> dict[int, str]:
    """Return the names of the inputs that outputs update, by output."""
    mapping: Mapping[int, int] | None = getattr(fgraph, "update_mapping", None)
    if mapping:
        return {out: as_text(fgraph.inputs[i]) for out, i in mapping.items()}
    updates = getattr(getattr(getattr(function, "maker", None), "specification", None), "updates", ())
    cells = {getattr(var, "container", None): as_text(var) for var in fgraph.inputs}
    first = len(fgraph.outputs) - len(updates)
    return {first + i: cells.get(cell, "state") for i, (cell, _) in enumerate(updates)}


def _seconds(profile: object) -> dict[Apply, float]:
    """Return seconds by node from a mapping, or from what has one as ``apply_time``; keys may be (graph, node)."""
    times = getattr(profile, "apply_time", profile)
    if times is None:
        return {}
    if not isinstance(times, Mapping):
        msg = f"graph page: profile must map nodes to seconds, got {times!r}. Pass a dictionary or a profile."
        raise GraphTypeError(msg)
    return {(key[1] if isinstance(key, tuple) else key): float(value) for key, value in times.items()}


def record(graph: object, name: str | None = None, profile: object = None) -> Record:
    """Write a graph as plain data, in time linear in its size."""
    fgraph = _graph_of(graph)
    outputs = list(fgraph.outputs) if fgraph is not None else _roots(graph)
    if name is None:
        name = next((n for n in (getattr(graph, "name", None), *(v.name for v in outputs)) if n), "graph")
    graph_record = Record(as_text(name), _seconds(profile))
    if fgraph is not None:
        graph_record.add(fgraph.inputs, outputs, fgraph.toposort(), _updated(graph, fgraph))
    else:
        graph_record.add([], outputs, order_nodes(outputs, None), {})
    return graph_record
