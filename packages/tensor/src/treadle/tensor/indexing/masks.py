"""Boolean masks: which elements are not zero, picking those that a mask picks, and writing to them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

import numpy as np

from treadle.graph import as_flag
from treadle.tensor.arguments.axes import at_axis, normalize_axis
from treadle.tensor.elementwise.arithmetic import add, floor_div, maximum, mod
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import lt, neq
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.indexing.indexing import set_subtensor, subtensor
from treadle.tensor.indexing.nonzero import Nonzero
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.indexing.searching import SearchSorted
from treadle.tensor.joins.joining import stack
from treadle.tensor.reductions.accumulation import cumsum
from treadle.tensor.shapes.broadcasting import zeros
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle
from treadle.tensor.shapes.shape import LENGTH, flatten, reshape, shape_i
from treadle.tensor.types.conversion import as_tensor_variable, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Fill: TypeAlias = "TensorLike | Sequence[TensorLike]"

__all__ = [
    "argwhere", "compress", "extract", "flatnonzero", "nonzero", "nonzero_values", "place", "putmask",
]  # fmt: skip


def as_mask(a: TensorLike) -> TensorVariable:
    """Return whether elements are not zero."""
    var = as_tensor_variable(a)
    return var if var.dtype == "bool" else neq(var, np.zeros((), var.dtype))


@overload
def nonzero(
    a: TensorLike, return_matrix: Literal[False] = False, *, size: TensorLike | None = None, fill_value: Fill = 0
) -> tuple[TensorVariable, ...]: ...


@overload
def nonzero(
    a: TensorLike, return_matrix: Literal[True], *, size: TensorLike | None = None, fill_value: Fill = 0
) -> TensorVariable: ...


@overload
def nonzero(
    a: TensorLike, return_matrix: bool, *, size: TensorLike | None = None, fill_value: Fill = 0
) -> tuple[TensorVariable, ...] | TensorVariable: ...


def nonzero(
    a: TensorLike, return_matrix: bool = False, *, size: TensorLike | None = None, fill_value: Fill = 0
) -> tuple[TensorVariable, ...] | TensorVariable:
    """Return the positions of the elements that are not zero, a vector for each dimension (as numpy.nonzero).

    Parameters
    ----------
    a
        A tensor of rank 1 or more.
    return_matrix
        Whether to return one matrix, with a row for each dimension.
    size
        How many positions are returned: the first ones. With it the shape does not depend on data, so that JAX takes
        it.
    fill_value
        What follows where there are fewer than `size`; a number, or one for each dimension.

    Raises
    ------
    ShapeError
        If the tensor is of rank 0.

    Examples
    --------
    >>> [at.eval() for at in tt.nonzero([[0, 5], [6, 0]])]
    [array([0, 1]), array([1, 0])]
    """
    var = as_tensor_variable(a)
    if not var.ndim:
        msg = f"nonzero: a tensor of rank 1 or more is needed, got {var} of rank 0. Use atleast_1d(x)."
        raise ShapeError(msg)
    mask = as_mask(var)
    if size is None:
        positions = tensors(Nonzero().make_node(mask).outputs)
    else:
        fills = list(fill_value) if isinstance(fill_value, list | tuple) else [fill_value] * var.ndim
        positions = _first_positions(mask, size, fills)
    return stack(positions) if as_flag("nonzero: return_matrix", return_matrix) else tuple(positions)


def first_true(mask: TensorVariable, size: TensorLike) -> TensorVariable:
    """Return the positions of the first true elements of a vector, and its length where there are fewer."""
    count = cumsum(cast(mask, LENGTH))
    positions: TensorVariable = SearchSorted("left")(count, add(arange(size), 1))
    return positions


def _first_positions(mask: TensorVariable, size: TensorLike, fills: Sequence[TensorLike]) -> list[TensorVariable]:
    """Return the positions of the first true elements along each dimension, followed by fill values."""
    if len(fills) != mask.ndim:
        msg = f"nonzero: one fill_value, or one for each of {mask.ndim} dimensions is needed, got {len(fills)}."
        raise ShapeError(msg)
    flat = flatten(mask)
    position = first_true(flat, size)
    exists = lt(position, shape_i(flat, 0))
    positions: list[TensorVariable] = []
    for d in range(mask.ndim - 1, -1, -1):
        # A dimension of length 0 has no positions, but must not be divided by.
        n = maximum(shape_i(mask, d), 1)
        positions.insert(0, switch(exists, mod(position, n) if d else position, cast(fills[d], LENGTH)))
        position = floor_div(position, n)
    return positions


def flatnonzero(a: TensorLike) -> TensorVariable:
    """Return the positions in the flattened tensor of the elements that are not zero (as numpy.flatnonzero).

    Examples
    --------
    >>> tt.flatnonzero([0, 5, 6]).eval()
    array([1, 2])
    """
    return nonzero(flatten(a))[0]


def nonzero_values(a: TensorLike) -> TensorVariable:
    """Return the elements that are not zero, as a vector: ``a[nonzero(a)]``.

    Examples
    --------
    >>> tt.nonzero_values([0, 5, 6]).eval()
    array([5, 6])
    """
    var = as_tensor_variable(a)
    return subtensor(var, nonzero(var))


def argwhere(a: TensorLike) -> TensorVariable:
    """Return the positions of the elements that are not zero, a row for each element (as numpy.argwhere).

    Examples
    --------
    >>> tt.argwhere([0, 5, 6]).eval()
    array([[1],
           [2]])
    """
    var = as_tensor_variable(a)
    if not var.ndim:
        return zeros((shape_i(nonzero(dimshuffle(var, NEW))[0], 0), 0), "int64")
    return nonzero(var, return_matrix=True).T


def compress(condition: TensorLike, x: TensorLike, axis: int | None = None) -> TensorVariable:
    """Return the parts of a tensor along an axis for which a condition holds (as numpy.compress).

    Parameters
    ----------
    condition
        A vector; where it is shorter than the dimension, the rest is left out.
    x
        The tensor.
    axis
        The axis; of the flattened tensor if None.

    Examples
    --------
    >>> tt.compress([True, False, True], [1, 2, 3]).eval()
    array([1, 3])
    """
    mask = as_tensor_variable(condition)
    if mask.ndim != 1:
        msg = f"compress: the condition must be a vector, got {mask} of rank {mask.ndim}. Flatten it."
        raise ShapeError(msg)
    var = as_tensor_variable(x)
    if axis is None:
        return subtensor(flatten(var), nonzero(mask))
    at = normalize_axis("compress", axis, var.ndim)
    return subtensor(var, at_axis(at, nonzero(mask)[0]))


def extract(condition: TensorLike, arr: TensorLike) -> TensorVariable:
    """Return the elements of a tensor for which a condition holds, as a vector (as numpy.extract).

    Examples
    --------
    >>> tt.extract([True, False, True], [1, 2, 3]).eval()
    array([1, 3])
    """
    return subtensor(flatten(arr), nonzero(flatten(condition)))


def place(arr: TensorLike, mask: TensorLike, vals: TensorLike) -> TensorVariable:
    """Return a tensor with the elements that a mask picks replaced by values, again and again in order.

    What numpy.place does to its argument. The mask has as many elements as the tensor.

    Examples
    --------
    >>> tt.place([1, 2, 3], [True, False, True], [7, 8]).eval()
    array([7, 2, 8])
    """
    var = as_tensor_variable(arr)
    chosen = _of_shape("place", as_mask(mask), var)
    (positions,) = nonzero(flatten(chosen))
    values = flatten(cast(vals, var.dtype))
    at = mod(arange(shape_i(positions, 0)), shape_i(values, 0))
    return reshape(set_subtensor(subtensor(flatten(var), positions), subtensor(values, at)), var.shape)


def putmask(a: TensorLike, mask: TensorLike, values: TensorLike) -> TensorVariable:
    """Return a tensor with the elements that a mask picks replaced by the values at the same places.

    What numpy.putmask does to its argument. Values of fewer elements are repeated.

    Examples
    --------
    >>> tt.putmask([1, 2, 3], [True, False, True], [7, 8, 9]).eval()
    array([7, 2, 9])
    """
    var = as_tensor_variable(a)
    chosen = _of_shape("putmask", as_mask(mask), var)
    replacements = as_tensor_variable(values)
    if replacements.dtype != var.dtype and not np.can_cast(replacements.dtype, var.dtype, "same_kind"):
        msg = f"putmask: values of dtype {replacements.dtype} do not fit a tensor of dtype {var.dtype}. Cast them."
        raise TensorTypeError(msg)
    replacements = cast(replacements, var.dtype)
    if replacements.ndim and replacements is not var:
        flat = flatten(replacements)
        at = mod(arange(var.size), shape_i(flat, 0))
        replacements = reshape(subtensor(flat, at), var.shape)
    return switch(chosen, replacements, var)


def _of_shape(what: str, mask: TensorVariable, x: TensorVariable) -> TensorVariable:
    """Return a mask in the shape of a tensor with as many elements."""
    ours, theirs = ([n for n in v.type.shape if n is not None] for v in (mask, x))
    known = len(ours) == mask.ndim and len(theirs) == x.ndim
    if known and prod(ours) != prod(theirs):
        msg = f"{what}: a mask of shape {mask.type.shape} does not fit a tensor of shape {x.type.shape}."
        raise ShapeError(msg)
    return mask if mask is x else reshape(mask, x.shape, ndim=x.ndim)
