"""Rewriters of nodes tried in order, and walks that try them on every node of a graph once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from treadle.config import config
from treadle.rewrite import NodeRewriter, RewriterTypeError, looks_at
from treadle.rewrite.compound import RewriterOfNodes, nodes_in_order
from treadle.rewrite.engine.run import replacements, running
from treadle.rewrite.errors import require_kind
from treadle.rewrite.local.worklist import Worklist

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph
    from treadle.rewrite.engine.run import Callback
    from treadle.rewrite.engine.tracked import Tracked


class SequentialNodeRewriter(NodeRewriter):
    """Tries rewriters on a node, in order.

    Parameters
    ----------
    rewriters
        The rewriters.
    apply_all_rewrites
        Whether to go on, with what a rewriter returned, until none of them changes anything; otherwise the first
        one that changes something decides.
    """

    def __init__(self, *rewriters: NodeRewriter, apply_all_rewrites: bool = False) -> None:
        self.rewrites = rewriters
        self.apply_all_rewrites = apply_all_rewrites
        if type(self) is SequentialNodeRewriter and not apply_all_rewrites:
            self.first_of = rewriters
        depths = [rewriter.depth for rewriter in rewriters]
        self.depth = None if None in depths else max((d for d in depths if d is not None), default=1)
        tracked = [rewriter.tracks() for rewriter in rewriters]
        self._tracks = (
            None if None in tracked else tuple(dict.fromkeys(op for ops in tracked if ops is not None for op in ops))
        )
        self.name = "_".join(str(rewriter) for rewriter in rewriters)

    def tracks(self) -> Sequence[Tracked] | None:
        """Return the ops and classes of ops that any of the rewriters looks at."""
        return self._tracks

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach what the rewriters need."""
        for rewriter in self.rewrites:
            rewriter.add_requirements(fgraph)

    def transform(self, fgraph: FunctionGraph, node: Apply) -> object:
        """Return the result of the first rewriter that changes something, or of all of them in turn."""
        if not self.apply_all_rewrites:
            return self._first(fgraph, node)
        start, result, current = node, None, node
        limit = 100
        while limit:
            replacement = self._first(fgraph, current)
            if replacement is None:
                break
            pairs = dict(replacements(self.name, current, replacement)[0])
            if result is None:
                result = [pairs.get(out) for out in current.outputs]
            else:
                result = [None if var is None else pairs.get(var, var) for var in result]
            owner = next((var.owner for var in result if var is not None), None)
            if len(start.outputs) != 1 or owner is None or owner is current:
                break
            current = owner
            limit -= 1
        return result

    def _first(self, fgraph: FunctionGraph, node: Apply) -> object:
        for rewriter in self.rewrites:
            if looks_at(rewriter, node):
                replacement = rewriter.transform(fgraph, node)
                if replacement is not None and replacement is not False:
                    return replacement
        return None


Order = Literal["in_to_out", "out_to_in"]


class WalkingGraphRewriter(RewriterOfNodes):
    """Tries a rewriter on every node once, in one direction.

    Parameters
    ----------
    node_rewriter
        The rewriter.
    order
        ``"in_to_out"`` or ``"out_to_in"``.
    ignore_newtrees
        Whether nodes that come in are left alone.
    failure_callback
        Called with (error, run, node) where it fails, in place of what ``on_opt_error`` says.

    Raises
    ------
    RewriterTypeError
        If the order is another word, or the rewriter none of nodes.
    """

    def __init__(
        self,
        node_rewriter: NodeRewriter,
        order: Order = "in_to_out",
        ignore_newtrees: bool = False,
        failure_callback: Callback | None = None,
        name: str = "",
    ) -> None:
        if order not in {"in_to_out", "out_to_in"}:
            msg = f"WalkingGraphRewriter: order must be 'in_to_out' or 'out_to_in', got {order!r}."
            raise RewriterTypeError(msg)
        require_kind("WalkingGraphRewriter", "a rewriter of nodes", node_rewriter, NodeRewriter)
        super().__init__([node_rewriter])
        self.node_rewriter = node_rewriter
        self.order = order
        self.ignore_newtrees = ignore_newtrees
        self.failure_callback = failure_callback
        self.name = name

    def apply(self, fgraph: FunctionGraph) -> int:
        """Walk over the graph once; return the number of changes."""
        with running(fgraph) as run, run.in_phase(self.name), run.stage(self.name):
            self.add_requirements(fgraph)
            before = run.changes
            retried = "never" if self.ignore_newtrees else "new"
            ratio = float(config.optdb__max_use_ratio)
            worklist = Worklist(run, self.index, ratio, again=retried, callback=self.failure_callback)
            nodes = nodes_in_order(fgraph)
            worklist.start(nodes if self.order == "in_to_out" else reversed(nodes))
            worklist.work()
            run.settle()
            return run.changes - before


def walking_rewriter(
    order: Order, *node_rewriters: NodeRewriter, name: str | None = None, **options: Any
) -> WalkingGraphRewriter:
    """Return a rewriter that tries rewriters on every node once, in one direction (options as for the class)."""
    rewriter = node_rewriters[0] if len(node_rewriters) == 1 else SequentialNodeRewriter(*node_rewriters)
    return WalkingGraphRewriter(rewriter, order, name=name or str(rewriter), **options)


def in2out(*node_rewriters: NodeRewriter, name: str | None = None, **options: Any) -> WalkingGraphRewriter:
    """Return a rewriter that tries rewriters on every node once, from inputs to outputs."""
    return walking_rewriter("in_to_out", *node_rewriters, name=name, **options)


def out2in(*node_rewriters: NodeRewriter, name: str | None = None, **options: Any) -> WalkingGraphRewriter:
    """Return a rewriter that tries rewriters on every node once, from outputs to inputs."""
    return walking_rewriter("out_to_in", *node_rewriters, name=name, **options)
