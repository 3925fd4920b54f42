"""Which rules are worth trying on a node: by its op, by what computes its inputs, and by the ops that the graph has."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from treadle.graph import Op
from treadle.rewrite.engine.tracked import OpClass, OpPattern, class_of, class_tracked, path_of
from treadle.rewrite.pattern import Law
from treadle.rewrite.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from treadle.graph import Variable
    from treadle.rewrite.engine.interface import NodeRewriter
    from treadle.rewrite.engine.tracked import Tracked

# A rewriter of unknown depth is tried again as if it looked this deep, and in sweeps as well.
USUAL_DEPTH = 2
# The rules for as many ops are remembered from one run to the next.
MOST_KNOWN = 512
_NONE: frozenset[int] = frozenset()


class Slot(NamedTuple):
    """A rule as the engine calls it.

    `at` is its number in the index, `number` the one that an input must hold, where a law says so.
    """

    rule: NodeRewriter
    name: str
    apply: Callable[..., object]
    needs_graph: bool
    at: int
    number: complex | None


class Test(NamedTuple):
    """What some ops of a class meet that a rule names; `is_lasting` if nothing but the op decides."""

    of: type
    holds: Callable[[Op], object]
    rule: int
    is_lasting: bool


class OpIndex:
    """Numbers of rules, by op: of those that name the op itself, a class of it, or what it meets.

    Parameters
    ----------
    named
        What each rule names, by its number.
    always
        Rules that look at every op.
    """

    __slots__ = ("_always", "_by_class", "_by_op", "_by_path", "_cached", "_known", "_tests")

    def __init__(self, named: Mapping[int, Iterable[Tracked]], always: Iterable[int] = ()) -> None:
        self._by_op: dict[Op, list[int]] = {}
        self._by_class: dict[type, list[int]] = {}
        self._by_path: dict[str, list[int]] = {}
        self._tests: list[Test] = []
        self._always = frozenset(always)
        for i, items in named.items():
            for item in items:
                if isinstance(item, Op):
                    self._by_op.setdefault(item, []).append(i)
                elif isinstance(item, type) and class_of(item) is item:
                    self._by_class.setdefault(item, []).append(i)
                elif isinstance(item, OpClass):
                    self._by_path.setdefault(item.path, []).append(i)
                else:
                    self._tests.append(_test_of(item, i))
        self._cached: dict[type, tuple[frozenset[int], tuple[Test, ...], bool]] = {}
        # By op, of classes of which rules look at some ops only; the functions of a process apply few ops.
        self._known: dict[Op, frozenset[int]] = {}

    def __getitem__(self, op: Op) -> frozenset[int]:
        """Return the numbers of the rules for an op."""
        by_class, tests, is_single = self._of_class(type(op))
        if not is_single:
            return by_class
        numbers = self._known.get(op)
        if numbers is None:
            numbers = by_class.union(self._by_op.get(op, ()), [test.rule for test in tests if test.holds(op)])
            if all(test.is_lasting for test in tests):
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                self._known[op] = numbers
        return numbers

    def looks_at_single(self, kind: type[Op]) -> bool:
        """Whether rules look at some ops of a class and not at all of them."""
        return self._of_class(kind)[2]

    def is_lasting(self, kind: type[Op]) -> bool:
        """Whether an op of a class has the same rules in every run: no function of a user's decides."""
        return all(test.is_lasting for test in self._of_class(kind)[1])

    def _of_class(self, kind: type[Op]) -> tuple[frozenset[int], tuple[Test, ...], bool]:
        """Return the rules for all ops of a class, what tells those for some of them, and whether there are any."""
        known = self._cached.get(kind)
        if known is None:
            numbers = set(self._always)
            for base in kind.__mro__:
                numbers.update(self._by_class.get(base, ()))
                if self._by_path:
                    numbers.update(self._by_path.get(path_of(base), ()))
            tests = tuple(test for test in self._tests if issubclass(kind, test.of))
            is_single = bool(tests) or any(type(op) is kind for op in self._by_op)
            known = self._cached[kind] = (frozenset(numbers), tests, is_single)
        return known


