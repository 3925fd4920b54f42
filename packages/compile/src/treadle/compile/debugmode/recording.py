"""Recording what rewriting does to a graph: each change, and the inputs that each node came in with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from treadle.graph import Constant, Feature
from treadle.rewrite import current_run

if TYPE_CHECKING:
    from treadle.graph import Apply, FunctionGraph, Variable

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


class Change(NamedTuple):
    """One change: input `i` of `node` became `new` instead of `old`."""

    reason: str
    node: Apply
    i: int
    old: Variable
    new: Variable


class Recorder(Feature):
    """Feature that records every change of a graph, and every node that was ever in it, for one run of rewriting."""

    def __init__(self) -> None:
        self.changes: list[Change] = []  # without those that were undone
        self.nodes: dict[Apply, None] = {}
        # The first inputs of nodes at positions that were changed later.
        self._first: dict[tuple[Apply, int], Variable] = {}
        self._inputs: list[Variable] = []

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Record the nodes that are there."""
        self._inputs = list(fgraph.inputs)
        self.nodes.update(dict.fromkeys(fgraph.toposort()))

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Record a node; from now on, errors about it name the rewrite that made it."""
        self.nodes[node] = None
        if reason != "refine_types" or not hasattr(node.tag, "made_by"):
            node.tag.made_by = self._name(fgraph, reason)

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, var: Variable, new_var: Variable, reason: str | None = None
    ) -> None:
        """Record a change, or forget one that is undone."""
        if reason == "revert":
            undone = next(
                (k for k in range(len(self.changes) - 1, -1, -1) if self._is_reverse(k, node, i, new_var)), None
            )
            if undone is not None:
                del self.changes[undone]
            return
        self._first.setdefault((node, i), var)
        self.changes.append(Change(self._name(fgraph, reason), node, i, var, new_var))

    @staticmethod
    def _name(fgraph: FunctionGraph, reason: str | None) -> str:
        """Return the name of the rewrite that changes the graph."""
        if reason is not None:
            return str(reason)
        # A pass over the whole graph may give no reason.
        run = current_run(fgraph)
        return run.running if run is not None and run.running else "of an unknown name"

    def _is_reverse(self, k: int, node: Apply, i: int, old: Variable) -> bool:
        change = self.changes[k]
        return change.node is node and change.i == i and change.old is old

    def first_inputs(self, node: Apply) -> list[Variable]:
        """Return the inputs that a node came into the graph with."""
        return [self._first.get((node, i), x) for i, x in enumerate(node.inputs)]

    def script(self) -> list[str]:
        """Return a text of every change, which is the same whenever the same is done to an equal graph."""
        names: dict[Variable, str] = {var: f"input {k} of type {var.type}" for k, var in enumerate(self._inputs)}
        for k, node in enumerate(self.nodes):
            # Nodes are told apart by the order in which they came: whether that varies by chance is the question.
            head = _ADDRESS.sub("0x", f"node {k}, {node.op} of {', '.join(str(x.type) for x in node.inputs)}")
            names.update((out, f"output {o} of {head}") for o, out in enumerate(node.outputs))
        return [
            f"{c.reason}: {names.get(c.old) or _text(c.old)} became {names.get(c.new) or _text(c.new)}"
            for c in self.changes
        ]


def _text(var: Variable) -> str:
    """Return a variable without node in words."""
    name = str(var) if isinstance(var, Constant) or var.name else "variable"
    return _ADDRESS.sub("0x", f"{name} of type {var.type}")


def outline(fgraph: FunctionGraph) -> list[str]:
    """Return a text of a graph, line by line, that is the same for graphs of the same form."""
    numbers: dict[Variable, str] = {var: f"i{k}" for k, var in enumerate(fgraph.inputs)}
    lines = []
    for node in fgraph.toposort():
        inputs = ", ".join(numbers.get(x) or _text(x) for x in node.inputs)
        lines.append(_ADDRESS.sub("0x", f"{node.op}({inputs})"))
        for out in node.outputs:
            numbers[out] = f"v{len(numbers)}"
    lines.append("returns " + ", ".join(numbers.get(x) or _text(x) for x in fgraph.outputs))
    return lines
