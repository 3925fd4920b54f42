"""Rules for reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.dimshuffle import dimshuffle
from treadle.tensor.reduction import Reduction
from treadle.tensor.scalar.cast import cast

if TYPE_CHECKING:
    from treadle.graph import Apply, Variable

RULES = RuleSet("reduction")
BOTH = ("fast_run", "fast_compile")
EARLY_AND_LATE = (Phase.CANONICALIZE, Phase.SPECIALIZE)


@RULES.rule(EARLY_AND_LATE, Reduction, tags=BOTH, depth=1)
def useless_reduction(node: Apply) -> Variable | None:
    """sum(x, axes of length 1, or none) -> x without these axes."""
    op: Any = node.op
    x: Any = node.inputs[0]
    if any(x.type.shape[d] != 1 for d in op.axes):
        return None
    if op.dtype not in {x.dtype, op.acc_dtype}:
        return None
    return cast(dimshuffle(x, *(d for d in range(x.ndim) if d not in op.axes)), op.dtype)


@RULES.rule(EARLY_AND_LATE, Reduction, tags=BOTH)
def reduction_of_reduction(node: Apply) -> Variable | None:
    """sum(sum(x, a), b) -> sum(x, a and b), and so for every kind of reduction."""
    op: Any = node.op
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Reduction):
        return None
    first = inner.op
    if (first.kind, first.dtype, first.acc_dtype) != (op.kind, op.dtype, op.acc_dtype):
        return None
    x: Any = inner.inputs[0]
    left = [d for d in range(x.ndim) if d not in first.axes]
    axes = tuple(sorted((*first.axes, *(left[d] for d in op.axes))))
    made: Variable = Reduction(op.kind, axes, op.dtype, op.acc_dtype)(x)
    return made
