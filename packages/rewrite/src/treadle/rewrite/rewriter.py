"""Rewriter: the rules that a query selected, in order, ready to run on graphs."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from treadle.config import config
from treadle.rewrite.report import Firing, Report
from treadle.rewrite.worklist import Conduct, Worklist

if TYPE_CHECKING:
    from treadle.graph import Feature, FunctionGraph
    from treadle.rewrite.phase import Phase
    from treadle.rewrite.rules import GraphPass, Rule


@dataclass(frozen=True, slots=True)
class Stage:
    """What runs in one phase: local rules to a fixed point, then passes over the whole graph."""

    phase: Phase
    rules: tuple[Rule, ...]
    passes: tuple[GraphPass, ...]


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Rules in order, by phase; it keeps no state between runs, so any thread may use it.

    Attributes
    ----------
    stages
        The phases that have rules, in order.
    features
        Classes of features that the rules need on the graph while they run.
    """

    stages: tuple[Stage, ...]
    features: tuple[type[Feature], ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of all rules and passes, in the order in which they first run."""
        found: list[str] = []
        for stage in self.stages:
            found += [rule.name for rule in stage.rules]
            found += [item.name for item in stage.passes]
        return tuple(dict.fromkeys(found))

    def rewrite(self, fgraph: FunctionGraph) -> Report:
        """Rewrite a graph in place, and return what was done.

        Raises
        ------
        RewriteError
            If a rule fails and option ``on_opt_error`` is ``raise``.
        """
        report = Report(nodes_before=len(fgraph))
        conduct = Conduct(config.on_opt_error, config.optimizer_verbose)
        start = perf_counter()
        attached = [kind() for kind in self.features]
        for feature in attached:
            fgraph.attach_feature(feature)
        try:
            for stage in self.stages:
                if stage.rules:
                    Worklist(fgraph, stage.phase, stage.rules, report, conduct).run()
                for item in stage.passes:
                    _run_pass(fgraph, stage.phase, item, report)
        finally:
            for feature in attached:
                fgraph.remove_feature(feature)
        report.nodes_after = len(fgraph)
        report.seconds = perf_counter() - start
        return report


def _run_pass(fgraph: FunctionGraph, phase: Phase, item: GraphPass, report: Report) -> None:
    """Run one pass, counting each of its changes."""
    start = perf_counter()
    changes = item.apply(fgraph)
    cost = report.cost(item.name)
    cost.tries += 1
    cost.hits += changes
    cost.seconds += perf_counter() - start
    if changes:
        report.firings.append(Firing(item.name, phase, None, None))
