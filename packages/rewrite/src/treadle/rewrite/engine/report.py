"""Report: what a run of rewriting did, where, and what it cost."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from treadle.config import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.graph import Apply, Op, UserLine


@dataclass(slots=True)
class RuleCost:
    """What one rule cost.

    Attributes
    ----------
    tries
        How often it was tried.
    hits
        How often it changed something.
    refused
        How often a feature of the graph refused the change.
    added
        How many nodes it added to the graph.
    seconds
        Time spent in it and in making its changes.
    validation
        Of these, seconds spent in the graph's features checking the changes.
    """

    tries: int = 0
    hits: int = 0
    refused: int = 0
    added: int = 0
    seconds: float = 0.0
    validation: float = 0.0


class Firing(NamedTuple):
    """One change.

    Attributes
    ----------
    rule
        Id of the rule.
    phase
        Name of the database that it ran in; empty outside of any.
    op
        Op of the node that was replaced.
    user_line
        The user's line that the node came from.
    added
        How many nodes came in.
    before
        The node that was replaced, if the run was asked to keep nodes.
    after
        The nodes that came in, if the run was asked to keep nodes.
    """

    rule: str
    phase: str
    op: Op | None
    user_line: UserLine | None
    added: int = 0
    before: Apply | None = None
    after: tuple[Apply, ...] = ()

    def __str__(self) -> str:
        where = f" at {self.user_line}" if self.user_line is not None else ""
        what = f" on {self.op}" if self.op is not None else ""
        new = "" if self.added == 0 else f", {self.added} new node{'s' if self.added > 1 else ''}"
        head = f"{self.phase}: " if self.phase else ""
        return f"{head}{self.rule}{what}{where}{new}"


class Change(NamedTuple):
    """A change as pages that compare graphs take it: rule, node before, nodes after, the user's line."""

    rule: str
    before: Apply | None
    after: tuple[Apply, ...]
    user_line: UserLine | None


@dataclass(slots=True)
class Report:
    """What a run of rewriting did. Iterating yields each change as `Change`; its nodes are there if the run kept them.

    Attributes
    ----------
    nodes_before, nodes_after
        Number of nodes.
    firings
        Every change, in order.
    rules
        Cost by rule, in order of first try.
    visits
        How often a node was looked at.
    failures
        Rules that failed, with the message.
    looping
        Rules that were stopped because they did not come to an end.
    loops
        For each of those, the rules that undid each other.
    checked, unchecked
        How many changes were evaluated before and after, and how many could not be.
    seconds
        Time of the whole run.
    """

    nodes_before: int = 0
    nodes_after: int = 0
    firings: list[Firing] = field(default_factory=list)
    rules: dict[str, RuleCost] = field(default_factory=dict)
    visits: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    looping: list[str] = field(default_factory=list)
    loops: list[tuple[str, ...]] = field(default_factory=list)
    checked: int = 0
    unchecked: int = 0
    seconds: float = 0.0

    def cost(self, rule: str) -> RuleCost:
        """Return the cost record of a rule, making it if there is none."""
        cost = self.rules.get(rule)
        if cost is None:
            cost = self.rules[rule] = RuleCost()
        return cost

    def fired(self) -> tuple[str, ...]:
        """Return the ids of the rules that changed something, in the order of their first change."""
        return tuple(dict.fromkeys(firing.rule for firing in self.firings))

    def __iter__(self) -> Iterator[Change]:
        for firing in self.firings:
            yield Change(firing.rule, firing.before, firing.after, firing.user_line)

    @property
    def tries(self) -> int:
        """How often any rule was tried."""
        return sum(cost.tries for cost in self.rules.values())

    def profile(self) -> str:
        """Return a table of all rules that were tried, the costliest first."""
        tried = sorted(
            ((n, c) for n, c in self.rules.items() if c.tries or c.hits), key=lambda x: (-x[1].seconds, x[0])
        )
        width = max((len(name) for name, _ in tried), default=4)
        head = f"{'rule':<{width}} {'ms':>9} {'tries':>8} {'hits':>7} {'refused':>7} {'nodes':>7} {'checks ms':>9}"
        lines = [self._head(), head]
        lines += [
            f"{name:<{width}} {c.seconds * 1e3:>9.3f} {c.tries:>8} {c.hits:>7} {c.refused:>7} {c.added:>7} "
            f"{c.validation * 1e3:>9.3f}"
            for name, c in tried
        ]
        return "\n".join(lines)

    def _head(self) -> str:
        return (
            f"{self.nodes_before} nodes became {self.nodes_after} in {self.seconds * 1e3:.2f} ms: "
            f"{len(self.firings)} changes, {self.visits} visits, {self.tries} tries"
        )

    def __str__(self) -> str:
        """Show the sizes, and a table of the rules that changed something."""
        by_hits = sorted(self.rules.items(), key=lambda item: (-item[1].hits, item[0]))
        width = max((len(name) for name, cost in by_hits if cost.hits), default=0)
        lines = [self._head()]
        lines += [
            f"  {name:<{width}}  {cost.hits} of {cost.tries} tries  {cost.added} new nodes  {cost.seconds * 1e3:.2f} ms"
            for name, cost in by_hits
            if cost.hits
        ]
        lines += [f"  {name} failed: {text}" for name, text in self.failures]
        lines += [
            f"  {name} was stopped: it did not come to an end ({' and '.join(loop)} undo each other)"
            if len(loop) > 1
            else f"  {name} was stopped: it did not come to an end"
            for name, loop in zip(self.looping, self.loops, strict=True)
        ]
        return "\n".join(lines)

    def steps(self) -> str:
        """Return every change in one line each, in order."""
        return "\n".join(str(firing) for firing in self.firings)
