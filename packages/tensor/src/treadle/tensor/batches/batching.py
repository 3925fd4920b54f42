"""Batch dimensions: the leading dimensions that a vectorised variable has beyond those of the one it stands for.

The batch dimensions of several variables are broadcast together, from the right, as NumPy does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import as_index
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.ops.known_values import known_value
from treadle.tensor.shapes.batch_dims import Pair, aligned, batch_ndim, most_batch
from treadle.tensor.shapes.broadcasting import alloc
from treadle.tensor.shapes.shape import LENGTH, ShapeI, lengths
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import TensorVariable


def batch_lengths(pairs: Sequence[Pair]) -> list[TensorVariable]:
    """Return the lengths of the batch dimensions of all pairs, broadcast together, as int64 scalars."""
    batch = most_batch(pairs)
    result = []
    for back in range(batch, 0, -1):
        candidates: list[TensorVariable] = []
        for old, new in pairs:
            at = batch_ndim(old, new) - back
            if at >= 0:
                candidates.append(lengths(new)[at])
        result.append(broadcast_length(candidates))
    return result


def broadcast_length(candidates: Sequence[TensorVariable]) -> TensorVariable:
    """Return the length that dimensions of these lengths have together: each of them is that, or 1.

    A constant that is not 1 decides. Other lengths may change, though they be known now: those that are known and not
    1 come first, so that the result is known too.
    """
    distinct: dict[object, TensorVariable] = {}
    for length in candidates:
        known = as_index(length)
        if known is not None and known != 1:
            return length
        if known is None:
            node = length.owner
            same = length if node is None or not isinstance(node.op, ShapeI) else (node.op, node.inputs[0])
            distinct.setdefault(same, length)
    if not distinct:
        return constant(1, dtype=LENGTH)
    result, *others = sorted(distinct.values(), key=lambda length: known_value(length) in {None, 1})
    for length in others:
        result = switch(eq(result, 1), length, result)
    return result


def spread(old: TensorVariable, new: TensorVariable, batch: Sequence[TensorVariable]) -> TensorVariable:
    """Return a variable with every batch dimension at its full length."""
    own = batch_ndim(old, new)
    return alloc(aligned(old, new, len(batch)), *batch, *lengths(new)[own:])


def spread_all(pairs: Sequence[Pair]) -> list[TensorVariable]:
    """Return all variables broadcast to the same batch dimensions."""
    varied = {new for old, new in pairs if batch_ndim(old, new)}
    batch = batch_lengths(pairs)
    result = []
    for old, new in pairs:
        full = batch_ndim(old, new) == len(batch) and (len(varied) == 1 or _is_full(new, batch))
        result.append(new if full else spread(old, new, batch))
    return result


def _is_full(new: TensorVariable, batch: Sequence[TensorVariable]) -> bool:
    """Whether the batch dimensions of a variable are known to have the full lengths."""
    own = new.type.shape[: len(batch)]
    return all(n is not None and getattr(length, "data", None) == n for n, length in zip(own, batch, strict=True))


def complete(old: TensorVariable, new: TensorVariable, replaced: Sequence[Pair]) -> TensorVariable:
    """Return a rule's result `new` for `old` with all batch dimensions of the inputs that it depends on.

    Such as one length of x depends on. Inputs that are not tensors, such as generators, have no batch.
    """
    replaced = [(before, after) for before, after in replaced if isinstance(before.type, TensorType)]
    if batch_ndim(old, new) >= most_batch(replaced):
        return as_tensor_variable(new)
    return spread(old, as_tensor_variable(new), batch_lengths(replaced))
