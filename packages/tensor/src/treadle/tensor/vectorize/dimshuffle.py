"""Rearranged dimensions along a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.tensor.dimshuffle import DimShuffle
from treadle.tensor.vectorize.batching import batch_ndim

if TYPE_CHECKING:
    from treadle.graph import Apply, VectorizerTable


def vectorize_dimshuffle(op: DimShuffle, node: Apply, x: Any) -> Apply:
    """Rearrange the dimensions behind the batch."""
    batch = batch_ndim(node.inputs[0], x)
    order = (*range(batch), *(d + batch if isinstance(d, int) else d for d in op.order))
    return DimShuffle(order, op.ndim + batch).make_node(x)


def register(table: VectorizerTable) -> None:
    """Register the rules."""
    table.register(DimShuffle)(vectorize_dimshuffle)
