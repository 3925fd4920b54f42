"""Shapes and places of elements changed by the array API standard's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.array_api.public import tt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable


def broadcast_arrays(*arrays: TensorLike) -> list[TensorVariable]:
    """Return tensors broadcast to one shape."""
    return list(tt.broadcast_arrays(*arrays))


def broadcast_to(x: TensorLike, /, shape: Sequence[TensorLike] | TensorVariable) -> TensorVariable:
    """Return a tensor broadcast to a shape."""
    result: TensorVariable = tt.broadcast_to(x, shape)
    return result


def concat(arrays: Sequence[TensorLike], /, *, axis: int | None = 0) -> TensorVariable:
    """Return tensors joined along an axis; flattened if it is None."""
    parts = list(arrays) if axis is not None else [tt.as_tensor(a).flatten() for a in arrays]
    result: TensorVariable = tt.concatenate(parts, axis=0 if axis is None else axis)
    return result


def expand_dims(x: TensorLike, /, axis: int) -> TensorVariable:
    """Return a tensor with a new dimension of length 1 at `axis`."""
    result: TensorVariable = tt.expand_dims(x, axis)
    return result


def flip(x: TensorLike, /, *, axis: AxisLike = None) -> TensorVariable:
    """Return a tensor with the order of elements reversed along axes, all of them if None."""
    result: TensorVariable = tt.flip(x, axis)
    return result


def moveaxis(x: TensorLike, source: AxisLike, destination: AxisLike, /) -> TensorVariable:
    """Return a tensor with axes at other places."""
    result: TensorVariable = tt.moveaxis(x, source, destination)
    return result


def permute_dims(x: TensorLike, /, axes: Sequence[int]) -> TensorVariable:
    """Return a tensor with its axes in another order."""
    result: TensorVariable = tt.permute_dims(x, axes)
    return result


def repeat(x: TensorLike, repeats: TensorLike, /, *, axis: int | None = None) -> TensorVariable:
    """Return a tensor with each element repeated, along an axis or in all."""
    result: TensorVariable = tt.repeat(x, repeats, axis)
    return result


def reshape(
    x: TensorLike, /, shape: Sequence[TensorLike] | TensorVariable, *, copy: bool | None = None
) -> TensorVariable:
    """Return a tensor in another shape; `copy` makes no difference, as tensors are not changed."""
    del copy
    result: TensorVariable = tt.reshape(x, shape)
    return result


def roll(x: TensorLike, /, shift: TensorLike, *, axis: AxisLike = None) -> TensorVariable:
    """Return a tensor with its elements moved along axes, those at the end to the start."""
    result: TensorVariable = tt.roll(x, shift, axis)
    return result


def squeeze(x: TensorLike, /, axis: AxisLike) -> TensorVariable:
    """Return a tensor without dimensions of length 1."""
    result: TensorVariable = tt.squeeze(x, axis)
    return result


def stack(arrays: Sequence[TensorLike], /, *, axis: int = 0) -> TensorVariable:
    """Return tensors joined along a new axis."""
    result: TensorVariable = tt.stack(arrays, axis=axis)
    return result


def tile(x: TensorLike, repetitions: Sequence[int], /) -> TensorVariable:
    """Return a tensor repeated as a whole along each axis."""
    result: TensorVariable = tt.tile(x, repetitions)
    return result


def unstack(x: TensorLike, /, *, axis: int = 0) -> tuple[TensorVariable, ...]:
    """Return the parts of a tensor along an axis, whose length must be known."""
    return tuple(tt.unstack(x, axis=axis))


__all__ = [
    "broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis", "permute_dims", "repeat",
    "reshape", "roll", "squeeze", "stack", "tile", "unstack",
]  # fmt: skip
