"""Writes by a mask, as a choice between whole tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.elementwise.arithmetic import add
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.indexing.expressions import Positions, Span
from treadle.tensor.indexing.nonzero import Nonzero
from treadle.tensor.shapes.broadcasting import broadcast_to
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle
from treadle.tensor.shapes.shape import shape_i

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.indexing.expressions import Entry
    from treadle.tensor.variables.variable import TensorVariable


def mask_in(entries: Sequence[Entry], inputs: Sequence[TensorVariable]) -> tuple[TensorVariable, int] | None:
    """Return the mask that all arrays of an index are the positions of, and the first dimension that it picks from.

    None where the arrays are something else, or anything is left out in other dimensions.
    """
    arrays = [d for d, entry in enumerate(entries) if isinstance(entry, Positions)]
    others = [entry for entry in entries if not isinstance(entry, Positions)]
    if not arrays or len(inputs) != len(arrays) or not all(isinstance(e, Span) and e.is_full for e in others):
        return None
    node = inputs[0].owner
    if node is None or not isinstance(node.op, Nonzero) or node.outputs != list(inputs):
        return None
    if arrays != list(range(arrays[0], arrays[0] + len(arrays))):
        return None
    return node.inputs[0], arrays[0]


def write_by_mask(
    x: TensorVariable, y: TensorVariable, mask: TensorVariable, first: int, set_: bool
) -> TensorVariable | None:
    """Return a tensor with what a mask picks set to values, or increased by them, as a choice between whole tensors.

    The mask picks from dimension `first` on; the values are of the tensor's dtype and broadcast to the part picked.
    None where there is a value for each element that is picked, whose number is not known.
    """
    after = x.ndim - first - mask.ndim
    at = y.ndim - after - 1
    if at >= 0:
        if y.type.shape[at] != 1:
            return None
        y = dimshuffle(y, *range(at + 1), *[NEW] * (mask.ndim - 1), *range(at + 1, y.ndim))
    # Values must not lengthen a dimension that turns out to have length 1: they are brought to the tensor's lengths.
    own = range(x.ndim - y.ndim, x.ndim)
    if any(n != 1 and (n is None or n != x.type.shape[d]) for n, d in zip(y.type.shape, own, strict=True)):
        inside = range(first, first + mask.ndim)
        y = broadcast_to(y, [1 if d in inside else shape_i(x, d) for d in own])
    chosen = dimshuffle(mask, *range(mask.ndim), *[NEW] * after)
    return switch(chosen, y if set_ else add(x, y), x)
