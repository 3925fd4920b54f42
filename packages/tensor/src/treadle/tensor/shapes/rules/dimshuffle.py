"""Rules for dimension shuffles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import RuleSet
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import made_by
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle, dimshuffle
from treadle.tensor.shapes.shape import LENGTH, Reshape
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("dimshuffle")


@RULES.rule(EARLY_AND_LATE, DimShuffle, tags=(*BOTH, "local_dimshuffle_lift", "useless"), depth=1)
def useless_dimshuffle(node: NodeOf[DimShuffle]) -> TensorVariable | None:
    """dimshuffle(x, 0, 1, …) -> x; a dimension of length 1 may be dropped and come back."""
    op = node.op
    if len(op.order) != op.ndim or any(d not in {k, NEW} for k, d in enumerate(op.order)):
        return None
    return if_fits(node, node.inputs[0])


@RULES.rule(EARLY_AND_LATE, DimShuffle, tags=(*BOTH, "local_dimshuffle_lift"), below=(DimShuffle,))
def dimshuffle_of_dimshuffle(node: NodeOf[DimShuffle]) -> TensorVariable | None:
    """dimshuffle(dimshuffle(x, a), b) -> dimshuffle(x, a then b)."""
    inner = made_by(node.inputs[0], DimShuffle)
    if inner is None:
        return None
    first = inner.op.order
    return dimshuffle(inner.inputs[0], *(first[d] if isinstance(d, int) else NEW for d in node.op.order))


@RULES.rule(
    EARLY_AND_LATE, DimShuffle, tags=(*BOTH, "local_dimshuffle_alloc", "local_alloc_sink_dimshuffle"), below=(Alloc,)
)
def dimshuffle_of_alloc(node: NodeOf[DimShuffle]) -> TensorVariable | None:
    """dimshuffle(alloc(x, lengths)) -> alloc(dimshuffle(x), lengths rearranged)."""
    inner = made_by(node.inputs[0], Alloc)
    if inner is None:
        return None
    op = node.op
    known = node.inputs[0].type
    if any(known.shape[d] != 1 for d in op.dropped):
        return None
    value = inner.inputs[0]
    lengths = inner.inputs[1:]
    extra = len(lengths) - value.ndim
    if any(value.type.shape[d - extra] != 1 for d in op.dropped if d >= extra):
        return None
    order = [d - extra if isinstance(d, int) and d >= extra else NEW for d in op.order]
    while order and order[0] == NEW:
        del order[0]
    one = constant(1, dtype=LENGTH)
    filled = Alloc()(dimshuffle(value, *order), *(lengths[d] if isinstance(d, int) else one for d in op.order))
    return if_fits(node, filled)


def keeps_order(order: Sequence[int | str]) -> bool:
    """Whether a dimshuffle only adds and drops dimensions of length 1: the elements stay where they are."""
    kept = [d for d in order if isinstance(d, int)]
    return kept == sorted(kept)


@RULES.rule(EARLY_AND_LATE, DimShuffle, tags=(*BOTH, "local_fuse_squeeze_reshape", "local_fuse_expand_dims_reshape"))
def dimshuffle_of_reshape(node: NodeOf[DimShuffle]) -> TensorVariable | None:
    """dimshuffle(reshape(x, lengths)) -> reshape(x, lengths with and without ones), where no two change places."""
    inner = made_by(node.inputs[0], Reshape)
    op = node.op
    if inner is None or not keeps_order(op.order):
        return None
    one = constant(1, dtype=LENGTH)
    lengths = [inner.inputs[1 + d] if isinstance(d, int) else one for d in op.order]
    return if_fits(node, Reshape(len(lengths))(inner.inputs[0], *lengths))
