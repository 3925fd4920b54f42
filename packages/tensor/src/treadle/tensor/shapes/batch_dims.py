"""Batch dimensions of one variable: how many a new variable has in front of those of the one that it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import VectorizeError
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle

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

    `old` and `new` are the variable without and with its batch dimensions. Dimensions are added in front of the batch
    and of the core, whose rank is that of `old` by default.
    """
    own, rank = batch_ndim(old, new), old.type.ndim
    wide = rank if core is None else core
    order = [*[NEW] * (batch - own), *range(own), *[NEW] * (wide - rank), *range(own, own + rank)]
    return dimshuffle(new, *order)


def refuse_batched(pairs: Iterable[Pair], what: str) -> None:
    """Refuse inputs that have batch dimensions."""
    for old, new in pairs:
        if batch_ndim(old, new):
            msg = (
                f"{what} would differ along the batch, so that the results would have different shapes, got {new} of "
                f"type {new.type} for {old}. Give it no batch dimensions"
            )
            raise VectorizeError(msg)


def checked_lengths(node: TensorNode, lengths: Sequence[TensorVariable]) -> Sequence[TensorVariable]:
    """Return the lengths that a node takes after its first input: they may have no batch dimensions."""
    refuse_batched(zip(node.inputs[1:], lengths, strict=True), "lengths")
    return lengths
