"""Rules for dimension shuffles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.broadcasting import Alloc
from treadle.tensor.conversion import constant
from treadle.tensor.dimshuffle import NEW, DimShuffle
from treadle.tensor.shape import LENGTH

if TYPE_CHECKING:
    from treadle.graph import Apply, Variable

RULES = RuleSet("dimshuffle")
BOTH = ("fast_run", "fast_compile")
EARLY_AND_LATE = (Phase.CANONICALIZE, Phase.SPECIALIZE)


@RULES.rule(EARLY_AND_LATE, DimShuffle, tags=BOTH, depth=1)
def useless_dimshuffle(node: Apply) -> Variable | None:
    """dimshuffle(x, 0, 1, …) -> x."""
    op: Any = node.op
    return node.inputs[0] if op.order == tuple(range(op.ndim)) else None


@RULES.rule(EARLY_AND_LATE, DimShuffle, tags=BOTH)
def dimshuffle_of_dimshuffle(node: Apply) -> Variable | None:
    """dimshuffle(dimshuffle(x, a), b) -> dimshuffle(x, a then b)."""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, DimShuffle):
        return None
    outer: Any = node.op
    first = inner.op
    order = tuple(NEW if d == NEW else first.order[d] for d in outer.order)
    result: Variable = DimShuffle(order, first.ndim)(inner.inputs[0])
    return result


@RULES.rule(EARLY_AND_LATE, DimShuffle, tags=BOTH)
def dimshuffle_of_alloc(node: Apply) -> Variable | None:
    """dimshuffle(alloc(scalar, lengths)) -> alloc(scalar, lengths rearranged)."""
    inner = node.inputs[0].owner
    op: Any = node.op
    if inner is None or not isinstance(inner.op, Alloc) or getattr(inner.inputs[0].type, "ndim", 1) != 0:
        return None
    known: Any = node.inputs[0].type
    if any(known.shape[d] != 1 for d in op.dropped):
        return None
    value, *lengths = inner.inputs
    one = constant(1, dtype=LENGTH)
    result: Variable = Alloc()(value, *(one if d == NEW else lengths[d] for d in op.order))
    return result
