"""Which rules the cases make fire; ``python -m tests.tensor_rewrites.coverage`` prints the report."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import treadle.tensor as tt
from tests.tensor_rewrites import cases_linear_algebra
from tests.tensor_rewrites.cases import CASES, Variables
from tests.tensor_rewrites.expressions import Rewritten, rewritten
from tests.tensor_rewrites.graphs import rewrite
from tests.tensor_rewrites.rule_sets import RULE_SETS
from treadle.rewrite.builtin import RULES as CORE
from treadle.tensor import random as tr
from treadle.tensor.random import GeneratorInState, GeneratorState

if TYPE_CHECKING:
    from collections.abc import Iterator


def _usual_rules() -> Iterator[str]:
    """Yield the names of rules and passes, without the rules that are left out unless they are asked for."""
    for rules in (CORE, *RULE_SETS):
        yield from (item.name for item in rules if getattr(item, "asked_by", None) is None)


def hits() -> Counter[str]:
    """Return how often each rule and pass fires on the cases, each rewritten without and with fusion."""
    counts: Counter[str] = Counter(dict.fromkeys(_usual_rules(), 0))
    expressions = [case.build(cases_linear_algebra.Variables()) for case in cases_linear_algebra.CASES]
    # What no case of a single rule has: a value computed from constants late, a stretch with a sum on top, a sum of
    # products.
    v = Variables()
    expressions += [v.x + tt.exp(tt.constant(0.5)), (tt.exp(v.x) * v.y + tt.sin(v.x)).sum()]
    expressions.append(tt.dot(v.m, v.k) + v.m)
    for kind in (tr.random_generator_type, tr.portable_generator_type):
        following, draw = tr.normal(v.s, rng=kind.make_variable("r"), return_next_rng=True)
        following, draw = tr.normal(draw, rng=following, return_next_rng=True)
        chosen = tt.ifelse(v.s > 0, following, following.owner.inputs[0])
        expressions += [draw, following, chosen, tr.exponential(tt.reciprocal(tt.constant(3.0)), rng=following)]
    rng, state = tr.portable_generator_type.make_variable("r"), tt.tensor("state", dtype="int64", shape=(3,))
    later = GeneratorInState()(GeneratorInState()(rng, state), state + 1)
    expressions += [GeneratorState()(later), later]
    for both_forms in (*map(rewritten, CASES), *map(Rewritten, expressions)):
        _, fused = rewrite(both_forms.inputs, [both_forms.expression], "fast_run")
        for report in (both_forms.report, fused):
            counts.update({name: cost.hits for name, cost in report.rules.items() if cost.hits})
    return counts


def main() -> int:
    """Print the count of each rule, the least used first; say how many have none."""
    counts = hits()
    for name, count in sorted(counts.items(), key=lambda item: (item[1], item[0])):
        sys.stdout.write(f"{count:5d}  {name}\n")
    missing = sum(count == 0 for count in counts.values())
    sys.stdout.write(f"{len(counts)} rules, {missing} of them never fire\n")
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())
