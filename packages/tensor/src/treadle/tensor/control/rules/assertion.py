"""Rules for assertions: what is certain is not checked, and computations are not held up by checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.control.assertion import CheckAndRaise
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE

if TYPE_CHECKING:
    from treadle.graph import Op, Variable
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


# Not in canonical forms: there a function stays the outermost op of its expression, for what reads such forms.
@RULES.rule((Phase.STABILIZE, Phase.SPECIALIZE), Elemwise, tags=BOTH, below=(CheckAndRaise,))
def elemwise_of_assertion(node: NodeOf[Elemwise]) -> Variable | None:
    """f(assert(x, c)) -> assert(f(x), c): the function fuses with others, and rules see what it is applied to."""
    # Each condition once, however many operands depend on it: otherwise their number doubles with each function of two.
    checks: dict[Op, dict[Variable, None]] = {}
    below = [_unchecked(x, checks) for x in node.inputs]
    if not checks:
        return None
    result: Variable = node.op(*below)
    for op, conditions in reversed(checks.items()):
        result = op(result, *conditions)
    return result


def _unchecked(x: Variable, checks: dict[Op, dict[Variable, None]]) -> Variable:
    """Return the variable below assertions, and collect their conditions by op."""
    while x.owner is not None and isinstance(x.owner.op, CheckAndRaise):
        checks.setdefault(x.owner.op, {}).update(dict.fromkeys(x.owner.inputs[1:]))
        x = x.owner.inputs[0]
    return x


@RULES.rule(
    (Phase.CANONICALIZE, Phase.STABILIZE, Phase.SPECIALIZE), CheckAndRaise, tags=("unsafe", "local_remove_all_assert"),
    is_opt_in=True,
)  # fmt: skip
def removed_assertion(node: NodeOf[CheckAndRaise]) -> Variable | None:
    """assert(x, c) -> x; only where the tag ``unsafe``, or the rule itself, is asked for."""
    return node.inputs[0]
