"""What nodes, ops and classes of ops cost, summed over functions."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeVar

from treadle.config import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from treadle.compile.profiling.recording import FunctionRecord, NodeRecord
    from treadle.graph import Apply, Op

G = TypeVar("G", bound="Hashable")  # what nodes have in common


@dataclass(slots=True)
class Total:
    """What some nodes cost together."""

    name: str  # what they have in common
    seconds: float = 0.0  # without what runs inside of them and is listed by itself
    runs: int = 0
    nodes: int = 0
    backends: set[str] = field(default_factory=set)

    def add(self, record: NodeRecord) -> None:
        """Add a node."""
        self.seconds += record.timer.own * 1e-9
        self.runs += record.timer.count
        self.nodes += 1
        self.backends.add(record.backend)


def all_nodes(records: Iterable[FunctionRecord]) -> list[tuple[FunctionRecord, Apply, NodeRecord]]:
    """Return every node of some functions with its record, the costliest first."""
    items = [(function, node, record) for function in records for node, record in list(function.nodes.items())]
    return sorted(items, key=lambda item: -item[2].timer.own)


def totals_by(records: Iterable[FunctionRecord], key: Callable[[Apply], G], name: Callable[[G], str]) -> dict[G, Total]:
    """Return totals of the nodes that ran, by something that they have in common, the costliest first."""
    totals: dict[G, Total] = {}
    for _, node, record in all_nodes(records):
        if record.timer.count:
            group = key(node)
            if group not in totals:
                totals[group] = Total(name(group))
            totals[group].add(record)
    return dict(sorted(totals.items(), key=lambda item: -item[1].seconds))


def by_class(records: Iterable[FunctionRecord]) -> dict[type, Total]:
    """Return totals by the class of the op."""
    return totals_by(records, lambda node: type(node.op), lambda kind: f"{kind.__module__}.{kind.__qualname__}")


def by_op(records: Iterable[FunctionRecord]) -> dict[Op, Total]:
    """Return totals by the op."""
    return totals_by(records, lambda node: node.op, str)


def span_seconds(records: Sequence[FunctionRecord]) -> dict[tuple[str, ...], float]:
    """Return the time of each span of the compilations, by its path, outer spans before those inside of them."""
    seconds: dict[tuple[str, ...], float] = {}
    starts: dict[tuple[str, ...], int] = {}
    for record in records:
        for span in record.spans.ended:
            seconds[span.path] = seconds.get(span.path, 0.0) + span.seconds
            starts[span.path] = min(starts.get(span.path, span.start), span.start)
    ordered = sorted(seconds, key=lambda path: [(starts.get(path[: i + 1], 0), path[i]) for i in range(len(path))])
    return {path: seconds[path] for path in ordered}


@dataclass(slots=True)
class RuleTotal:
    """What one rewrite cost in all compilations: seconds, of these in checks, tries, changes, nodes it made."""

    seconds: float = 0.0
    validation: float = 0.0
    tries: int = 0
    hits: int = 0
    added: int = 0


def by_rule(records: Iterable[FunctionRecord]) -> dict[str, RuleTotal]:
    """Return what each rewrite cost, the costliest first."""
    totals: dict[str, RuleTotal] = {}
    for record in records:
        for name, cost in record.report.rules.items() if record.report is not None else ():
            total = totals.setdefault(name, RuleTotal())
            total.seconds += cost.seconds
            total.validation += cost.validation
            total.tries += cost.tries
            total.hits += cost.hits
            total.added += cost.added
    return dict(sorted(totals.items(), key=lambda item: -item[1].seconds))


def rewriting_seconds(records: Iterable[FunctionRecord]) -> tuple[float, float]:
    """Return the time of the rewriters' checks of graphs, and that of merging equal nodes."""
    rules = [item for r in records if r.report is not None for item in r.report.rules.items()]
    return sum(c.validation for _, c in rules), sum(
        c.seconds for name, c in rules if name in {"merge", "MergeOptimizer"}
    )


def counted(records: Iterable[FunctionRecord], name: str) -> int:
    """Return how often something was tallied in the compilations."""
    return sum(record.spans.counts.get(name, 0) for record in records)
