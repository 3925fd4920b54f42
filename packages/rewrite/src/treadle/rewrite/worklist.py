"""The engine: applies local rules until none changes anything, looking again only where something changed."""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from treadle.graph import Op
from treadle.rewrite.engine.tracked import OpClass, class_of, class_tracked, path_of
from treadle.rewrite.pattern import Law
from treadle.rewrite.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from treadle.graph import Apply, FunctionGraph
    from treadle.rewrite.engine.interface import NodeRewriter
    from treadle.rewrite.engine.report import RuleCost
    from treadle.rewrite.engine.run import Callback, Run

# For small graphs, a rule may change this many times the ratio (option optdb__max_use_ratio) before it is stopped.
FEWEST_NODES = 25
# A rewriter of unknown depth is tried again as if it looked this deep, and in sweeps as well.
USUAL_DEPTH = 2
# Nodes with more inputs than this are told apart by the set of ops below them, not by their order.
FEW_INPUTS = 4
# This many of the last changes are searched for rules that undo each other.
TAIL = 60


class Slot(NamedTuple):
    """A rule with its cost record of this run.

    `inner` is an op that one of the node's inputs must be computed by, where a law says so: most laws need not be
    tried at all.
    """

    rule: NodeRewriter
    name: str
    apply: Callable[..., object]
    needs_graph: bool
    inner: Op | None
    depth: int
    cost: RuleCost


class Test(NamedTuple):
    """What some ops of a class meet that a rule tracks."""

    of: type
    holds: Callable[[Op], object]
    rule: int


class RuleIndex:
    """Rules by op: those that track the op itself, a class of it, or what it meets, and those that track everything.

    It is made once for a rewriter and used by all its runs.
    """

    __slots__ = (
        "_by_class",
        "_by_op",
        "_by_path",
        "_cached",
        "_tests",
        "_tracking_all",
        "depth",
        "inner",
        "loose",
        "rules",
        "traits",
    )

    def __init__(self, rules: Sequence[NodeRewriter]) -> None:
        self.rules = tuple(rules)
        self._by_op: dict[Op, list[int]] = {}
        self._by_class: dict[type, list[int]] = {}
        self._by_path: dict[str, list[int]] = {}
        self._tests: list[Test] = []
        self._tracking_all: list[int] = []
        for i, rule in enumerate(self.rules):
            tracked = rule.tracks()
            if tracked is None:
                self._tracking_all.append(i)
                continue
            for item in tracked:
                if isinstance(item, Op):
                    self._by_op.setdefault(item, []).append(i)
                elif isinstance(item, type) and class_of(item) is item:
                    self._by_class.setdefault(item, []).append(i)
                elif isinstance(item, OpClass):
                    self._by_path.setdefault(item.path, []).append(i)
                else:
                    self._tests.append(_test_of(item, i))
        self._cached: dict[type, tuple[frozenset[int], tuple[Test, ...], bool]] = {}
        self.depth = max((depth_of(rule) for rule in self.rules), default=0)
        self.inner = frozenset(type(inner) for inner in map(inner_of, self.rules) if inner is not None)
        # The first fields of each rule's `Slot`.
        self.traits = tuple(map(_traits_of, self.rules))
        self.loose = frozenset(i for i, rule in enumerate(self.rules) if rule.depth is None)

    def __getitem__(self, op: Op) -> list[int]:
        """Return the numbers of the rules for an op, in order."""
        by_class, tests, _ = self._of_class(type(op))
        if not tests and op not in self._by_op:
            return sorted(by_class)
        meeting = (test.rule for test in tests if test.holds(op))
        return sorted(by_class.union(self._by_op.get(op, ()), meeting))

    def looks_at_single(self, kind: type[Op]) -> bool:
        """Whether rules look at some ops of a class and not at all of them."""
        return self._of_class(kind)[2]

    def _of_class(self, kind: type[Op]) -> tuple[frozenset[int], tuple[Test, ...], bool]:
        """Return the rules for all ops of a class, what tells those for some of them, and whether there are any."""
        known = self._cached.get(kind)
        if known is None:
            numbers = set(self._tracking_all)
            for base in kind.__mro__:
                numbers.update(self._by_class.get(base, ()))
                if self._by_path:
                    numbers.update(self._by_path.get(path_of(base), ()))
            tests = tuple(test for test in self._tests if issubclass(kind, test.of))
            is_single = bool(tests) or any(type(op) is kind for op in self._by_op)
            known = self._cached[kind] = (frozenset(numbers), tests, is_single)
        return known


def _test_of(item: type | Callable[[Op], object], rule: int) -> Test:
    """Return what tells the ops that a class stands for, or that meet a predicate."""
    if isinstance(item, type):
        return Test(class_of(item), lambda op: isinstance(op, item), rule)
    return Test(class_tracked(item), item, rule)


def inner_of(rule: NodeRewriter) -> Op | None:
    """Return an op that one of a node's inputs must be computed by for the rule to apply, where a law says so."""
    return rule.apply.inner if isinstance(rule, Rule) and isinstance(rule.apply, Law) else None


