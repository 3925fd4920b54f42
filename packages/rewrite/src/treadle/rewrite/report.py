"""Report: what a run of rewriting did, where, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from treadle.graph import Op, UserLine
    from treadle.rewrite.phase import Phase


@dataclass(slots=True)
class RuleCost:
    """What one rule cost: how often it was tried, how often it changed something, seconds spent in it."""

    tries: int = 0
    hits: int = 0
    seconds: float = 0.0


class Firing(NamedTuple):
    """One change: the rule, the phase, the op of the node that was replaced, and the user's line it came from."""

    rule: str
    phase: Phase
    op: Op | None
    user_line: UserLine | None

    def __str__(self) -> str:
        """Show in one line."""
        where = f" at {self.user_line}" if self.user_line is not None else ""
        what = f" on {self.op}" if self.op is not None else ""
        return f"{self.phase.tag}: {self.rule}{what}{where}"


@dataclass(slots=True)
class Report:
    """What a run of rewriting did.

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
        Rules that were stopped because they went on and on.
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
    seconds: float = 0.0

    def cost(self, rule: str) -> RuleCost:
        """Return the cost record of a rule, making it if there is none."""
        return self.rules.setdefault(rule, RuleCost())

    def fired(self) -> tuple[str, ...]:
        """Return the ids of the rules that changed something, in the order of their first change."""
        return tuple(dict.fromkeys(firing.rule for firing in self.firings))

    @property
    def tries(self) -> int:
        """How often any rule was tried."""
        return sum(cost.tries for cost in self.rules.values())

    def __str__(self) -> str:
        """Show the sizes, and a table of the rules that fired or took longest."""
        head = (
            f"{self.nodes_before} nodes became {self.nodes_after} in {self.seconds * 1e3:.2f} ms: "
            f"{len(self.firings)} changes, {self.visits} visits, {self.tries} tries"
        )
        shown = sorted(self.rules.items(), key=lambda item: (-item[1].hits, -item[1].seconds))
        width = max((len(name) for name, cost in shown if cost.hits), default=0)
        lines = [head]
        lines += [
            f"  {name:<{width}}  {cost.hits} of {cost.tries} tries  {cost.seconds * 1e3:.2f} ms"
            for name, cost in shown
            if cost.hits
        ]
        lines += [f"  {name} failed: {text}" for name, text in self.failures]
        lines += [f"  {name} was stopped: it did not come to an end" for name in self.looping]
        return "\n".join(lines)
