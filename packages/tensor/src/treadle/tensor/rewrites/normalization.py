"""Stable forms of softmax, logsumexp and their kin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.dimshuffle import NEW, DimShuffle
from treadle.tensor.normalization import LogSoftmax, LogSumExp, Softmax
from treadle.tensor.reduction import Reduction
from treadle.tensor.rewrites.patterns import row_name
from treadle.tensor.scalar.arithmetic import true_div
from treadle.tensor.scalar.exponential import log

if TYPE_CHECKING:
    from treadle.graph import Apply, Variable

RULES = RuleSet("normalization")


@RULES.rule(Phase.STABILIZE, log)
def log_of_softmax(node: Apply) -> Variable | None:
    """log(softmax(x)) -> log_softmax(x)."""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Softmax):
        return None
    made: Variable = LogSoftmax(inner.op.axes)(inner.inputs[0])
    return made


def _sum_of_exp(node: Apply | None) -> tuple[Any, tuple[int, ...]] | None:
    """Return x and the axes, if a node is the sum of exp(x) over axes, all in one float dtype."""
    if node is None or not isinstance(node.op, Reduction) or node.op.kind != "sum":
        return None
    inner = node.inputs[0].owner
    if row_name(inner) != "exp" or inner is None:
        return None
    x: Any = inner.inputs[0]
    if x.type.numpy_dtype.kind != "f" or x.dtype != node.op.dtype or x.dtype != getattr(inner.outputs[0], "dtype", ""):
        return None
    return x, node.op.axes


def _expansion(node: Apply | None, ndim: int) -> tuple[Apply, tuple[int, ...]] | None:
    """Return the node below a dimshuffle that only adds dimensions up to a rank, and the dimensions added."""
    if node is None or not isinstance(node.op, DimShuffle) or len(node.op.order) != ndim or node.op.dropped:
        return None
    kept = [d for d in node.op.order if d != NEW]
    inner = node.inputs[0].owner
    if inner is None or kept != sorted(kept, key=int):
        return None
    return inner, tuple(d for d, o in enumerate(node.op.order) if o == NEW)


@RULES.rule(Phase.STABILIZE, log, depth=4)
def log_of_sum_of_exp(node: Apply) -> Variable | None:
    """log(sum(exp(x), axes)) -> logsumexp(x, axes), dimensions kept or not."""
    inner = node.inputs[0].owner
    if inner is None:
        return None
    shuffle = inner if isinstance(inner.op, DimShuffle) else None
    found = _sum_of_exp(inner.inputs[0].owner if shuffle is not None else inner)
    if found is None:
        return None
    made: Variable = LogSumExp(found[1])(found[0])
    if shuffle is not None:
        made = shuffle.op(made)
    return made


@RULES.rule(Phase.STABILIZE, true_div, depth=4)
def exp_over_sum_of_exp(node: Apply) -> Variable | None:
    """exp(x) / sum(exp(x), axes, keepdims) -> softmax(x, axes)."""
    above, below = node.inputs
    if row_name(above.owner) != "exp" or above.owner is None:
        return None
    x: Any = above.owner.inputs[0]
    expansion = _expansion(below.owner, x.type.ndim)
    found = _sum_of_exp(expansion[0]) if expansion is not None else None
    if expansion is None or found is None or found[0] is not x or found[1] != expansion[1]:
        return None
    made: Variable = Softmax(found[1])(x)
    return made if node.outputs[0].type.is_super(made.type) else None
