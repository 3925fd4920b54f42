"""The tour goes on: facts and loops, rebuilt small on the parts of `tour.py`.

Read ``docs/tour.py`` first, then this file, then run it: ``./dev run python -m docs.tour_further``.

10. facts: what is known of a value before it is computed, and rules that ask for it,
11. loops: a loop is one op, and so is its derivative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from docs.tour import (
    RULES,
    Node,
    Op,
    Stepper,
    Type,
    Variable,
    absolute,
    add,
    div,
    exp,
    function,
    grad,
    mul,
    nodes_of,
    pulled_back,
    relu,
    rewritten,
    scalar_op_of,
    softplus,
    total,
    vector,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from docs.tour import Array

# ------------------------------------------------------------------------------------------------------------------
# 10. Facts
#
# Some rules hold only for some values: abs(x) is x where x is not negative. Whether that is so is a question to the
# graph. A fact is known of a value by the value itself, if it is a constant; by the op that makes it; or because the op
# keeps what is known of its inputs. Each question is answered once for each variable, however often it is asked.

# Scalar ops whose results are never negative, and those whose results are not where no operand is.
GIVE = {s.scalar_op for s in (exp, softplus, relu, absolute)}
KEEP = {s.scalar_op for s in (add, mul, div)}


class Facts:
    """What is known of the variables of a graph."""

    def __init__(self) -> None:
        self._nonnegative: dict[Variable, bool] = {}

    def nonnegative(self, x: Variable) -> bool:
        """Whether no element of a variable can be negative; if that is not known, it counts as possible."""
        if x not in self._nonnegative:
            self._nonnegative[x] = False  # for those that ask while this is being found out
            self._nonnegative[x] = self._is_nonnegative(x)
        return self._nonnegative[x]

    def _is_nonnegative(self, x: Variable) -> bool:
        if x.value is not None:
            return bool(np.all(x.value >= 0))
        scalar_op = scalar_op_of(x)
        if scalar_op in KEEP:
            assert x.owner is not None
            return all(map(self.nonnegative, x.owner.inputs))
        return scalar_op in GIVE


def absolute_of_nonnegative(node: Node) -> Variable | None:
    """abs(x) -> x, where x is known not to be negative."""
    if scalar_op_of(node.output) is not absolute.scalar_op:
        return None
    return node.inputs[0] if Facts().nonnegative(node.inputs[0]) else None


# Whole: treadle.tensor.rewrites.analysis.facts treadle.tensor.rewrites.analysis.predicates

# ------------------------------------------------------------------------------------------------------------------
# 11. Loops
#
# The body of a loop is a graph of its own, from the state before a step to the state after it; what is the same in all
# steps comes in beside it. So a loop is an op like any other: it can be compiled, rewritten and differentiated. Its
# derivative is a loop that runs backwards, whose body is the gradient of the body. It needs the states of all steps:
# here it computes them again. Second derivatives would take a body for the backward loop's own derivative, and so on:
# in treadle both are the same op, and so any number of derivatives is.


def evaluated(output: Variable, known: Mapping[Variable, Array]) -> Array:
    """Return the value of a variable by the references of the ops that it needs."""
    values = dict(known)
    for node in nodes_of(output):
        given = [values[x] if x.value is None else x.value for x in node.inputs]
        values[node.output] = node.op.perform(*given)
    return values[output] if output.value is None else output.value


@dataclass(frozen=True)
class Loop(Op):
    """The state after some steps, from the first one and from what stays the same."""

    state: Variable
    fixed: Variable
    following: Variable
    steps: int

    def infer(self, *types: Type) -> Type:
        return types[0]

    def states(self, first: Array, fixed: Array) -> list[Array]:
        """Return the states before each step, and the last one."""
        found = [first]
        for _ in range(self.steps):
            found.append(evaluated(self.following, {self.state: found[-1], self.fixed: fixed}))
        return found

    def perform(self, *values: Array) -> Array:
        return self.states(*values)[-1]

    def pullback(self, ct: Variable, out: Variable, inputs: Sequence[Variable]) -> Sequence[Variable | None]:
        cotangent = Variable(self.following.type)
        terms = pulled_back(self.following, cotangent, [self.state, self.fixed])
        return [Backwards(self, cotangent, term, at)(ct, *inputs) for at, term in enumerate(terms)]


@dataclass(frozen=True)
class Backwards(Op):
    """What flows back through all steps of a loop: to the first state (0), or to what stays the same (1)."""

    loop: Loop
    cotangent: Variable
    term: Variable | None
    wrt: int

    def infer(self, *types: Type) -> Type:
        return types[1 + self.wrt]

    def perform(self, *values: Array) -> Array:
        ct, first, fixed = values
        loop = self.loop
        to_state, _ = pulled_back(loop.following, self.cotangent, [loop.state, loop.fixed])
        collected = np.zeros_like(values[1 + self.wrt])
        for state in reversed(loop.states(first, fixed)[:-1]):
            known = {loop.state: state, loop.fixed: fixed, self.cotangent: ct}
            if self.wrt and self.term is not None:
                collected = collected + evaluated(self.term, known)
            ct = np.zeros_like(state) if to_state is None else evaluated(to_state, known)
        return collected if self.wrt else ct


# Whole: treadle.tensor.loops.loops treadle.tensor.loops.derivatives treadle.tensor.loops.rules


def main() -> None:
    """Take both parts through an example."""
    x, rate = vector("x"), vector("rate")

    # softplus of anything is positive, a sum of such is, and so the absolute value is the value itself.
    cost = absolute(softplus(x) + exp(x) * 2.0)
    left = rewritten(cost, [*RULES, absolute_of_nonnegative])
    assert absolute.scalar_op not in {scalar_op_of(node.output) for node in nodes_of(left)}
    assert absolute.scalar_op in {scalar_op_of(node.output) for node in nodes_of(rewritten(absolute(x), RULES))}

    # Five steps of growth, and how the outcome moves with the start and with the rate.
    state, fixed = vector("state"), vector("fixed")
    grown = Loop(state, fixed, state + fixed * state, 5)
    last = grown(x, rate)
    at = np.array([1.0, 2.0]), np.array([0.1, 0.2])
    run = function([x, rate], last, Stepper())
    np.testing.assert_allclose(run(*at), at[0] * (1 + at[1]) ** 5)
    by_start = function([x, rate], grad(total(last), x), Stepper())
    by_rate = function([x, rate], grad(total(last), rate), Stepper())
    np.testing.assert_allclose(by_start(*at), (1 + at[1]) ** 5)
    np.testing.assert_allclose(by_rate(*at), 5 * at[0] * (1 + at[1]) ** 4)
    print("facts and loops: as they should be")


if __name__ == "__main__":
    main()
