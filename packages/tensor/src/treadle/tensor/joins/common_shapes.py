"""The shape that several tensors broadcast to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import as_flag
from treadle.tensor.batches.batching import broadcast_length
from treadle.tensor.errors import ShapeError
from treadle.tensor.shapes.broadcasting import alloc
from treadle.tensor.shapes.shape import as_lengths, lengths, static_lengths
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["broadcast_arrays", "broadcast_shape", "broadcast_shapes"]


def common_lengths(what: str, shapes: Sequence[Sequence[TensorVariable]]) -> list[TensorVariable]:
    """Return the lengths that shapes broadcast to, as int64 scalars; where all are constants, as constants."""
    ndim = max(map(len, shapes), default=0)
    result = []
    for at in range(-ndim, 0):
        candidates = [own[at] for own in shapes if len(own) >= -at]
        if len({*static_lengths(candidates)} - {None, 1}) > 1:
            listed = ", ".join(str(static_lengths(own)).replace("None", "?") for own in shapes)
            msg = (
                f"{what}: shape mismatch, objects cannot be broadcast to a single shape, got {listed}. Make dimension "
                f"{at} equal, or 1 in all but one."
            )
            raise ShapeError(msg)
        result.append(broadcast_length(candidates))
    return result


def broadcast_shape(*arrays: TensorLike, arrays_are_shapes: bool = False) -> tuple[TensorVariable, ...]:
    """Return the shape that tensors broadcast to, as a tuple of int64 scalars; constants where it is known.

    Parameters
    ----------
    arrays
        The tensors.
    arrays_are_shapes
        Whether the shapes themselves are given instead: sequences of integers and integer scalars, or vectors of known
        length.

    Raises
    ------
    ShapeError
        If the shapes are known not to broadcast together. Otherwise it shows where the shape is used.

    Examples
    --------
    >>> [int(n.eval()) for n in tt.broadcast_shape(np.ones((2, 1)), np.ones(3))]
    [2, 3]
    """
    if as_flag("broadcast_shape: arrays_are_shapes", arrays_are_shapes):
        return tuple(common_lengths("broadcast_shape", [as_lengths("broadcast_shape", shape) for shape in arrays]))
    return tuple(common_lengths("broadcast_shape", [lengths(x) for x in arrays]))


def broadcast_shapes(*shapes: TensorLike) -> tuple[TensorVariable, ...]:
    """Return the shape that shapes broadcast to (as numpy.broadcast_shapes; see `broadcast_shape`).

    Examples
    --------
    >>> [int(n.eval()) for n in tt.broadcast_shapes((2, 1), (3,))]
    [2, 3]
    """
    return broadcast_shape(*shapes, arrays_are_shapes=True)


def broadcast_arrays(*args: TensorLike) -> tuple[TensorVariable, ...]:
    """Return tensors broadcast against one another (as numpy.broadcast_arrays, but new arrays).

    Raises
    ------
    ShapeError
        If the shapes are known not to broadcast together.

    Examples
    --------
    >>> [x.eval().shape for x in tt.broadcast_arrays(np.ones((2, 1)), np.ones(3))]
    [(2, 3), (2, 3)]
    """
    variables = [as_tensor_variable(x) for x in args]
    shape = common_lengths("broadcast_arrays", [lengths(x) for x in variables])
    return tuple(alloc(x, *shape) for x in variables)
