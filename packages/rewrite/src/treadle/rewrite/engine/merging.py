"""Merging: equal computations become one, as nodes come into the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Constant, Feature, GraphTypeError, Output
from treadle.rewrite.engine.interface import GraphRewriter
from treadle.rewrite.engine.run import running

if TYPE_CHECKING:
    from treadle.graph import Apply, FunctionGraph, Op, Variable

# The reason given to features where equal constants become one object: the node itself does not change.
SAME_CONSTANT = "merge_constants"


class MergeFeature(Feature):
    """Feature that merges nodes with the same op and the same inputs, one level deep, as they come in.

    A key holds the op and the identities of the inputs, equal constants standing for each other. So each costs the
    same however large the graph below is. An entry may be out of date: the node that is found is compared again, and
    a node whose inputs changed is entered again.

    Nodes that overwrite an input, and nodes whose result is overwritten, are never merged.
    """

    def __init__(self) -> None:
        # By class of op and inputs first. Where that tells nodes apart, no op is hashed, which for a large op costs
        # more than everything else.
        self._nodes: dict[tuple[object, ...], Apply | dict[Op, Apply]] = {}
        self._constants: dict[bytes, Constant] = {}
        self._representatives: dict[Constant, Constant] = {}
        self.pending: list[Apply] = []
        self.stale: dict[Apply, None] = {}
        self._destroyers = False

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Queue every node to be merged, each after those it needs."""
        for node in fgraph.toposort():
            self.on_import(fgraph, node, None)
        for i, out in enumerate(fgraph.outputs):
            if isinstance(out, Constant):
                chosen = self.representative(out)
                user = next((n for n, _ in fgraph.get_clients(out) if isinstance(n.op, Output) and n.op.idx == i), None)
                if chosen is not out and user is not None:
                    fgraph.change_node_input(user, 0, chosen, SAME_CONSTANT, check=False)

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Queue the node to be entered."""
        self.pending.append(node)
        if node.op.destroy_map:
            self._destroyers = True

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, var: Variable, new_var: Variable, reason: str | None = None
    ) -> None:
        """Note that the node is to be entered again, once, however many of its inputs change meanwhile."""
        if node.outputs and reason != SAME_CONSTANT:
            self.stale[node] = None

    def representative(self, constant: Constant) -> Constant:
        """Return the one constant that stands for all equal ones."""
        chosen = self._representatives.get(constant)
        if chosen is None:
            try:
                chosen = self._constants.setdefault(constant.signature(), constant)
            except GraphTypeError:
                # A value without an encoding equals only itself.
                chosen = constant
            self._representatives[constant] = chosen
        return chosen

    def enter_new(self, fgraph: FunctionGraph) -> int:
        """Merge new nodes; return how many were removed."""
        merged = 0
        # New nodes are in order of evaluation, so that they are merged from the inputs up.
        while self.pending:
            batch, self.pending = self.pending, []
            present, stale = fgraph.apply_nodes, self.stale
            for node in batch:
                stale.pop(node, None)
                merged += node in present and self._merge(fgraph, node)
        return merged

    def enter_all(self, fgraph: FunctionGraph) -> int:
        """Merge new and changed nodes, and what becomes equal by that; return how many were removed."""
        merged = self.enter_new(fgraph)
        while self.stale:
            batch, self.stale = self.stale, {}
            merged += sum(self.enter(fgraph, node) for node in batch)
        return merged

    def enter(self, fgraph: FunctionGraph, node: Apply) -> bool:
        """Enter a node, or put its equal in its place; return whether the node was removed."""
        self.stale.pop(node, None)
        return node in fgraph and self._merge(fgraph, node)

    def _merge(self, fgraph: FunctionGraph, node: Apply) -> bool:
        """Enter a node, or put its equal in its place."""
        for i, x in enumerate(node.inputs):
            if x.owner is None and isinstance(x, Constant):
                chosen = self.representative(x)
                if chosen is not x:
                    fgraph.change_node_input(node, i, chosen, SAME_CONSTANT, check=False)
        other = self._equal(fgraph, node)
        if other is node:
            return False
        if self._destroyers and (self._destroys(fgraph, node) or self._destroys(fgraph, other)):
            return False
        return self._unite(fgraph, node, other) or self._unite(fgraph, other, node)

    def _equal(self, fgraph: FunctionGraph, node: Apply) -> Apply:
        """Return the node with the same op and the same inputs that came first: perhaps the node itself."""
        nodes, op = self._nodes, node.op
        key = (type(op), *node.inputs)
        entry = nodes.setdefault(key, node)
        if entry is node:
            return node
        if isinstance(entry, dict):
            other = entry.setdefault(op, node)
            if other is not node and not _is_current(fgraph, other, node):
                entry[op] = other = node
            return other
        if not _is_current(fgraph, entry, node):
            nodes[key] = node
            return node
        if entry.op is op or entry.op == op:
            return entry
        nodes[key] = {entry.op: entry, op: node}
        return node

    def _put(self, node: Apply) -> None:
        """Enter a node in place of an entry that is out of date."""
        key = (type(node.op), *node.inputs)
        entry = self._nodes.get(key)
        if isinstance(entry, dict):
            entry[node.op] = node
        else:
            self._nodes[key] = node

    @staticmethod
    def _destroys(fgraph: FunctionGraph, node: Apply) -> bool:
        """Whether a node overwrites something, or its result is overwritten."""
        if node.op.destroy_map:
            return True
        return any(
            i in places
            for out in node.outputs
            for client, i in fgraph.get_clients(out)
            for places in client.op.destroy_map.values()
        )

    def _unite(self, fgraph: FunctionGraph, node: Apply, other: Apply) -> bool:
        """Replace a node's outputs by another's, if those are of its types or refine them."""
        pairs = list(zip(node.outputs, other.outputs, strict=True))
        if not all(old.type.is_super(new.type) for old, new in pairs):
            return False
        for old, new in pairs:
            if fgraph.clients.get(old):
                fgraph.replace(old, new, "merge")
            if new.name is None:
                new.name = old.name
        self._put(other)
        return True


def _is_current(fgraph: FunctionGraph, entered: Apply, node: Apply) -> bool:
    """Whether a node that was entered once is still in the graph, with the inputs of another one."""
    return entered in fgraph and entered.inputs == node.inputs


class MergeOptimizer(GraphRewriter):
    """Merges equal computations, from here on to the end of the run as nodes come in."""

    reports_itself = True

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach nothing: what merges belongs to the run."""

    def apply(self, fgraph: FunctionGraph) -> int:
        """Merge; return the number of nodes removed."""
        with running(fgraph) as run:
            if run.merging is None:
                run.merging = MergeFeature()
                run.attach(run.merging)
            return run.settle()
