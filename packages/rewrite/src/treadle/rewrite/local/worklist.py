"""The engine: applies local rules until none changes anything, looking again only where something changed."""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING

from treadle.graph import ORIGIN, Constant
from treadle.rewrite.local.dispatch import OpRules

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.graph import Apply, FunctionGraph, Op
    from treadle.rewrite.engine.report import RuleCost
    from treadle.rewrite.engine.run import Callback, Run
    from treadle.rewrite.local.dispatch import Plan, RuleIndex, Slot

# For small graphs, a rule may change this many times the ratio (option optdb__max_use_ratio) before it is stopped.
FEWEST_NODES = 25
# Nodes with more inputs than this are told apart by the set of ops below them, not by their order.
FEW_INPUTS = 4
_NOTHING: frozenset[int] = frozenset()
# This many of the last changes are searched for rules that undo each other.
TAIL = 60


class Worklist:
    """Local rules at work on one graph.

    Nodes wait in a queue, at first all of them, each after those it needs. What a replacement brings in is looked at
    next (last, unless `new_first`); what uses it, or can see it through its inputs, is looked at again. `again` is
    ``"touched"`` for that, ``"new"`` to look again only at what comes in, ``"never"`` to look at each node once.

    `ratio` is how many changes one rule may make for each node of the graph before it is stopped.
    """

    def __init__(
        self,
        run: Run,
        index: RuleIndex,
        ratio: float,
        *,
        new_first: bool = True,
        again: str = "touched",
        callback: Callback | None = None,
    ) -> None:
        self._run = run
        self._graph: FunctionGraph = run.fgraph
        self._index = index
        self._ratio = ratio
        self._new_first = new_first
        self._again = again
        self._callback = callback
        self._ops = run.ops
        # How many ops of the run were looked at, for rules that wait for one, and the rules whose op was there.
        self._known = 0
        self._met: set[int] = set()
        # The rules that an op meets as one that computes an input, by its identity: the run keeps the ops.
        self._below: dict[int, frozenset[int]] = {}
        self._queue: deque[Apply] = deque()
        self._queued: set[Apply] = set()
        self._plans: dict[OpRules, Plan] = {}
        # The same by the identity of an op, which the run keeps.
        self._plan_of: dict[int, Plan] = {}
        # How many levels the rules for an op of the graph look down at most.
        self._deepest = 0
        self._costs: list[RuleCost | None] = [None] * len(index.rules)
        self._stopped: set[int] = set()
        self._hits: dict[str, int] = {}
        self._limit = 0.0
        self._raised = False
        self._guarded = self._refusing = False
        self._first = len(run.report.firings)

    def plan(self, op: Op) -> Plan:
        """Return the rules for an op of the graph."""
        if len(self._ops) != self._known:
            self._look_at_new_ops()
        plan = self._plan_of.get(id(op))
        if plan is None:
            plan = self._plan_of[id(op)] = self._found_plan(op)
        return plan

    def _found_plan(self, op: Op) -> Plan:
        rules = self._index.of(op)
        plan = self._plans.get(rules)
        if plan is None:
            known = rules
            if not self._stopped.isdisjoint(rules.numbers):
                rules = OpRules(self._index, self._index.tracked[op] - self._stopped)
            self._deepest = max(self._deepest, rules.reach)
            plan = self._plans[known] = rules.plan(rules.waiting - self._met)
        return plan

    def _cost(self, slot: Slot) -> RuleCost:
        """Return the record of what a rule costs."""
        cost = self._costs[slot.at] = self._run.report.cost(slot.name)
        return cost

    def _look_at_new_ops(self) -> None:
        """Take up the rules that need an op which has come into the graph."""
        needed, met = self._index.needed, self._met
        fresh = {rule for op in self._ops[self._known :] for rule in needed[op] if rule not in met}
        self._known = len(self._ops)
        if fresh:
            met |= fresh
            self._plans.clear()
            self._plan_of.clear()

    def _slots_for(self, node: Apply) -> tuple[Slot, ...]:
        """Return the rules to try on a node."""
        plan = self.plan(node.op)
        if plan.always is not None:
            return plan.always
        below, index, value_of = self._below, self._index, plan.value_of
        sets: list[frozenset[int]] = []
        constants = 0
        for x in node.inputs:
            if (owner := x.owner) is not None:
                known = below.get(id(owner.op))
                met = self._found_below(owner.op) if known is None else known
            elif isinstance(x, Constant):
                constants += 1
                met = index.constant
            else:
                met = _NOTHING
            if value_of is not None:
                try:
                    value = value_of(x)
                except Exception:  # noqa: BLE001 - a user's function may raise anything: the laws fail by it in turn
                    return plan.every
                if value is not None and (wanting := plan.numbers.get(value)):
                    met = met | wanting
            sets.append(met)
        if constants and constants == len(sets):
            sets.append(index.all_constant)
        met_by_all = tuple(sets) if len(sets) <= FEW_INPUTS else frozenset(sets)
        slots = plan.known.get(met_by_all)
        return plan.slots(met_by_all, sets) if slots is None else slots

    def _found_below(self, op: Op) -> frozenset[int]:
        """Return the rules that an op meets as one that computes an input."""
        met = self._below[id(op)] = self._index.below[op]
        return met

    # The loop

    def start(self, order: Iterable[Apply]) -> None:
        """Queue nodes, in order."""
        self._run.take()
        nodes = [node for node in order if self.plan(node.op).reach]
        self._limit = self._ratio * max(FEWEST_NODES, len(self._graph))
        self._raised = False
        self._queue.extend(nodes)
        self._queued.update(nodes)

    def work(self) -> None:
        """Apply the rules until none changes anything."""
        run = self._run
        self._guarded, self._refusing = run.guarded, run.refusing
        while True:
            changes = run.changes
            self._empty_queue()
            if self._again != "touched":
                return
            # Nodes that no rule tracks were never looked at, so merging and inference may be left to do.
            run.settle()
            self._queue_touched()
            if not self._queue and run.changes != changes and self._index.loose:
                self._sweep()
            if not self._queue:
                return

    def _empty_queue(self) -> None:
        queue, queued, report = self._queue, self._queued, self._run.report
        present = self._graph.apply_nodes
        while queue:
            node = queue.popleft()
            queued.discard(node)
            if node in present:
                report.visits += 1
                self._visit(node)

    def _sweep(self) -> None:
        """Queue every node with a rule of unknown depth: a change anywhere may let it apply."""
        nodes = [node for node in self._graph.toposort() if self.plan(node.op).loose]
        self._queue.extend(nodes)
        self._queued.update(nodes)

    def resume(self) -> bool:
        """Queue what has changed since the last look; return whether there is anything."""
        self._queue_touched()
        return bool(self._queue)

    def _visit(self, node: Apply) -> None:
        """Try the rules on a node until one changes something; what they build comes from the line of the node."""
        run = self._run
        if run.is_stale(node) and run.freshen(node):
            self._queue_touched()
            return
        slots = self._slots_for(node)
        if not slots:
            return
        outer = ORIGIN.line
        if run.options.carries:
            ORIGIN.line = node.user_line
        try:
            self._try_rules(node, slots)
        finally:
            ORIGIN.line = outer

    def _try_rules(self, node: Apply, slots: Sequence[Slot]) -> None:
        run, graph = self._run, self._graph
        start = perf_counter()
        costs = self._costs
        for slot in slots:
            _, name, apply, needs_graph, at, _ = slot
            cost = costs[at] or self._cost(slot)
            cost.tries += 1
            changed = False
            try:
                answer = apply(graph, node) if needs_graph else apply(node)
                if answer is not None and answer is not False:
                    changed = run.replace(name, cost, node, answer, self._guarded, self._refusing)
            except Exception as error:  # noqa: BLE001 - a rule may raise anything; on_opt_error decides
                run.failed(name, node, error, self._callback)
            now = perf_counter()
            cost.seconds += now - start
            start = now
            if changed:
                self._changed_by(slot, cost, node)
                return

    def _changed_by(self, slot: Slot, cost: RuleCost, node: Apply) -> None:
        """Record a change, and queue what it touched."""
        run, name = self._run, slot.name
        run.fired(name, cost, node)
        hits = self._hits[name] = self._hits.get(name, 0) + 1
        run.merge_new()
        self._queue_touched(node)
        if hits > self._limit:
            # A small graph becomes a large one where a node is expanded: the limit follows, once.
            grown = 0.0 if self._raised else self._ratio * len(self._graph)
            self._raised = True
            self._limit = max(self._limit, grown)
            if hits > self._limit:
                self._stop(slot, node)

    def _queue_touched(self, node: Apply | None = None) -> None:
        """Queue what changes have touched; a node that is still in the graph after its own change, too."""
        new, changed = self._run.take()
        if self._again == "never":
            return
        if node is not None and node in self._graph:
            new.append(node)
        queue, queued = self._queue, self._queued
        add = queue.appendleft if self._new_first else queue.append
        for new_node in reversed(new) if self._new_first else new:
            if new_node not in queued:
                queued.add(new_node)
                add(new_node)
        if self._again != "new" and changed:
            self._queue_above(changed)

    def _queue_above(self, changed: Iterable[Apply]) -> None:
        """Queue nodes that have changed, and those above whose rules look as many levels down."""
        if len(self._ops) != self._known:
            self._look_at_new_ops()
        queue, queued, plans = self._queue, self._queued, self._plan_of
        present, clients = self._graph.apply_nodes, self._graph.clients
        level: Iterable[Apply] = dict.fromkeys(changed)
        seen = set(level)
        depth = 0
        while level:
            depth += 1
            above: list[Apply] = []
            for node in level:
                if node not in queued and node in present:
                    plan = plans.get(id(node.op)) or self.plan(node.op)
                    if plan.reach >= depth:
                        queued.add(node)
                        queue.append(node)
                if depth < self._deepest:
                    for out in node.outputs:
                        for client, _ in clients.get(out, ()):
                            if client not in seen and client.outputs:
                                seen.add(client)
                                above.append(client)
            level = above

    def _stop(self, slot: Slot, node: Apply) -> None:
        """Stop a rule that does not come to an end."""
        run = self._run
        self._stopped.add(slot.at)
        self._plans.clear()
        self._plan_of.clear()
        names = [firing.rule for firing in run.report.firings[self._first :]]
        members = set(undoing(names[-TAIL:]))
        loop = tuple(name for name in dict.fromkeys(names) if name in members)
        rivals = [name for name in loop if name != slot.name]
        with_rivals = f" ({' and '.join(map(repr, loop))} undo each other)" if rivals else ""
        phase = f" in phase {run.phase}" if run.phase else ""
        msg = (
            f"rule {slot.name!r}: changed the graph {self._hits[slot.name]} times{phase} and did not come to an end"
            f"{with_rivals}, last on {node.op}{node.where()}. It is left out from here on; correct it, or exclude it "
            "by its name."
        )
        run.endless(slot.name, loop, msg)


def undoing(names: Sequence[str]) -> tuple[str, ...]:
    """Return the rules of the loop at the end of a sequence of changes: the shortest period, or else all of them."""
    for period in range(1, len(names) // 3 + 1):
        tail = names[-3 * period :]
        if all(a == b for a, b in zip(tail, tail[period:], strict=False)):
            return tuple(dict.fromkeys(tail[:period]))
    return tuple(dict.fromkeys(names))
