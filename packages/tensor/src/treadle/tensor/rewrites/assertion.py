"""Rules for assertions: what is certain is not checked, and computations are not held up by checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.assertion import CheckAndRaise
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE

if TYPE_CHECKING:
    from treadle.graph import Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("assertion")


def _is_true(condition: Variable) -> bool:
    return isinstance(condition, Constant) and bool(np.all(condition.data))


@RULES.rule(EARLY_AND_LATE, CheckAndRaise, tags=(*BOTH, "local_remove_useless_assert", "useless"))
def useless_assertion(node: NodeOf[CheckAndRaise]) -> Variable | None:
    """assert(x, true, c, c) -> assert(x, c), and without conditions x."""
    value, *conditions = node.inputs
    kept = [c for c in dict.fromkeys(conditions) if not _is_true(c)]
    if not kept:
        return value
    return node.op(value, *kept) if len(kept) < len(conditions) else None


@RULES.rule(EARLY_AND_LATE, CheckAndRaise, tags=BOTH)
def assertion_of_assertion(node: NodeOf[CheckAndRaise]) -> Variable | None:
    """assert(assert(x, c), d) -> assert(x, c, d), where both raise the same error."""
    value, *conditions = node.inputs
    inner = value.owner
    if inner is None or inner.op != node.op:
        return None
    return node.op(*inner.inputs, *conditions)


@RULES.rule(EARLY_AND_LATE, Elemwise, tags=BOTH)
def elemwise_of_assertion(node: NodeOf[Elemwise]) -> Variable | None:
    """f(assert(x, c)) -> assert(f(x), c): the function fuses with others, and rules see what it is applied to."""
    for i, x in enumerate(node.inputs):
        inner = x.owner
        if inner is not None and isinstance(inner.op, CheckAndRaise):
            below = [*node.inputs[:i], inner.inputs[0], *node.inputs[i + 1 :]]
            return inner.op(node.op(*below), *inner.inputs[1:])
    return None


@RULES.rule(
    (Phase.CANONICALIZE, Phase.STABILIZE, Phase.SPECIALIZE), CheckAndRaise, tags=("unsafe", "local_remove_all_assert")
)
def removed_assertion(node: NodeOf[CheckAndRaise]) -> Variable | None:
    """assert(x, c) -> x; only where the tag ``unsafe``, or the rule itself, is asked for."""
    return node.inputs[0]
