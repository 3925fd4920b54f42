"""Elements searched, sorted, counted and taken by the array API standard's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.tensor.array_api.public import tt
from treadle.tensor.errors import ArgumentError

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable


def argmax(x: TensorLike, /, *, axis: int | None = None, keepdims: bool = False) -> TensorVariable:
    """Return the position of the largest element, along an axis or in all."""
    at: TensorVariable = tt.argmax(x, axis, keepdims)
    return at


def argmin(x: TensorLike, /, *, axis: int | None = None, keepdims: bool = False) -> TensorVariable:
    """Return the position of the smallest element, along an axis or in all."""
    at: TensorVariable = tt.argmin(x, axis, keepdims)
    return at


def count_nonzero(
    x: TensorLike, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> TensorVariable:
    """Return how many elements are not zero."""
    count: TensorVariable = tt.count_nonzero(x, axis=axis, keepdims=keepdims)
    return count


def nonzero(x: TensorLike, /) -> tuple[TensorVariable, ...]:
    """Return the positions of elements that are not zero, one vector for each axis, as long as there are such."""
    return tuple(tt.nonzero(x))


def searchsorted(
    x1: TensorLike, x2: TensorLike, /, *, side: str = "left", sorter: TensorLike | None = None
) -> TensorVariable:
    """Return where values belong in a sorted vector."""
    at: TensorVariable = tt.searchsorted(x1, x2, side=side, sorter=sorter)
    return at


def where(condition: TensorLike, x1: TensorLike, x2: TensorLike, /) -> TensorVariable:
    """Return elements of `x1` where the condition is true, those of `x2` elsewhere."""
    chosen: TensorVariable = tt.where(condition, x1, x2)
    return chosen


def take(x: TensorLike, indices: TensorLike, /, *, axis: int | None = None) -> TensorVariable:
    """Return the parts at positions along an axis, which may be left out for a vector only."""
    tensor = tt.as_tensor(x)
    if axis is None and tensor.ndim != 1:
        msg = f"take: an axis is needed for {tensor} of rank {tensor.ndim}. Name one, axis=0."
        raise ArgumentError(msg)
    taken: TensorVariable = tt.take(tensor, indices, axis=0 if axis is None else axis)
    return taken


def take_along_axis(x: TensorLike, indices: TensorLike, /, *, axis: int = -1) -> TensorVariable:
    """Return for each position along an axis the element there."""
    taken: TensorVariable = tt.take_along_axis(x, indices, axis)
    return taken


def unique_all(x: TensorLike, /) -> Any:
    """Return the values that occur, their first positions, the way back and counts, by name."""
    return tt.unique_all(x)


def unique_counts(x: TensorLike, /) -> Any:
    """Return the values that occur, and how often, by name."""
    return tt.unique_counts(x)


def unique_inverse(x: TensorLike, /) -> Any:
    """Return the values that occur, and which of them each element is, by name."""
    return tt.unique_inverse(x)


def unique_values(x: TensorLike, /) -> TensorVariable:
    """Return the values that occur."""
    values: TensorVariable = tt.unique_values(x)
    return values


def argsort(x: TensorLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> TensorVariable:
    """Return the positions that sort a tensor along an axis; equal elements keep their order."""
    tensor = tt.as_tensor(x)
    if not descending:
        order: TensorVariable = tt.argsort(tensor, axis, stable=stable)
        return order
    # Equal elements keep their order: what sorts the reversed tensor, reversed, counted from the other end.
    order = tt.flip(tt.argsort(tt.flip(tensor, axis), axis, stable=True), axis)
    return tt.shape_i(tensor, axis % tensor.ndim) - 1 - order  # type: ignore[no-any-return]  # a tensor


def sort(x: TensorLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> TensorVariable:
    """Return a tensor sorted along an axis."""
    ordered: TensorVariable = tt.sort(x, axis, stable=stable)
    return tt.flip(ordered, axis) if descending else ordered


__all__ = [
    "argmax", "argmin", "argsort", "count_nonzero", "nonzero", "searchsorted", "sort", "take", "take_along_axis",
    "unique_all", "unique_counts", "unique_inverse", "unique_values", "where",
]  # fmt: skip
