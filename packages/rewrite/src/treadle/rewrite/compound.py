"""Rewriters of whole graphs made of others, run in order or together until nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import config, counted
from treadle.graph import CycleError, io_toposort
from treadle.rewrite.engine.interface import GraphRewriter, NodeRewriter
from treadle.rewrite.engine.run import running
from treadle.rewrite.errors import require_kind
from treadle.rewrite.local.dispatch import RuleIndex
from treadle.rewrite.local.worklist import Worklist
from treadle.rewrite.rules import GraphPass, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from treadle.graph import Apply, Feature, FunctionGraph
    from treadle.rewrite.engine.run import Callback, Run

# Rewriters of whole graphs that go on changing something are stopped after so many rounds.
MOST_ROUNDS = 100


class SequentialGraphRewriter(GraphRewriter):
    """Runs rewriters of whole graphs, in order.

    Parameters
    ----------
    rewriters
        The rewriters.
    name
        Its id, the phase of what runs in it.
    """

    reports_itself = True

    def __init__(self, *rewriters: GraphRewriter, name: str = "") -> None:
        self.rewrites = rewriters
        self.name = name

    def apply(self, fgraph: FunctionGraph) -> int:
        """Run the rewriters; return the number of changes."""
        with running(fgraph) as run, run.in_phase(self.name):
            return sum(run.apply(rewriter) for rewriter in counted(self.rewrites))

    def __iter__(self) -> Iterator[GraphRewriter]:
        return iter(self.rewrites)

    def __len__(self) -> int:
        return len(self.rewrites)

    def __getitem__(self, i: int) -> GraphRewriter:
        return self.rewrites[i]

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that may run, in the order in which they first run."""
        return tuple(dict.fromkeys(name for rewriter in self.rewrites for name in rewriter.rules))


def nodes_in_order(fgraph: FunctionGraph) -> list[Apply]:
    """Return the nodes, each after those it needs.

    Where in-place work leaves no order, because a value is overwritten before it is read, it is ignored: a rewriter may
    be about to repair that.
    """
    try:
        return list(fgraph.toposort())
    except CycleError:
        return list(io_toposort(fgraph.inputs, fgraph.outputs))


class RewriterOfNodes(GraphRewriter):
    """Base: rewriters of nodes by op, and what they need of the graph."""

    reports_itself = True

    def __init__(self, rewriters: Iterable[NodeRewriter]) -> None:
        self.index = RuleIndex([rule for rewriter in rewriters for rule in rewriter.first_of or (rewriter,)])
        features: dict[type[Feature], None] = {}
        for rule in self.index.rules:
            if isinstance(rule, Rule):
                features.update(dict.fromkeys(rule.features))
        self._features = tuple(features)
        self._demanding = tuple(
            rule for rule in self.index.rules if type(rule).add_requirements is not NodeRewriter.add_requirements
        )

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach what the rewriters need."""
        with running(fgraph) as run:
            for kind in self._features:
                run.require(kind)
        for rule in self._demanding:
            rule.add_requirements(fgraph)

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules, in order."""
        return tuple(str(rule) for rule in self.index.rules)


class EquilibriumGraphRewriter(RewriterOfNodes):
    """Runs rewriters of nodes and of whole graphs until none changes anything.

    Parameters
    ----------
    rewriters
        Rewriters of nodes and of whole graphs.
    failure_callback
        Called with (error, run, node) where a rewriter of nodes fails, in place of what ``on_opt_error`` says.
    ignore_newtrees
        Whether nodes that come in are looked at after all others, instead of next.
    max_use_ratio
        How often one rewriter may change something, for each node; option ``optdb__max_use_ratio`` if None.
    final_rewriters
        Rewriters of whole graphs that run where the others have come to rest.
    cleanup_rewriters
        Rewriters of whole graphs that run after each of these, and after the rewriters of nodes.

    Raises
    ------
    RewriterTypeError
        If something is not a rewriter.
    """

    def __init__(
        self,
        rewriters: Sequence[NodeRewriter | GraphRewriter],
        failure_callback: Callback | None = None,
        ignore_newtrees: bool = True,
        max_use_ratio: float | None = None,
        final_rewriters: Sequence[GraphRewriter] = (),
        cleanup_rewriters: Sequence[GraphRewriter] = (),
        name: str = "",
    ) -> None:
        for rewriter in rewriters:
            require_kind("EquilibriumGraphRewriter", "a rewriter", rewriter, NodeRewriter, GraphRewriter)
        super().__init__(rewriter for rewriter in rewriters if isinstance(rewriter, NodeRewriter))
        graph_rewriters = [rewriter for rewriter in rewriters if isinstance(rewriter, GraphRewriter)]
        self.global_rewriters = tuple(rewriter for rewriter in graph_rewriters if not isinstance(rewriter, GraphPass))
        # A pass runs once in its phase, where the local rules have come to rest.
        self.passes = tuple(rewriter for rewriter in graph_rewriters if isinstance(rewriter, GraphPass))
        self.final_rewriters = tuple(final_rewriters)
        self.cleanup_rewriters = tuple(cleanup_rewriters)
        self.failure_callback = failure_callback
        self.ignore_newtrees = ignore_newtrees
        self.max_use_ratio = max_use_ratio
        self.name = name

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules, in the order in which they first run."""
        rewriters = (*self.global_rewriters, *self.passes, *self.final_rewriters, *self.cleanup_rewriters)
        names = [name for rewriter in self.global_rewriters for name in rewriter.rules]
        names += [str(rule) for rule in self.index.rules]
        return tuple(dict.fromkeys([*names, *(name for rewriter in rewriters for name in rewriter.rules)]))

    def apply(self, fgraph: FunctionGraph) -> int:
        """Rewrite until nothing changes; return the number of changes."""
        with running(fgraph) as run, run.in_phase(self.name), run.stage(self.name):
            before, outer = run.changes, run.rewriter
            run.rewriter = self
            try:
                self._work(run)
            finally:
                run.rewriter = outer
            return run.changes - before

    def _work(self, run: Run) -> None:
        self.add_requirements(run.fgraph)
        ratio = float(config.optdb__max_use_ratio) if self.max_use_ratio is None else self.max_use_ratio
        worklist = Worklist(run, self.index, ratio, new_first=not self.ignore_newtrees, callback=self.failure_callback)
        graph_rewriters = (*self.global_rewriters, *self.final_rewriters)
        for round_ in range(MOST_ROUNDS):
            before = run.changes
            self._apply_all(run, self.global_rewriters)
            if round_ == 0:
                worklist.start(nodes_in_order(run.fgraph))
            else:
                worklist.resume()
            worklist.work()
            if run.changes != before:
                self._apply_all(run, self.cleanup_rewriters)
            self._apply_all(run, self.final_rewriters)
            if round_ == 0:
                self._apply_all(run, self.passes)
            if not worklist.resume() and (not graph_rewriters or run.changes == before):
                return
        names = tuple(str(rewriter) for rewriter in graph_rewriters)
        msg = (
            f"rules {', '.join(names)}: changed the graph in each of {MOST_ROUNDS} rounds and did not come to an end. "
            "Correct them, or exclude one by its name."
        )
        run.endless(str(names[0]) if names else self.name, names, msg)

    def _apply_all(self, run: Run, rewriters: Sequence[GraphRewriter]) -> None:
        for rewriter in rewriters:
            if run.apply(rewriter) and rewriter not in self.cleanup_rewriters:
                for cleanup in self.cleanup_rewriters:
                    run.apply(cleanup)
