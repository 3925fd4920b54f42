"""Batch dimensions: the leading dimensions that a vectorised variable has beyond those of the one it stands for.

The batch dimensions of several variables are broadcast together, from the right, as NumPy does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from treadle.graph import VectorizeError, as_index
from treadle.tensor.elementwise.arithmetic import floor_div, maximum, mul
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.ops.known_values import known_value
from treadle.tensor.shapes.broadcasting import alloc
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle
from treadle.tensor.shapes.shape import LENGTH, ShapeI, lengths
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.tensor.variables.variable import TensorNode, TensorVariable

Pair = tuple["TensorVariable", "TensorVariable"]


def batch_ndim(old: TensorVariable, new: TensorVariable) -> int:
    """Return how many batch dimensions a variable has."""
    count: int = new.type.ndim - old.type.ndim
    return count


def most_batch(pairs: Iterable[Pair]) -> int:
    """Return the rank of the batch of all pairs of an old and a new variable."""
    return max((batch_ndim(old, new) for old, new in pairs), default=0)


def aligned(old: TensorVariable, new: TensorVariable, batch: int, core: int | None = None) -> TensorVariable:
    """Return a variable with `batch` batch dimensions and a core of rank `core`, by dimensions of length 1.

    Parameters
    ----------
    old, new
        The variable without and with batch dimensions.
    batch
        Rank of the whole batch; dimensions are added in front.
    core
        Rank of the core; dimensions are added in front of it. That of `old` if None.
    """
    own, rank = batch_ndim(old, new), old.type.ndim
    wide = rank if core is None else core
    order = [*[NEW] * (batch - own), *range(own), *[NEW] * (wide - rank), *range(own, own + rank)]
    return dimshuffle(new, *order)


def batch_lengths(pairs: Sequence[Pair]) -> list[TensorVariable]:
    """Return the lengths of the batch dimensions of all pairs, broadcast together, as int64 scalars."""
    batch = most_batch(pairs)
    result = []
    for back in range(batch, 0, -1):
        found: list[TensorVariable] = []
        for old, new in pairs:
            at = batch_ndim(old, new) - back
            if at >= 0:
                found.append(lengths(new)[at])
        result.append(broadcast_length(found))
    return result


def broadcast_length(found: Sequence[TensorVariable]) -> TensorVariable:
    """Return the length that dimensions of these lengths have together: each of them is that, or 1.

    A constant that is not 1 decides. Other lengths may change, though they be known now: those that are known and not
    1 come first, so that the result is known too.
    """
    distinct: dict[object, TensorVariable] = {}
    for length in found:
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
    """Return all variables with the same batch dimensions, none of length 1 that is longer in another."""
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


def refuse_batched(pairs: Iterable[Pair], what: str) -> None:
    """Refuse inputs that have batch dimensions.

    Raises
    ------
    VectorizeError
        If one has.
    """
    for old, new in pairs:
        if batch_ndim(old, new):
            msg = (
                f"{what} would differ along the batch, so that the results would have different shapes, got {new} of "
                f"type {new.type} for {old}. Give it no batch dimensions"
            )
            raise VectorizeError(msg)


def complete(old: TensorVariable, new: TensorVariable, replaced: Sequence[Pair]) -> TensorVariable:
    """Return a result with all batch dimensions of the inputs that it depends on: one length of x does, for instance.

    Parameters
    ----------
    old, new
        The result without batch dimensions, and what a rule made of it.
    replaced
        The inputs it depends on; those that are no tensors, such as generators, have no batch.
    """
    replaced = [(given, made) for given, made in replaced if isinstance(given.type, TensorType)]
    if batch_ndim(old, new) >= most_batch(replaced):
        return as_tensor_variable(new)
    return spread(old, as_tensor_variable(new), batch_lengths(replaced))


def checked_lengths(node: TensorNode, wanted: Sequence[TensorVariable]) -> Sequence[TensorVariable]:
    """Return the lengths that a node takes after its first input: they may have no batch dimensions."""
    refuse_batched(zip(node.inputs[1:], wanted, strict=True), "lengths")
    return wanted


def reshape_lengths(
    node: TensorNode, x: TensorVariable, wanted: Sequence[TensorVariable]
) -> list[TensorVariable | int]:
    """Return the lengths of a reshape for each value of the batch, and for -1 what it stands for."""
    own = lengths(x)[batch_ndim(node.inputs[0], x) :]
    given: list[TensorVariable | int] = list(checked_lengths(node, wanted))
    for at, length in enumerate(wanted):
        known = as_index(length)
        if (known is not None and known >= 0) or (length.owner is not None and isinstance(length.owner.op, ShapeI)):
            continue
        others = [*wanted[:at], *wanted[at + 1 :]]
        meant = floor_div(product_of(own), maximum(product_of(others), 1)) if others else product_of(own)
        given[at] = meant if known == -1 else switch(eq(length, -1), meant, length)
    return given


def product_of(items: Sequence[TensorVariable]) -> Any:
    """Return how many elements dimensions of these lengths have together; 1 without dimensions."""
    known = [as_index(n) for n in items]
    result: Any = math.prod(n for n in known if n is not None)
    for item, n in zip(items, known, strict=True):
        if n is None:
            result = item if result == 1 else mul(result, item)
    return result
