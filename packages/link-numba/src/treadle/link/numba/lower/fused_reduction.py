"""Fused reductions: the functions, then the reductions. Fusion leaves the two apart for this backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.link.numba.lower.elemwise import lower_elemwise
from treadle.link.numba.lower.reduction import lower_reduction
from treadle.link.numba.table import TABLE
from treadle.tensor import FusedReduction

if TYPE_CHECKING:
    from treadle.graph import Apply
    from treadle.link.numba.writer import GraphWriter


@TABLE.register(FusedReduction)
def lower_fused_reduction(op: FusedReduction, node: Apply, writer: GraphWriter) -> None:
    """Write the loops of the parts."""
    whole, reductions = op.parts(node)
    lower_elemwise(op.elementwise, whole, writer)
    for out, made, reduction in zip(node.outputs, whole.outputs, reductions, strict=True):
        result = made
        if reduction is not None:
            kind: Any = reduction.op
            lower_reduction(kind, reduction, writer)
            result = reduction.outputs[0]
        writer.bind(out, writer.value(result))
