"""The engine: applies local rules until none changes anything, looking again only where something changed."""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.config import lazy_module
from treadle.graph import Feature, Variable
from treadle.rewrite.errors import RewriteError, RewriteWarning
from treadle.rewrite.pattern import Law
from treadle.rewrite.report import Firing

if TYPE_CHECKING:
    import pdb
    from collections.abc import Callable

    from treadle.graph import Apply, FunctionGraph, Op
    from treadle.rewrite.phase import Phase
    from treadle.rewrite.report import Report, RuleCost
    from treadle.rewrite.rules import Rule
else:
    pdb = lazy_module("pdb")

# A rule that changes more than this many times the graph's nodes (or the floor, for small graphs) is stopped.
MOST_CHANGES_PER_NODE = 8
FEWEST_CHANGES = 200


@dataclass(frozen=True, slots=True)
class Conduct:
    """How a run behaves: the options that it reads once, when it starts."""

    on_error: str = "warn"
    verbose: bool = False


class Slot(NamedTuple):
    """A rule with its cost record of this run.

    `inner` is an op that one of the node's inputs must be computed by, where a law says so: most laws need not be
    tried at all.
    """

    rule: Rule
    apply: Callable[..., Any]
    needs_graph: bool
    inner: Op | None
    cost: RuleCost


class RuleIndex:
    """The rules of one phase by op: those that track the op itself, and those that track a class of it."""

    __slots__ = ("_by_op", "_known", "_tracking_all", "depth", "reach", "slots")

    def __init__(self, rules: Sequence[Rule], report: Report) -> None:
        self.slots = [
            Slot(
                rule,
                rule.apply,
                rule.needs_graph,
                rule.apply.inner if isinstance(rule.apply, Law) else None,
                report.cost(rule.name),
            )
            for rule in rules
        ]
        self._by_op: dict[Any, list[int]] = {}
        self._tracking_all: list[int] = []
        for i, rule in enumerate(rules):
            for item in rule.tracked:
                self._by_op.setdefault(item, []).append(i)
            if not rule.tracked:
                self._tracking_all.append(i)
        self._known: dict[Op, tuple[Slot, ...]] = {}
        self.reach: dict[Op, int] = {}
        self.depth = max((rule.depth for rule in rules), default=0)

    def __getitem__(self, op: Op) -> tuple[Slot, ...]:
        """Return the rules for an op, in order."""
        found = self._known.get(op)
        if found is None:
            numbers = {*self._tracking_all, *self._by_op.get(op, ())}
            for base in type(op).__mro__:
                numbers.update(self._by_op.get(base, ()))
            found = self._known[op] = tuple(self.slots[i] for i in sorted(numbers))
            self.reach[op] = max((slot.rule.depth for slot in found), default=0)
        return found

    def reach_of(self, op: Op) -> int:
        """Return how many levels the rules for an op look at."""
        known = self.reach.get(op)
        if known is None:
            self[op]
            known = self.reach[op]
        return known

    def stop(self, rule: Rule) -> None:
        """Leave a rule out from now on."""
        self._known = {op: tuple(s for s in slots if s.rule is not rule) for op, slots in self._known.items()}
        # Ops not met so far must not find it either.
        i = next(i for i, slot in enumerate(self.slots) if slot.rule is rule)
        for numbers in (self._tracking_all, *self._by_op.values()):
            if i in numbers:
                numbers.remove(i)


