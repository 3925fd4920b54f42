"""Positions in flattened tensors and along each dimension, and index arrays of grids and diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import text_of
from treadle.graph import Variable, as_flag
from treadle.tensor.arguments.values import as_callable, as_choice, as_integer, as_items
from treadle.tensor.control.assertion import CheckAndRaise
from treadle.tensor.elementwise.arithmetic import add, floor_div, mod, mul
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.comparison import eq, ge, lt
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.errors import ShapeError
from treadle.tensor.indexing.gathering import MODES, as_positions, in_bounds
from treadle.tensor.indexing.masks import nonzero
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.joining import stack
from treadle.tensor.reductions.reduction import all_
from treadle.tensor.shapes.broadcasting import broadcast_to, ones
from treadle.tensor.shapes.dimshuffle import as_dimension
from treadle.tensor.shapes.shape import LENGTH, as_lengths, shape_i
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "diag_indices", "diag_indices_from", "indices", "mask_indices", "ravel_multi_index", "unravel_index",
]  # fmt: skip


def _inside(positions: TensorVariable, n: TensorLike, message: str) -> TensorVariable:
    """Return positions; the program raises a ValueError where one of them is not from 0 to n - 1."""
    checked: TensorVariable = CheckAndRaise(ValueError, message)(
        positions, all_(bitwise_and(ge(positions, 0), lt(positions, n)))
    )
    return checked


def unravel_index(indices: TensorLike, shape: TensorLike, order: str = "C") -> tuple[TensorVariable, ...]:
    """Return the positions along each dimension that positions in a flattened tensor are (as numpy.unravel_index).

    Parameters
    ----------
    indices
        Positions, of any shape; the program raises a ValueError where one is out of bounds.
    shape
        The tensor's shape: integers or integer scalars, or a vector whose length is known.
    order
        Whether the last dimension varies fastest (``"C"``) or the first (``"F"``).

    Examples
    --------
    >>> [at.eval() for at in tt.unravel_index([2, 3], (2, 3))]
    [array([0, 1]), array([2, 0])]
    """
    dims = as_lengths("unravel_index: shape", shape)
    fortran = as_choice("unravel_index: order", order, ("C", "F")) == "F"
    remainder = cast(as_positions("unravel_index", indices), LENGTH)
    total: TensorVariable | int = 1
    for n in dims:
        total = mul(total, n)
    remainder = _inside(remainder, total, "a position is out of bounds for a tensor of this shape")
    positions = []
    for n in dims[:0:-1] if not fortran else dims[:-1]:
        positions.append(mod(remainder, n))
        remainder = floor_div(remainder, n)
    if dims:
        positions.append(remainder)
    return tuple(positions if fortran else reversed(positions))


def ravel_multi_index(
    multi_index: TensorLike | Sequence[TensorLike],
    dims: TensorLike,
    mode: str | Sequence[str] = "raise",
    order: str = "C",
) -> TensorVariable:
    """Return the positions in a flattened tensor that positions along each dimension are (as numpy.ravel_multi_index).

    Parameters
    ----------
    multi_index
        Positions for each dimension, broadcast together; or one tensor, whose first dimension they are.
    dims
        The tensor's shape.
    mode
        What becomes of positions out of bounds, for all dimensions or for each: ``"raise"`` makes the program raise a
        ValueError, ``"wrap"`` starts again at the other end, ``"clip"`` takes the nearest.
    order
        Whether the last dimension varies fastest (``"C"``) or the first (``"F"``).

    Examples
    --------
    >>> tt.ravel_multi_index(([0, 1], [2, 0]), (2, 3)).eval()
    array([2, 3])
    """
    what = "ravel_multi_index"
    lengths = as_lengths(f"{what}: dims", dims)
    fortran = as_choice(f"{what}: order", order, ("C", "F")) == "F"
    if isinstance(multi_index, Variable | np.ndarray):
        table = as_tensor_variable(multi_index)
        parts: list[TensorLike] = (
            [table[d] for d in range(len(lengths))] if table.type.shape[:1] in {(None,), (len(lengths),)} else []
        )
    else:
        parts = as_items(f"{what}: multi_index", multi_index)  # type: ignore[arg-type]  # refuses anything but a sequence
    if len(parts) != len(lengths):
        msg = f"{what}: positions for each of {len(lengths)} dimensions are needed, got {text_of(multi_index)}."
        raise ShapeError(msg)
    mode_names = [mode] * len(parts) if isinstance(mode, str) else as_items(f"{what}: mode", mode)
    if len(mode_names) != len(parts):
        msg = f"{what}: one mode, or one for each of {len(parts)} dimensions is needed, got {text_of(mode)}."
        raise ShapeError(msg)
    modes = [as_choice(f"{what}: mode", m, MODES) for m in mode_names]
    flat: TensorVariable | None = None
    steps = list(zip(parts, lengths, modes, strict=True))
    for part, n, how in reversed(steps) if fortran else steps:
        positions = cast(as_positions(what, part), LENGTH)
        if how == "raise":
            positions = _inside(positions, n, "a position is out of bounds for its dimension")
        else:
            positions = in_bounds(positions, n, how)
        flat = positions if flat is None else add(mul(flat, n), positions)
    if flat is None:
        msg = f"{what}: there are no dimensions. Give one at least."
        raise ShapeError(msg)
    return flat


def diag_indices(n: TensorLike, ndim: int = 2) -> tuple[TensorVariable, ...]:
    """Return index arrays of the main diagonal of a tensor of `ndim` dimensions of length n (as numpy.diag_indices).

    Examples
    --------
    >>> [at.eval() for at in tt.diag_indices(2)]
    [array([0, 1]), array([0, 1])]
    """
    return (arange(n),) * as_integer("diag_indices: ndim", ndim, 0)


def diag_indices_from(arr: TensorLike) -> tuple[TensorVariable, ...]:
    """Return index arrays of the main diagonal of a tensor with equal lengths (as numpy.diag_indices_from).

    The program raises a ValueError where lengths that are known in a call only are not equal.

    Examples
    --------
    >>> [at.eval() for at in tt.diag_indices_from(np.ones((2, 2)))]
    [array([0, 1]), array([0, 1])]
    """
    var = as_tensor_variable(arr)
    known = {n for n in var.type.shape if n is not None}
    if var.ndim < 2 or len(known) > 1:
        msg = (
            f"diag_indices_from: a tensor of rank 2 or more with equal lengths is needed, got {var} of type {var.type}."
        )
        raise ShapeError(msg)
    n = shape_i(var, 0)
    if None in var.type.shape:
        equal = [eq(shape_i(var, d), n) for d in range(1, var.ndim)]
        n = CheckAndRaise(ValueError, "diag_indices_from: all lengths of the tensor must be equal")(n, *equal)
    return diag_indices(n, var.ndim)


def mask_indices(
    n: TensorLike, mask_func: Callable[[TensorVariable, TensorLike], TensorLike], k: TensorLike = 0
) -> tuple[TensorVariable, ...]:
    """Return the positions that a function such as `triu` leaves of an n by n matrix (as numpy.mask_indices).

    Examples
    --------
    >>> [at.eval() for at in tt.mask_indices(2, tt.triu)]
    [array([0, 0, 1]), array([0, 1, 1])]
    """
    function = as_callable("mask_indices: mask_func", mask_func)
    return nonzero(function(ones((n, n), LENGTH), k))


def indices(
    dimensions: TensorLike, dtype: DTypeLike = int, sparse: bool = False
) -> TensorVariable | tuple[TensorVariable, ...]:
    """Return the positions along each dimension of a grid (as numpy.indices).

    Parameters
    ----------
    dimensions
        The grid's shape.
    dtype
        Dtype of the result.
    sparse
        Whether to return, for each dimension, an array of length 1 in the others, instead of one tensor whose first
        dimension counts the grid's.

    Examples
    --------
    >>> tt.indices((2, 2))[0].eval()
    array([[0, 0],
           [1, 1]])
    """
    dims = as_lengths("indices: dimensions", dimensions)
    name = TensorType(dtype).dtype
    open_grid = [as_dimension(cast(arange(n), name), d, len(dims)) for d, n in enumerate(dims)]
    if as_flag("indices: sparse", sparse):
        return tuple(open_grid)
    if not dims:
        return as_tensor_variable(np.zeros(0, name))
    return stack([broadcast_to(x, dims) for x in open_grid])