def _traits_of(rule: NodeRewriter) -> tuple[NodeRewriter, str, Callable[..., object], bool, Op | None, int]:
    if isinstance(rule, Rule):
        return rule, rule.name, rule.apply, rule.needs_graph, inner_of(rule), rule.depth
    return rule, str(rule), rule.transform, True, None, depth_of(rule)


def depth_of(rule: NodeRewriter) -> int:
    """Return how many levels of nodes a rule is assumed to look at."""
    return USUAL_DEPTH if rule.depth is None else rule.depth


class Plan:
    """The rules for one op in one run."""

    __slots__ = ("_cached", "_slots", "always", "loose", "reach")

    def __init__(self, slots: tuple[Slot, ...], loose: bool) -> None:
        self.reach = max((slot.depth for slot in slots), default=0)
        self.loose = loose
        # None where the ops below the node decide which rules are worth trying.
        self.always = slots if all(slot.inner is None for slot in slots) else None
        self._slots = slots
        self._cached: dict[object, tuple[Slot, ...]] = {}

    def slots(self, node: Apply, number: Callable[[Op], int], inner: frozenset[type]) -> tuple[Slot, ...]:
        """Return the rules to try on a node; `inner` holds the classes of ops that rules look for below."""
        if self.always is not None:
            return self.always
        below = [number(op) if type(op := x.owner.op) in inner else None for x in node.inputs if x.owner is not None]
        key: object = tuple(below) if len(below) <= FEW_INPUTS else frozenset(below)
        slots = self._cached.get(key)
        if slots is None:
            ops = {x.owner.op for x in node.inputs if x.owner is not None and type(x.owner.op) in inner}
            slots = tuple(slot for slot in self._slots if slot.inner is None or slot.inner in ops)
            self._cached[key] = slots
        return slots


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
        self._number = run.numbers.of
        self._queue: deque[Apply] = deque()
        self._queued: set[Apply] = set()
        # By class of ops, whether rules look at some ops of it only.
        self._single: dict[type, bool] = {}
        self._plans: dict[object, Plan] = {}
        self._slots: list[Slot | None] = [None] * len(index.rules)
        self._stopped: set[int] = set()
        self._hits: dict[str, int] = {}
        self._limit = 0.0
        self._raised = False
        self._guarded = False
        self._first = len(run.report.firings)

    def plan(self, op: Op) -> Plan:
        """Return the rules for an op."""
        kind = type(op)
        is_single = self._single.get(kind)
        if is_single is None:
            is_single = self._single[kind] = self._index.looks_at_single(kind)
        number = self._number(op) if is_single else kind
        plan = self._plans.get(number)
        if plan is None:
            numbers = [i for i in self._index[op] if i not in self._stopped]
            slots = tuple([self._slots[i] or self._slot(i) for i in numbers])
            plan = self._plans[number] = Plan(slots, not self._index.loose.isdisjoint(numbers))
        return plan

    def _slot(self, i: int) -> Slot:
        traits = self._index.traits[i]
        slot = self._slots[i] = Slot(*traits, self._run.report.cost(traits[1]))
        return slot

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
        self._guarded = run.guarded
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
        queue, queued, graph, report = self._queue, self._queued, self._graph, self._run.report
        while queue:
            node = queue.popleft()
            queued.discard(node)
            if node in graph:
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
        """Try the rules on a node until one changes something."""
        run, graph = self._run, self._graph
        if run.freshen(node):
            self._queue_touched()
            return
        start = perf_counter()
        for slot in self.plan(node.op).slots(node, self._number, self._index.inner):
            _, name, apply, needs_graph, _, _, cost = slot
            cost.tries += 1
            changed = False
            try:
                answer = apply(graph, node) if needs_graph else apply(node)
                if answer is not None and answer is not False:
                    changed = run.replace(name, cost, node, answer, self._guarded)
            except Exception as error:  # noqa: BLE001 - a rule may raise anything; on_opt_error decides
                run.failed(name, node, error, self._callback)
            now = perf_counter()
            cost.seconds += now - start
            start = now
            if changed:
                self._changed_by(slot, node)
                return

    def _changed_by(self, slot: Slot, node: Apply) -> None:
        """Record a change, and queue what it touched."""
        run, name = self._run, slot.name
        run.fired(name, slot.cost, node)
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
        if self._again == "new":
            return
        level = changed
        for depth in range(1, self._index.depth + 1):
            if not level:
                break
            level = self._queue_level(level, depth)

    def _queue_level(self, level: list[Apply], depth: int) -> list[Apply]:
        """Queue nodes whose rules look `depth` levels down; return the clients of all of them."""
        graph, queued, deepest = self._graph, self._queued, self._index.depth
        above: list[Apply] = []
        for node in level:
            if node not in queued and node in graph and self.plan(node.op).reach >= depth:
                queued.add(node)
                self._queue.append(node)
            if depth < deepest:
                for out in node.outputs:
                    above.extend([client for client, _ in graph.clients.get(out, ()) if client.outputs])
        return above

    def _stop(self, slot: Slot, node: Apply) -> None:
        """Stop a rule that does not come to an end."""
        run = self._run
        self._stopped.add(self._index.rules.index(slot.rule))
        self._plans.clear()
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
