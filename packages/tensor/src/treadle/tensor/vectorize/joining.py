"""Joined tensors and ranges along a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.tensor.joining import ARange, Join
from treadle.tensor.vectorize.batching import most_batch, refuse_batched, spread_all

if TYPE_CHECKING:
    from treadle.graph import Apply, VectorizerTable


def vectorize_join(op: Join, node: Apply, *inputs: Any) -> Apply:
    """Join behind the batch, of which every part gets a copy."""
    pairs = list(zip(node.inputs, inputs, strict=True))
    return Join(op.axis + most_batch(pairs)).make_node(*spread_all(pairs))


def vectorize_arange(op: ARange, node: Apply, *inputs: Any) -> Apply:
    """Return the range, whose bounds must be the same for the whole batch."""
    refuse_batched(zip(node.inputs, inputs, strict=True), "the lengths of ranges")
    return op.make_node(*inputs)


def register(table: VectorizerTable) -> None:
    """Register the rules."""
    table.register(Join)(vectorize_join)
    table.register(ARange)(vectorize_arange)
