"""Fused reductions along a batch."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from treadle.tensor.fused_reduction import FusedReduction
from treadle.tensor.vectorize.batching import aligned, most_batch

if TYPE_CHECKING:
    from treadle.graph import Apply, VectorizerTable


def vectorize_fused(op: FusedReduction, node: Apply, *inputs: Any) -> Apply:
    """Shift the axes behind the batch."""
    pairs = list(zip(node.inputs, inputs, strict=True))
    batch = most_batch(pairs)
    reductions = tuple(
        None if r is None else dataclasses.replace(r, axes=tuple(axis + batch for axis in r.axes))
        for r in op.reductions
    )
    return FusedReduction(op.composite, reductions).make_node(*(aligned(old, new, batch) for old, new in pairs))


def register(table: VectorizerTable) -> None:
    """Register the rules."""
    table.register(FusedReduction)(vectorize_fused)