class Worklist(Feature):
    """One phase's run over one graph.

    Nodes wait in a queue, at first all of them, each after those it needs. What a replacement brings in is looked at
    next; what uses it, or can see it through its inputs, is looked at again.
    """

    def __init__(
        self, fgraph: FunctionGraph, phase: Phase, rules: Sequence[Rule], report: Report, conduct: Conduct
    ) -> None:
        self._fgraph = fgraph
        self._phase = phase
        self._index = RuleIndex(rules, report)
        self._report = report
        self._conduct = conduct
        self._queue: deque[Apply] = deque()
        self._queued: set[Apply] = set()
        self._new: list[Apply] = []
        self._changed: list[Apply] = []
        self._limit = 0
        self._hits: dict[str, int] = {}

    # What happens to the graph

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Note a new node."""
        del fgraph, reason
        self._new.append(node)

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, old: Variable, new: Variable, reason: str | None
    ) -> None:
        """Note a node that has another input now."""
        del fgraph, i, old, new, reason
        if node.outputs:
            self._changed.append(node)

    # The loop

    def run(self) -> None:
        """Apply the rules until none changes anything."""
        graph = self._fgraph
        order = graph.toposort()
        self._limit = max(FEWEST_CHANGES, MOST_CHANGES_PER_NODE * len(order))
        index = self._index
        self._queue.extend(node for node in order if index[node.op])
        self._queued.update(self._queue)
        graph.attach_feature(self)
        try:
            while self._queue:
                node = self._queue.popleft()
                self._queued.discard(node)
                if node in graph:
                    self._report.visits += 1
                    self._visit(node)
        finally:
            graph.remove_feature(self)

    def _visit(self, node: Apply) -> None:
        """Try the rules on a node until one changes something."""
        graph = self._fgraph
        before = perf_counter()
        below = {x.owner.op for x in node.inputs if x.owner is not None}
        for slot in self._index[node.op]:
            _, apply, needs_graph, inner, cost = slot
            if inner is not None and inner not in below:
                continue
            cost.tries += 1
            try:
                made = apply(graph, node) if needs_graph else apply(node)
                changed = made is not None and made is not False and self._replace(slot, node, made)
            except Exception as error:  # noqa: BLE001 - a rule of anyone's may raise anything; on_opt_error decides
                self._failed(slot.rule, node, error)
                changed = False
            now = perf_counter()
            cost.seconds += now - before
            before = now
            if changed:
                self._changed_by(slot, node)
                return

    def _replace(self, slot: Slot, node: Apply, made: Any) -> bool:
        """Put what a rule returned in its place; return whether anything changed."""
        graph = self._fgraph
        name = slot.rule.name
        pairs = [
            (old, new)
            for old, new in _pairs(name, node, made)
            if new is not None and new is not old and graph.clients.get(old)
        ]
        for old, new in pairs:
            if not old.type.is_super(new.type):
                msg = (
                    f"rule {name!r}: the replacement of {node.op} has type {new.type}, which neither equals nor "
                    f"refines {old.type}{node.where()}. Correct the rule, or exclude it by its name."
                )
                raise RewriteError(msg)
        for old, new in pairs:
            graph.replace(old, new, name)
            if old.name is not None and new.name is None and new.owner in self._new:
                new.name = old.name
        return bool(pairs)

    def _changed_by(self, slot: Slot, node: Apply) -> None:
        """Record a change, and queue what it touched."""
        name = slot.rule.name
        cost = slot.cost
        cost.hits += 1
        hits = self._hits[name] = self._hits.get(name, 0) + 1
        firing = Firing(name, self._phase, node.op, node.user_line)
        self._report.firings.append(firing)
        if self._conduct.verbose:
            sys.stdout.write(f"{firing}\n")
        self._queue_touched(node, again=True)
        if hits > self._limit:
            self._stop(slot.rule, node)

    def _queue_touched(self, node: Apply, again: bool) -> None:
        """Queue what a change on a node touched; `again` tells whether the node itself is looked at again."""
        new, changed = self._new, self._changed
        self._new, self._changed = [], []
        queue, queued = self._queue, self._queued
        for fresh in new:
            # Nodes that a rule makes come from the line of the node they replace.
            fresh.user_line = node.user_line
        if again and node in self._fgraph:
            new.append(node)
        for fresh in reversed(new):
            if fresh not in queued:
                queued.add(fresh)
                queue.appendleft(fresh)
        level = changed
        for depth in range(1, self._index.depth + 1):
            if not level:
                break
            level = self._queue_level(level, depth)

    def _queue_level(self, level: list[Apply], depth: int) -> list[Apply]:
        """Queue nodes whose rules look `depth` levels down; return the clients of all of them."""
        graph, queued, reach_of = self._fgraph, self._queued, self._index.reach_of
        above: list[Apply] = []
        for node in level:
            if node not in queued and node in graph and reach_of(node.op) >= depth:
                queued.add(node)
                self._queue.append(node)
            if depth < self._index.depth:
                for out in node.outputs:
                    above.extend(client for client, _ in graph.clients.get(out, ()) if client.outputs)
        return above

    # Trouble

    def _failed(self, rule: Rule, node: Apply, error: Exception) -> None:
        """Deal with a rule's failure as the option on_opt_error says."""
        text = f"{type(error).__name__}: {error}"
        msg = (
            f"rule {rule.name!r}: failed on {node.op}{node.where()} ({text}). "
            "Exclude it by its name, and report it to its author."
        )
        self._report.failures.append((rule.name, text))
        # The same rule would fail on the same node again and again.
        self._queue_touched(node, again=False)
        on_error = self._conduct.on_error
        if on_error == "raise":
            raise RewriteError(msg) from error
        if on_error == "warn":
            warnings.warn(msg, RewriteWarning, stacklevel=2)
        elif on_error == "pdb":
            pdb.post_mortem(error.__traceback__)

    def _stop(self, rule: Rule, node: Apply) -> None:
        """Stop a rule that goes on and on."""
        self._index.stop(rule)
        self._report.looping.append(rule.name)
        msg = (
            f"rule {rule.name!r}: changed the graph {self._hits[rule.name]} times in phase {self._phase.tag} and did "
            f"not come to an end, last on {node.op}{node.where()}. It is left out from here on; correct it, or exclude "
            "it by its name."
        )
        if self._conduct.on_error == "raise":
            raise RewriteError(msg)
        if self._conduct.on_error != "ignore":
            warnings.warn(msg, RewriteWarning, stacklevel=2)


def _pairs(name: str, node: Apply, made: Any) -> list[tuple[Variable, Variable | None]]:
    """Return what is to be replaced by what, from the forms in which a rule may answer."""
    if isinstance(made, Variable):
        if len(node.outputs) == 1:
            return [(node.outputs[0], made)]
        made = [made]
    pairs: list[tuple[Any, Any]]
    if isinstance(made, Mapping):
        pairs = list(made.items())
    elif isinstance(made, Sequence) and len(made) == len(node.outputs):
        pairs = list(zip(node.outputs, made, strict=True))
    else:
        msg = (
            f"rule {name!r}: must return None, a variable, or one variable (or None) for each of the "
            f"{len(node.outputs)} outputs of {node.op}, got {made!r}. Correct the rule."
        )
        raise RewriteError(msg)
    for old, new in pairs:
        if not isinstance(old, Variable) or not (new is None or isinstance(new, Variable)):
            msg = f"rule {name!r}: variables are needed as replacements of {node.op}, got {new!r}. Correct the rule."
            raise RewriteError(msg)
    return pairs
