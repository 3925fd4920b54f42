"""Shapes, and ops that take lengths, along a batch.

The shape of what a batch holds is the same for all of it: its lengths stay scalars, so that they can be lengths again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from treadle.graph import as_index
from treadle.tensor.broadcasting import Alloc, SumTo
from treadle.tensor.indexing import subtensor
from treadle.tensor.reduction import sum_
from treadle.tensor.scalar.arithmetic import int_div, maximum, mul
from treadle.tensor.scalar.cast import switch
from treadle.tensor.scalar.comparison import eq
from treadle.tensor.shape import Reshape, Shape, ShapeI, lengths, shape_i
from treadle.tensor.vectorize.batching import aligned, batch_ndim, refuse_batched

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, VectorizerTable


def _checked_lengths(node: Apply, inputs: Sequence[Any]) -> Sequence[Any]:
    """Return the lengths, which are all inputs but the first and have no batch dimensions."""
    refuse_batched(zip(node.inputs[1:], inputs[1:], strict=True), "lengths")
    return inputs[1:]


def vectorize_shape(op: Shape, node: Apply, x: Any) -> Any:
    """Return the shape behind the batch."""
    return subtensor(op(x), slice(batch_ndim(node.inputs[0], x), None))


def vectorize_shape_i(op: ShapeI, node: Apply, x: Any) -> Any:
    """Return the length of the dimension behind the batch."""
    return shape_i(x, op.axis + batch_ndim(node.inputs[0], x))


def vectorize_alloc(op: Alloc, node: Apply, *inputs: Any) -> Apply:
    """Broadcast each value of the batch."""
    wanted = _checked_lengths(node, inputs)
    old, new = node.inputs[0], inputs[0]
    batch = batch_ndim(old, new)
    return op.make_node(aligned(old, new, batch, len(wanted)), *lengths(new)[:batch], *wanted)


def vectorize_sum_to(op: SumTo, node: Apply, *inputs: Any) -> Apply:
    """Sum each value of the batch: first over the dimensions that it has too many, which stand behind the batch."""
    wanted = _checked_lengths(node, inputs)
    new = inputs[0]
    batch = batch_ndim(node.inputs[0], new)
    extra = new.type.ndim - batch - len(wanted)
    if extra:
        new = sum_(new, axis=tuple(range(batch, batch + extra)), dtype=new.dtype, acc_dtype=new.dtype)
    return op.make_node(new, *lengths(new)[:batch], *wanted)


def vectorize_reshape(op: Reshape, node: Apply, *inputs: Any) -> Apply:
    """Give each value of the batch the shape."""
    wanted = _checked_lengths(node, inputs)
    new = inputs[0]
    batch = batch_ndim(node.inputs[0], new)
    kind: Any = node.outputs[0].type
    given = list(wanted)
    for at, length in enumerate(wanted):
        known = as_index(length)
        if (known is not None and known >= 0) or (length.owner is not None and isinstance(length.owner.op, ShapeI)):
            continue
        meant = kind.shape[at]
        if meant is None:
            meant = _inferred(lengths(new)[batch:], [*wanted[:at], *wanted[at + 1 :]])
        given[at] = meant if known == -1 else switch(eq(length, -1), meant, length)
    return Reshape(op.ndim + batch).make_node(new, *lengths(new)[:batch], *given)


def _inferred(own: Sequence[Any], others: Sequence[Any]) -> Any:
    """Return the length that -1 stands for: that of the core, which an empty batch does not tell."""
    return int_div(_product(own), maximum(_product(others), 1))


def _product(items: Sequence[Any]) -> Any:
    known = [as_index(n) for n in items]
    result: Any = math.prod(n for n in known if n is not None)
    for item, n in zip(items, known, strict=True):
        if n is None:
            result = item if result == 1 else mul(result, item)
    return result


def register(table: VectorizerTable) -> None:
    """Register the rules."""
    table.register(Shape)(vectorize_shape)
    table.register(ShapeI)(vectorize_shape_i)
    table.register(Alloc)(vectorize_alloc)
    table.register(SumTo)(vectorize_sum_to)
    table.register(Reshape)(vectorize_reshape)
