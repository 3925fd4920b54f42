"""When a cost needs a variable: always, or only under certain outcomes of choices.

A gradient flows back through the branch taken only. So what flows from a node that is needed under a condition, to a
variable that is needed more often, is itself a choice on that condition, with zeros in the other branch: no derivative
of the branch not taken is computed, let alone multiplied by 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import IfElse
from treadle.graph import Variable as _Variable
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.types.conversion import constant, stands_for_tensors, tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from treadle.graph import Apply, Variable

# The outcome of one condition; outcomes that hold together, from outer choices to inner ones; alternatives of these.
Outcome = tuple[_Variable, bool]
Clause = tuple[Outcome, ...]
Demand = frozenset[Clause]

ALWAYS: Demand = frozenset({()})
# More alternatives than this are replaced by their common beginning: a wider demand is right, only less lazy.
MOST_CLAUSES = 8


def _simplified(clauses: Iterable[Clause]) -> Demand:
    """Return alternatives without those that others cover; both outcomes of one condition are no condition."""
    alternatives = set(clauses)
    while True:
        pair = next((c for c in alternatives if c and (*c[:-1], (c[-1][0], not c[-1][1])) in alternatives), None)
        if pair is None:
            break
        alternatives -= {pair, (*pair[:-1], (pair[-1][0], not pair[-1][1]))}
        alternatives.add(pair[:-1])
    kept = [c for c in alternatives if not any(d != c and set(d) < set(c) for d in alternatives)]
    if len(kept) <= MOST_CLAUSES:
        return frozenset(kept)
    first, *others = kept
    shared = 0
    while shared < len(first) and all(c[: shared + 1] == first[: shared + 1] for c in others):
        shared += 1
    return frozenset({first[:shared]})


class Conditions:
    """Under which outcomes of conditions each variable of a graph is needed; `roots` are needed always."""

    def __init__(self, roots: Collection[Variable]) -> None:
        self._known: dict[Demand, Demand] = {ALWAYS: ALWAYS}
        self._of: dict[Variable, Demand] = dict.fromkeys(roots, ALWAYS)

    def _one(self, demand: Demand) -> Demand:
        return self._known.setdefault(demand, demand)

    def _add(self, var: Variable, demand: Demand) -> None:
        old = self._of.get(var)
        if old is None or old is demand:
            self._of[var] = demand
        elif old is not ALWAYS:
            self._of[var] = ALWAYS if demand is ALWAYS else self._one(_simplified(old | demand))

    def of(self, var: Variable) -> Demand:
        """Return when a variable is needed, as alternatives; without alternatives it is never needed."""
        return self._of.get(var, self.never)

    @property
    def never(self) -> Demand:
        """The demand of what is never needed: no alternatives."""
        return self._one(frozenset())

    def within(self, demand: Demand, condition: Variable, outcome: bool) -> Demand:
        """Return the demand narrowed to one outcome of a condition."""
        possible = (clause for clause in demand if (condition, not outcome) not in clause)
        pair = (condition, outcome)
        narrowed = (clause if pair in clause else (*clause, pair) for clause in possible)
        return self._one(frozenset(narrowed))


class Demands(Conditions):
    """When each variable of a graph is needed, given the nodes in order of evaluation and what is needed always."""

    def __init__(self, order: Sequence[Apply], roots: Collection[Variable]) -> None:
        super().__init__(roots)
        self._tests: dict[tuple[Clause, ...], Variable] = {}
        for node in reversed(order):
            op = node.op
            if isinstance(op, IfElse):
                self._add_choice(op, node)
                continue
            demand = self.of_node(node)
            for x in node.inputs:
                self._add(x, demand)

    def _add_choice(self, op: IfElse, node: Apply) -> None:
        condition = node.inputs[0]
        self._add(condition, self.of_node(node))
        for outcome, branch in zip((True, False), op.branches(node), strict=True):
            for out, x in zip(node.outputs, branch, strict=True):
                self._add(x, self.within(self.of(out), condition, outcome))

    def of_node(self, node: Apply) -> Demand:
        """Return when one of a node's outputs is needed."""
        first, *others = (self.of(out) for out in node.outputs)
        if all(demand is first for demand in others):
            return first
        return self._one(_simplified(first.union(*others)))

    def guarded(self, value: Variable, demand: Demand, like: Variable, wider: Demand) -> Variable | None:
        """Return a value where a demand holds, and zeros elsewhere, like a variable; None where it never holds.

        The value is right where the demand holds; `wider` is when the result is needed at all.
        """
        is_tensor = isinstance(like.type, TensorType)
        if demand is wider or demand is ALWAYS or not (is_tensor or stands_for_tensors(like)):
            return value
        if not demand:
            return None
        shared = len(next(iter(wider))) if len(wider) == 1 else 0
        if any(clause[:shared] != next(iter(wider))[:shared] for clause in demand):
            shared = 0
        clauses = tuple(sorted((clause[shared:] for clause in demand), key=len))
        # Variables that stand for tensors have zeros of their own.
        zeros = zeros_like(like, dtype=tensors((value,))[0].dtype) if is_tensor else like.zeros_like()  # type: ignore[attr-defined]
        if len(clauses) == 1:
            for condition, outcome in reversed(clauses[0]):
                value = _chosen(condition, outcome, value, zeros)
            return value
        return _chosen(self._test(clauses), True, value, zeros)

    def _test(self, clauses: tuple[Clause, ...]) -> Variable:
        """Return whether one of several alternatives holds; later conditions are asked for only if need be."""
        known = self._tests.get(clauses)
        if known is None:
            yes, no = constant(True), constant(False)
            known = no
            for clause in reversed(clauses):
                holds: Variable = yes
                for condition, outcome in reversed(clause):
                    holds = _chosen(condition, outcome, holds, no)
                known = _chosen(holds, True, yes, known)
            self._tests[clauses] = known
        return known


def _chosen(condition: Variable, outcome: bool, value: Variable, otherwise: Variable) -> Variable:
    pair = (value, otherwise) if outcome else (otherwise, value)
    chosen: Variable = IfElse(1)(condition, *pair)
    return chosen
