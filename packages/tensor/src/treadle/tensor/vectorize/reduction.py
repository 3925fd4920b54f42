"""Reductions, and other ops over axes, along a batch."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from treadle.tensor.normalization import LogSoftmax, LogSumExp, Softmax
from treadle.tensor.reduction import ArgReduction, ProductOfOthers, Reduction
from treadle.tensor.vectorize.batching import batch_ndim, most_batch, spread_all

if TYPE_CHECKING:
    from treadle.graph import Apply, VectorizerTable


def vectorize_over_axes(op: Any, node: Apply, x: Any) -> Apply:
    """Shift the axes behind the batch."""
    batch = batch_ndim(node.inputs[0], x)
    shifted = dataclasses.replace(op, axes=tuple(axis + batch for axis in op.axes))
    made: Apply = shifted.make_node(x)
    return made


def vectorize_product_of_others(op: ProductOfOthers, node: Apply, *inputs: Any) -> Any:
    """Shift the axes behind the batch, of which every input gets a copy."""
    pairs = list(zip(node.inputs, inputs, strict=True))
    x, *directions = spread_all(pairs)
    axes = tuple(axis + most_batch(pairs) for axis in op.axes)
    return ProductOfOthers(x, directions, axes).make_node(x, *directions)


def register(table: VectorizerTable) -> None:
    """Register the rules."""
    table.register(Reduction, ArgReduction, Softmax, LogSoftmax, LogSumExp)(vectorize_over_axes)
    table.register(ProductOfOthers)(vectorize_product_of_others)