class RuleIndex:
    """Rules by what they look at. It is made once for a rewriter and used by all its runs.

    Attributes
    ----------
    rules
        The rules.
    tracked
        Rules by the op of the node that they are tried on.
    below
        Rules by an op that computes one of the node's inputs, where a rule says that there must be one.
    constant, all_constant
        Rules that want a constant among the inputs, and those that want only constants.
    conditional
        The rules of `below` and of these.
    needed
        Rules by an op that the graph must have, where a rule says that there must be one.
    waiting
        The rules of `needed`.
    loose
        The rules of unknown depth.
    """

    __slots__ = (
        "_depths",
        "_rules_of",
        "_slots",
        "all_constant",
        "below",
        "conditional",
        "constant",
        "loose",
        "needed",
        "numbers",
        "rules",
        "tracked",
        "waiting",
    )

    def __init__(self, rules: Sequence[NodeRewriter]) -> None:
        self.rules = tuple(rules)
        named = {i: rule.tracks() for i, rule in enumerate(self.rules)}
        always = [i for i, tracked in named.items() if tracked is None]
        self.tracked = OpIndex({i: tracked for i, tracked in named.items() if tracked is not None}, always)
        below = {i: items for i, rule in enumerate(self.rules) if (items := below_of(rule))}
        self.below = OpIndex(below)
        wanted = {i: rule.constants for i, rule in enumerate(self.rules) if isinstance(rule, Rule) and i not in below}
        self.constant = frozenset(i for i, which in wanted.items() if which == "any")
        self.all_constant = frozenset(i for i, which in wanted.items() if which == "all")
        self.conditional = frozenset(below) | self.constant | self.all_constant
        needed = {
            i: (rule.needs if isinstance(rule, Rule) else ()) or below.get(i) for i, rule in enumerate(self.rules)
        }
        self.needed = OpIndex({i: items for i, items in needed.items() if items})
        self.waiting = frozenset(i for i, items in needed.items() if items)
        self._depths = tuple(map(depth_of, self.rules))
        self.loose = frozenset(i for i, rule in enumerate(self.rules) if rule.depth is None)
        self._slots: list[Slot | None] = [None] * len(self.rules)
        self._rules_of: dict[Op | type[Op], OpRules] = {}

    def of(self, op: Op) -> OpRules:
        """Return the rules for an op; they are found once, unless a function of a user's decides which ops it means."""
        kind = type(op)
        key = op if self.tracked.looks_at_single(kind) else kind
        rules = self._rules_of.get(key)
        if rules is None:
            rules = OpRules(self, self.tracked[op])
            if self.tracked.is_lasting(kind):
                if len(self._rules_of) >= MOST_KNOWN:
                    self._rules_of.clear()
                self._rules_of[key] = rules
        return rules

    def reach(self, numbers: Iterable[int]) -> int:
        """Return how many levels of nodes some rules look at."""
        return max([self._depths[i] for i in numbers], default=0)

    def slot(self, i: int) -> Slot:
        """Return a rule as the engine calls it."""
        slot = self._slots[i]
        if slot is None:
            rule = self.rules[i]
            if isinstance(rule, Rule):
                law = rule.apply
                number = law.number if isinstance(law, Law) and i not in self.conditional else None
                slot = Slot(rule, rule.name, law, rule.needs_graph, i, number)
            else:
                slot = Slot(rule, str(rule), rule.transform, True, i, None)
            self._slots[i] = slot
        return slot


def _test_of(item: type | Callable[[Op], object], rule: int) -> Test:
    """Return what tells the ops that a class stands for, or that meet a predicate."""
    if isinstance(item, type):
        return Test(class_of(item), lambda op: isinstance(op, item), rule, is_lasting=True)
    return Test(class_tracked(item), item, rule, is_lasting=isinstance(item, OpPattern))


def below_of(rule: NodeRewriter) -> Sequence[Tracked]:
    """Return the ops one of which must compute one of the node's inputs for a rule to apply; none if it may be any."""
    if not isinstance(rule, Rule):
        return ()
    return rule.below or (rule.apply.below if isinstance(rule.apply, Law) else ())


def depth_of(rule: NodeRewriter) -> int:
    """Return how many levels of nodes a rule is assumed to look at."""
    return USUAL_DEPTH if rule.depth is None else rule.depth


class OpRules:
    """The rules for one op.

    Attributes
    ----------
    numbers
        Their numbers, in order.
    waiting
        Those that wait for an op to be in the graph.
    reach
        How many levels of nodes they look at.
    loose
        Whether one of them is of unknown depth.
    """

    __slots__ = ("_index", "_plans", "loose", "numbers", "reach", "waiting")

    def __init__(self, index: RuleIndex, numbers: frozenset[int]) -> None:
        self._index = index
        self.numbers = tuple(sorted(numbers))
        self.waiting = index.waiting & numbers
        self.reach = index.reach(numbers)
        self.loose = not index.loose.isdisjoint(numbers)
        self._plans: dict[frozenset[int], Plan] = {}

    def plan(self, left_out: frozenset[int]) -> Plan:
        """Return the plan for a graph that lacks the ops which some of the rules wait for."""
        plan = self._plans.get(left_out)
        if plan is None:
            slots = tuple([self._index.slot(i) for i in self.numbers if i not in left_out])
            plan = self._plans[left_out] = Plan(slots, self._index.conditional, self.reach, self.loose)
        return plan


class Plan:
    """The rules for one op in a graph.

    Attributes
    ----------
    reach, loose
        As of `OpRules`, rules that wait for an op included.
    every
        The rules that the graph has the ops for.
    always
        The same, if the inputs of the node do not decide which are worth trying.
    value_of, numbers
        What tells which number an input holds, and the rules that want one, by the number.
    known
        The rules to try, by what the inputs meet.
    """

    __slots__ = ("_wanting", "always", "every", "known", "loose", "numbers", "reach", "value_of")

    def __init__(self, slots: tuple[Slot, ...], conditional: frozenset[int], reach: int, loose: bool) -> None:
        self.reach, self.loose = reach, loose
        self.value_of: Callable[[Variable], complex | None] | None = None
        numbers: dict[complex, set[int]] = {}
        for slot in slots:
            if slot.number is not None and isinstance(slot.apply, Law):
                self.value_of = self.value_of or slot.apply.value_of
                if slot.apply.value_of is self.value_of:
                    numbers.setdefault(slot.number, set()).add(slot.at)
        self.numbers = {number: frozenset(wanting) for number, wanting in numbers.items()}
        self._wanting = {slot.at for slot in slots if slot.at in conditional}.union(*numbers.values())
        self.always = None if self._wanting else slots
        self.every = slots
        self.known: dict[object, tuple[Slot, ...]] = {}

    def slots(self, met: object, sets: Iterable[frozenset[int]]) -> tuple[Slot, ...]:
        """Return the rules to try, where `sets` are the rules that the inputs meet, and `met` is a key for these."""
        meeting = _NONE.union(*sets)
        slots = tuple([slot for slot in self.every if slot.at not in self._wanting or slot.at in meeting])
        if len(self.known) >= MOST_KNOWN:
            self.known.clear()
        self.known[met] = slots
        return slots
