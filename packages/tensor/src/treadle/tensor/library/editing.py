"""Tensors with parts left out or put in: append, delete, insert, trim_zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import text_of
from treadle.graph import Constant
from treadle.tensor.arguments.axes import at_axis, normalize_axes, normalize_axis
from treadle.tensor.arguments.values import known_integer
from treadle.tensor.control.assertion import CheckAndRaise
from treadle.tensor.elementwise.arithmetic import add, sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import ge, le, lt
from treadle.tensor.elementwise.logic import bitwise_and, invert
from treadle.tensor.errors import IndexingError, TensorTypeError
from treadle.tensor.indexing.gathering import as_positions
from treadle.tensor.indexing.indexing import set_subtensor, subtensor
from treadle.tensor.indexing.masks import as_mask, nonzero
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.reductions.accumulation import cumsum
from treadle.tensor.reductions.reduction import any_, argmax
from treadle.tensor.shapes.broadcasting import broadcast_to, ones
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle, moveaxis
from treadle.tensor.shapes.shape import LENGTH, flatten, lengths, shape_i, static_lengths
from treadle.tensor.shapes.shape_specification import held
from treadle.tensor.sorting.sorting import argsort
from treadle.tensor.types.conversion import as_tensor_variable, constant

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["append", "delete", "insert", "trim_zeros"]


def _line(what: str, arr: TensorLike, axis: int | None) -> tuple[TensorVariable, int]:
    """Return a tensor and its axis; the flattened tensor if there is none."""
    var = as_tensor_variable(arr)
    return (flatten(var), 0) if axis is None else (var, normalize_axis(what, axis, var.ndim))


def append(arr: TensorLike, values: TensorLike, axis: int | None = None) -> TensorVariable:
    """Return a tensor with values at the end of an axis; both flattened if it is None (as numpy.append).

    Examples
    --------
    >>> tt.append([1, 2], [3]).eval()
    array([1, 2, 3])
    """
    if axis is None:
        return concatenate([flatten(as_tensor_variable(x)) for x in (arr, values)])
    return concatenate([arr, values], axis)


def _place(what: str, number: TensorLike, n: TensorVariable, end: int) -> TensorVariable:
    """Return a position counted from the start, checked to be less than n, or n itself too where `end` is 1."""
    known, (length,) = known_integer(number), static_lengths([n])
    if known is not None and length is not None and not -length <= known < length + end:
        msg = f"{what}: position {known} is out of bounds for an axis of length {length}."
        raise IndexingError(msg)
    at = cast(number, LENGTH)
    at = switch(lt(at, 0), add(at, n), at)
    inside = bitwise_and(ge(at, 0), le(at, n) if end else lt(at, n))
    checked: TensorVariable = CheckAndRaise(IndexError, f"{what}: a position is out of bounds")(at, inside)
    return checked


def delete(arr: TensorLike, obj: TensorLike | slice, axis: int | None = None) -> TensorVariable:
    """Return a tensor without some parts along an axis; of the flattened tensor if it is None (as numpy.delete).

    Parameters
    ----------
    arr
        The tensor.
    obj
        What is left out: a position, positions, a slice, or a mask.
    axis
        The axis.

    Examples
    --------
    >>> tt.delete([1, 2, 3], 1).eval()
    array([1, 3])
    """
    var, at = _line("delete", arr, axis)
    n = shape_i(var, at)
    if isinstance(obj, slice):
        kept = set_subtensor(subtensor(ones(n, "bool"), obj), constant(np.False_))
        return _known_part(var, at, kept, obj)
    selection = as_tensor_variable(obj)
    if selection.dtype == "bool" and selection.ndim == 1:
        return subtensor(var, at_axis(at, invert(selection)))
    positions = as_positions("delete", obj)
    if positions.ndim == 0:
        place = _place("delete", positions, n, 0)
        parts = subtensor(var, at_axis(at, slice(None, place))), subtensor(var, at_axis(at, slice(add(place, 1), None)))
        return concatenate(list(parts), at)
    kept = set_subtensor(subtensor(ones(n, "bool"), flatten(positions)), constant(np.False_))
    return _known_part(var, at, kept, positions.data.ravel() if isinstance(positions, Constant) else None)


def _known_part(var: TensorVariable, axis: int, kept: TensorVariable, obj: slice | np.ndarray | None) -> TensorVariable:
    """Return the parts along an axis that a mask keeps; by positions where all is known."""
    n = var.type.shape[axis]
    symbolic = isinstance(obj, slice) and any(
        known_integer(b) is None and b is not None for b in (obj.start, obj.stop, obj.step)
    )
    if n is None or obj is None or symbolic:
        return subtensor(var, at_axis(axis, kept))
    try:
        left = np.delete(np.arange(n), obj)
    except IndexError as error:
        msg = f"delete: positions {text_of(obj)} are out of bounds for an axis of length {n}."
        raise IndexingError(msg) from error
    return subtensor(held(var, axis), at_axis(axis, constant(left)))


def insert(arr: TensorLike, obj: TensorLike | slice, values: TensorLike, axis: int | None = None) -> TensorVariable:
    """Return a tensor with values put in along an axis; into the flattened tensor if it is None (as numpy.insert).

    Parameters
    ----------
    arr
        The tensor.
    obj
        Before which elements of it the values go: a position, for all of them, or positions, one for each.
    values
        The values, converted to the tensor's dtype.
    axis
        The axis.

    Examples
    --------
    >>> tt.insert([1, 3], 1, 2).eval()
    array([1, 2, 3])
    """
    var, at = _line("insert", arr, axis)
    n = shape_i(var, at)
    new = cast(as_tensor_variable(values), var.dtype)
    if isinstance(obj, slice):
        positions = subtensor(arange(n), obj)
    else:
        chosen = as_tensor_variable(obj)
        positions = nonzero(chosen)[0] if chosen.dtype == "bool" and chosen.ndim else as_positions("insert", obj)
    new = dimshuffle(new, *[NEW] * (var.ndim - new.ndim), *range(new.ndim))
    if positions.ndim == 0 or (isinstance(positions, Constant) and positions.data.size == 1):
        if positions.ndim == 0:
            new = moveaxis(new, 0, at)
        place = _place("insert", flatten(positions)[0], n, 1)
        own = lengths(var)
        new = broadcast_to(new, [shape_i(new, at) if d == at else m for d, m in enumerate(own)])
        before, after = (subtensor(var, at_axis(at, s)) for s in (slice(None, place), slice(place, None)))
        return concatenate([before, new, after], at)
    places = _place("insert", flatten(positions), n, 1)
    count = shape_i(places, 0)
    order = argsort(places)
    # The k-th of the sorted positions is moved on by the k values before it.
    moved = set_subtensor(subtensor(places, order), add(subtensor(places, order), arange(count)))
    total = add(n, count)
    is_old = set_subtensor(subtensor(ones(total, "bool"), moved), constant(np.False_))
    sources = sub(cumsum(cast(is_old, LENGTH)), 1)
    sources = set_subtensor(subtensor(sources, moved), add(n, arange(count)))
    own = [count if d == at else m for d, m in enumerate(lengths(var))]
    return subtensor(concatenate([var, broadcast_to(new, own)], at), at_axis(at, sources))


def trim_zeros(filt: TensorLike, trim: str = "fb", axis: TensorLike | None = None) -> TensorVariable:
    """Return a tensor without the zeros at its ends, in all dimensions or along some (as numpy.trim_zeros).

    Parameters
    ----------
    filt
        The tensor.
    trim
        At which ends: ``"f"`` the front, ``"b"`` the back, ``"fb"`` both.
    axis
        The axes along which parts of zeros alone are left out.

    Examples
    --------
    >>> tt.trim_zeros([0, 1, 2, 0]).eval()
    array([1, 2])
    """
    var = as_tensor_variable(filt)
    ends = trim.lower() if isinstance(trim, str) else ""
    if ends not in {"f", "b", "fb", "bf"}:
        msg = f"trim_zeros: trim must be 'f', 'b' or 'fb', got {text_of(trim)}."
        raise TensorTypeError(msg)
    axes = normalize_axes("trim_zeros", axis, var.ndim)
    mask = as_mask(var)
    index: list[slice] = [slice(None)] * var.ndim
    for d in axes:
        others = tuple(e for e in range(var.ndim) if e != d)
        line = any_(mask, axis=others) if others else mask
        # An extra true element ends the search where there is no other.
        first, last = (argmax(cast(concatenate([x, np.ones(1, bool)]), "uint8")) for x in (line, line[::-1]))
        start = first if "f" in ends else None
        stop = sub(shape_i(var, d), last) if "b" in ends else None
        index[d] = slice(start, stop)
    return subtensor(var, tuple(index))
