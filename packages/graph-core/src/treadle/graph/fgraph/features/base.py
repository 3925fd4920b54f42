"""Feature: observers and extensions of a FunctionGraph; and the nodes of a graph by op."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from treadle.graph.errors import GraphValueError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.op import Op
    from treadle.graph.ir.variable import Variable


# The reason that features are given when a step is undone.
REVERT = "revert"


class AlreadyThere(GraphValueError):  # noqa: N818 - the documented name
    """A feature refuses to be attached to a graph that has it, or another one of its kind; the graph leaves it out."""


class Feature:
    """Base of features: every callback does nothing.

    A callback is called after the change. One that raises an error undoes the whole edit: the graph is as it was
    before, and every feature that heard of a part of the edit hears of its reverse, with the reason ``"revert"``.
    A callback may edit the graph; features hear of that edit after the one that led to it.

    Examples
    --------
    >>> class Counter(Feature):
    ...     count = 0
    ...     def on_import(self, fgraph, node, reason):
    ...         self.count += 1
    >>> counter, x = Counter(), tt.dscalar("x")
    >>> fgraph = treadle.graph.FunctionGraph([x], [tt.exp(x)], features=[counter])
    >>> fgraph.replace(fgraph.outputs[0], tt.log(fgraph.inputs[0]))
    >>> counter.count
    1
    """

    # True for a feature that keeps its orderings in the graph itself (`FunctionGraph.add_ordering`), so that
    # `orderings` need not be asked.
    keeps_orderings: ClassVar[bool] = False

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Called when the feature is attached; may raise `AlreadyThere`."""

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Called when the feature is removed."""

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Called after a node came into the graph."""

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, var: Variable, new_var: Variable, reason: str | None
    ) -> None:
        """Called after input `i` of a node (or of the stand-in of an output) changed."""

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Called after a node left the graph."""

    def on_add_output(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Called after an output was added; `node` is its stand-in."""

    def on_remove_output(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Called after an output was removed."""

    def on_add_input(self, fgraph: FunctionGraph, var: Variable, reason: str | None) -> None:
        """Called after an input was added."""

    def on_remove_input(self, fgraph: FunctionGraph, var: Variable, reason: str | None) -> None:
        """Called after an input was removed."""

    def validate(self, fgraph: FunctionGraph) -> None:
        """Raise an error if the graph is not acceptable to this feature."""

    def may_refuse(self, fgraph: FunctionGraph) -> bool:
        """Whether `validate` may refuse what the graph becomes, as far as its features go: nobody asks it if not."""
        return type(self).validate is not Feature.validate

    def orderings(self, fgraph: FunctionGraph) -> dict[Apply, Sequence[Apply]]:
        """Return, for nodes, others that must run before them."""
        return {}

    def clone(self) -> Feature:
        """Return a feature of this kind for a copy of the graph: itself, unless it keeps anything of its graph."""
        return self

    def clone_onto(self, equiv: Mapping[object, object]) -> Feature:
        """Return a feature for a copy of the graph (by default `clone()`); `equiv` maps old objects to their copies."""
        return self.clone()

    def refuse_second(self, graph: FunctionGraph | None, kind: type[GraphValueError] = GraphValueError) -> None:
        """Refuse a second graph; for use in `on_attach` of features that keep something of one graph.

        Parameters
        ----------
        graph
            The graph that the feature is attached to already, or None.
        kind
            Class of the error.

        Raises
        ------
        GraphValueError
            If there is such a graph.
        """
        if graph is not None:
            msg = f"{type(self).__name__}: the feature belongs to another graph. Attach a new one to each graph."
            raise kind(msg)

    def install(self, fgraph: FunctionGraph, **attributes: object) -> None:
        """Set attributes of the graph, mostly functions, until the feature is removed; for use in `on_attach`.

        Raises
        ------
        AlreadyThere
            If the graph has one of the attributes; then none is set.
        """
        fgraph.install(self, attributes)


class Bookkeeper(Feature):
    """Feature that treats attaching as the import, and removal as the pruning, of every node.

    Examples
    --------
    >>> class Names(Bookkeeper):
    ...     seen = ()
    ...     def on_import(self, fgraph, node, reason):
    ...         self.seen += (str(node.op),)
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> names = Names()
    >>> fgraph = treadle.graph.FunctionGraph([x, y], [tt.exp(x) + y], features=[names])
    >>> names.seen
    ('Exp', 'Add')
    """

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Import every node."""
        for node in fgraph.toposort():
            self.on_import(fgraph, node, "on_attach")

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Prune every node."""
        for node in fgraph.toposort():
            self.on_prune(fgraph, node, "on_detach")


class NodeFinder(Bookkeeper):
    """Feature that finds the nodes of an op: ``fgraph.get_nodes(op)``.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> fgraph, finder = treadle.graph.FunctionGraph([x, y], [tt.exp(x) + tt.exp(y)]), NodeFinder()
    >>> fgraph.attach_feature(finder)
    >>> len(fgraph.get_nodes(tt.exp))
    2
    """

    def __init__(self) -> None:
        self._fgraph: FunctionGraph | None = None
        self._nodes: dict[Op, dict[Apply, None]] = {}

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Index every node, and install ``get_nodes``; a finder of another graph is refused."""
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
        nodes = self._nodes.get(node.op, {})
        nodes.pop(node, None)
        if not nodes:
            self._nodes.pop(node.op, None)

    def get_nodes(self, op: Op) -> list[Apply]:
        """Return the nodes whose op equals `op`, in order of import."""
        return list(self._nodes.get(op, ()))

    def __getstate__(self) -> dict[str, object]:
        """Leave the index out of pickles: it is made anew when the feature is attached."""
        return {**self.__dict__, "_fgraph": None, "_nodes": {}}
