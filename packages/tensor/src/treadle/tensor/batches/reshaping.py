"""The batch rule of reshapes: it computes the lengths that -1 stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import as_index
from treadle.tensor.elementwise.arithmetic import floor_div, maximum
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.shapes.batch_dims import batch_ndim, checked_lengths
from treadle.tensor.shapes.shape import Reshape, ShapeI, lengths, product_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply
    from treadle.tensor.variables.variable import TensorNode, TensorVariable


def vectorize_reshape(op: Reshape, node: TensorNode, x: TensorVariable, *shape: TensorVariable) -> Apply:
    """Give each value of the batch the shape."""
    batch = batch_ndim(node.inputs[0], x)
    return Reshape(op.ndim + batch).make_node(x, *lengths(x)[:batch], *_reshape_lengths(node, x, shape))


def _reshape_lengths(
    node: TensorNode, x: TensorVariable, shape: Sequence[TensorVariable]
) -> list[TensorVariable | int]:
    """Return the lengths of a reshape for each value of the batch, and for -1 what it stands for."""
    own = lengths(x)[batch_ndim(node.inputs[0], x) :]
    result: list[TensorVariable | int] = list(checked_lengths(node, shape))
    for at, length in enumerate(shape):
        known = as_index(length)
        if (known is not None and known >= 0) or (length.owner is not None and isinstance(length.owner.op, ShapeI)):
            continue
        others = [*shape[:at], *shape[at + 1 :]]
        inferred = floor_div(product_of(own), maximum(product_of(others), 1)) if others else product_of(own)
        result[at] = inferred if known == -1 else switch(eq(length, -1), inferred, length)
    return result
