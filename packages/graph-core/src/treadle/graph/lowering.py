"""LoweringTable: what one backend knows about each op type."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from treadle.config import discover
from treadle.graph.algorithms.traversal import applys_between
from treadle.graph.errors import DuplicateRegistrationError, LoweringError
from treadle.graph.ir.inner_graph import HasInnerGraph
from treadle.graph.ir.plugins import PluginLoader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.op import Op

Rule = Any
R = TypeVar("R", bound="Callable[..., Any]")


class LoweringTable:
    """Rules of one backend, by op type; looked up along the bases of the type.

    Rules of third parties are found through the entry-point group ``treadle.lowerings.<backend>``: each entry is a
    function that takes the table and registers rules in it. They are loaded at the first lookup.

    Parameters
    ----------
    backend
        Name of the backend, for messages and for the entry-point group.
    """

    __slots__ = ("__weakref__", "_added", "_published", "_rules", "backend", "module", "scope")

    # Every table that is in use.
    tables: ClassVar[weakref.WeakSet[LoweringTable]] = weakref.WeakSet()

    def __init__(self, backend: str) -> None:
        self.backend = backend
        # The module that the table was made in: the backend's own rules are in its package.
        self.module: str = sys._getframe(1).f_globals.get("__name__", "")
        self._added: list[tuple[type, Rule]] = []
        LoweringTable.tables.add(self)
        self._rules: dict[type, Rule] = {}
        self._published = PluginLoader(
            lambda: discover(f"treadle.lowerings.{backend}"), lambda register: register(self)
        )
        # A context that programs of this backend run in, if a package's values need one.
        self.scope: Callable[[], AbstractContextManager[None]] | None = None

    def register(self, *op_types: type[Op]) -> Callable[[R], R]:
        """Return a decorator that makes a function the rule of the op types.

        Raises
        ------
        DuplicateRegistrationError
            If one of them has a rule already.
        """

        def decorate(rule: R) -> R:
            for op_type in op_types:
                if op_type in self._rules:
                    old = self._rules[op_type]
                    msg = (
                        f"{self.backend}: {op_type.__name__} has a lowering already, "
                        f"{old.__module__}.{old.__qualname__}. Remove one of the two."
                    )
                    raise DuplicateRegistrationError(msg)
                self._rules[op_type] = rule
                if not self._published.is_loading:
                    self._added.append((op_type, rule))
            return rule

        return decorate

    def load(self) -> None:
        """Let installed packages register their rules, once."""
        self._published.load()

    def find(self, op: Op) -> Rule | None:
        """Return the rule for an op, or None."""
        self.load()
        for base in type(op).__mro__:
            rule = self._rules.get(base)
            if rule is not None:
                return rule
        return None

    def added(self) -> list[tuple[type, Rule]]:
        """Return op types and rules that were not registered by what packages publish; nothing is loaded to tell."""
        return list(self._added)

    def op_types(self) -> list[type]:
        """Return the op types that have a rule of their own."""
        self.load()
        return list(self._rules)

    def missing(self, nodes: Iterable[Apply]) -> list[Apply]:
        """Return the nodes that no rule covers."""
        return [node for node in nodes if self.find(node.op) is None]

    def check(self, nodes: Iterable[Apply]) -> None:
        """Refuse a graph with nodes that no rule covers, listing all of them.

        Raises
        ------
        LoweringError
            If there is such a node.
        """
        gaps = self.missing(nodes)
        if gaps:
            raise missing_lowerings(self.backend, [(node, "") for node in gaps])


def missing_lowerings(backend: str, gaps: Iterable[tuple[Apply, str]], remedy: str = "") -> LoweringError:
    """Return the error that lists every node a backend cannot lower, once.

    Parameters
    ----------
    backend
        Its name.
    gaps
        The nodes, each with the reason and what to do about it; an empty one where there is no rule for the op.
    remedy
        What else to do.
    """
    reasons: dict[Apply, dict[str, None]] = {}
    for node, why in gaps:
        reasons.setdefault(node, {})[why] = None
    lines = []
    for node, found in reasons.items():
        why = "; ".join(filter(None, found))
        types = f" of {', '.join(str(x.type) for x in node.inputs)}" if node.inputs else ""
        lines.append(f"  {node.op}{types}{node.where()}{f': {why}' if why else ''}")
    names = ", ".join(sorted({type(node.op).__name__ for node, found in reasons.items() if "" in found}))
    ways = [*([f"Register a rule for {names}"] if names else []), *([remedy] if remedy else []), "pick another mode"]
    last = ", or ".join(ways)
    return LoweringError(f"{backend}: no lowering for\n" + "\n".join(lines) + f"\n{last[0].upper()}{last[1:]}.")


def inner_graph(op: Op, node: Apply, *rest: Any) -> NoReturn:
    """Mark an op as lowered by its inner graph: ``TABLE.register(MyOp)(inner_graph)``.

    It is a rule that is not called: linkers put the inner graph in the node's place first (see `expand_inner_graphs`).
    """
    del op, rest
    msg = f"{node.op}: its inner graph is to be expanded before it is lowered. Call expand_inner_graphs in the linker."
    raise LoweringError(msg)


def expand_inner_graphs(
    fgraph: FunctionGraph, table: LoweringTable, accepts: Callable[[Apply], bool] | None = None
) -> FunctionGraph:
    """Return a graph in which the nodes that a table lowers by their inner graphs are replaced by these.

    Parameters
    ----------
    fgraph
        The graph; it is left as it is, and returned if there are no such nodes.
    table
        The lowerings of a backend.
    accepts
        Whether a node inside can be lowered. An op with one that cannot be is left whole; None expands all.
    """

    def is_expanded(node: Apply) -> bool:
        return isinstance(node.op, HasInnerGraph) and table.find(node.op) is inner_graph

    whole: dict[int, bool] = {}
    pending = [node for node in fgraph.toposort() if is_expanded(node)]
    if not pending:
        return fgraph
    made = fgraph.clone()
    pending = [node for node in made.toposort() if is_expanded(node)]
    while pending:
        node = pending.pop()
        op: Any = node.op
        if accepts is not None and not _accepts_inside(op, is_expanded, accepts, whole):
            continue
        inside = op.fgraph.bind(node.inputs)
        made.replace_all(zip(node.outputs, inside, strict=True), reason="expand_inner_graphs")
        pending += [inner for inner in applys_between(node.inputs, inside) if is_expanded(inner)]
    return made


def _accepts_inside(
    op: Any, is_expanded: Callable[[Apply], bool], accepts: Callable[[Apply], bool], known: dict[int, bool]
) -> bool:
    """Whether every node of an inner graph is accepted, those of graphs further inside included."""
    graphs = [op]
    found = True
    if id(op) in known:
        return known[id(op)]
    while graphs and found:
        for node in graphs.pop().fgraph.apply_nodes:
            if is_expanded(node):
                graphs.append(node.op)
            else:
                found = found and accepts(node)
    known[id(op)] = found
    return found
