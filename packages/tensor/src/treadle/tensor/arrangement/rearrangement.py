"""Moving elements along axes: flips, rotations, rolls."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

from treadle.config import text_of
from treadle.graph import composed
from treadle.tensor.arguments.axes import at_axis, named_axes, normalize_axes, normalize_axis
from treadle.tensor.arguments.values import as_integer
from treadle.tensor.elementwise.arithmetic import mod, sub
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.errors import AxisError, ShapeError, TensorTypeError
from treadle.tensor.indexing.gathering import take
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.lengths.numbers import greatest, number
from treadle.tensor.ops.known_values import known_values
from treadle.tensor.shapes.dimshuffle import dimshuffle, transpose
from treadle.tensor.shapes.shape import LENGTH, lengths, reshape, shape_i
from treadle.tensor.shapes.shape_specification import specify_shape
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable

__all__ = ["flip", "fliplr", "flipud", "roll", "rollaxis", "rot90"]


def flip(m: TensorLike, axis: AxisLike = None) -> TensorVariable:
    """Reverse the order of the elements along axes, all by default (as numpy.flip).

    Examples
    --------
    >>> tt.flip([1, 2, 3]).eval()
    array([3, 2, 1])
    """
    var = as_tensor_variable(m)
    turned = normalize_axes("flip", axis, var.ndim)
    if not turned:
        return var
    return var[tuple(slice(None, None, -1 if d in turned else None) for d in range(max(turned) + 1))]


def fliplr(m: TensorLike) -> TensorVariable:
    """Reverse the order of the elements along the second axis (as numpy.fliplr).

    Examples
    --------
    >>> tt.fliplr([[1, 2], [3, 4]]).eval()
    array([[2, 1],
           [4, 3]])
    """
    return flip(m, 1)


def flipud(m: TensorLike) -> TensorVariable:
    """Reverse the order of the elements along the first axis (as numpy.flipud).

    Examples
    --------
    >>> tt.flipud([[1, 2], [3, 4]]).eval()
    array([[3, 4],
           [1, 2]])
    """
    return flip(m, 0)


def rot90(m: TensorLike, k: SupportsIndex = 1, axes: Sequence[int] = (0, 1)) -> TensorVariable:
    """Rotate a tensor by k right angles in the plane of two axes, from the first towards the second (as numpy.rot90).

    Raises
    ------
    AxisError
        If there are not two axes, or they are the same.

    Examples
    --------
    >>> tt.rot90([[1, 2], [3, 4]]).eval()
    array([[2, 4],
           [1, 3]])
    """
    var = as_tensor_variable(m)
    plane = normalize_axes("rot90", tuple(named_axes(axes)), var.ndim)
    if len(plane) != 2:
        msg = f"rot90: two different axes are needed, got {text_of(axes)}. Name the two of the plane."
        raise AxisError(msg)
    first, second = plane
    turns = as_integer("rot90: k", k) % 4
    if turns == 0:
        return var
    if turns == 2:
        return flip(var, (first, second))
    order = list(range(var.ndim))
    order[first], order[second] = second, first
    return transpose(flip(var, second), order) if turns == 1 else flip(transpose(var, order), second)


def rollaxis(a: TensorLike, axis: int, start: int = 0) -> TensorVariable:
    """Move an axis back until it stands before another one (as numpy.rollaxis; `moveaxis` reads better).

    Examples
    --------
    >>> tt.rollaxis(np.ones((2, 3, 4)), 2).eval().shape
    (4, 2, 3)
    """
    var = as_tensor_variable(a)
    source = normalize_axis("rollaxis", axis, var.ndim)
    target = as_integer("rollaxis: start", start)
    if not -var.ndim <= target <= var.ndim:
        msg = f"rollaxis: start must lie between {-var.ndim} and {var.ndim}, got {target}. Name the axis to come after."
        raise AxisError(msg)
    target += var.ndim if target < 0 else 0
    order = [d for d in range(var.ndim) if d != source]
    order.insert(target - (source < target), source)
    return dimshuffle(var, *order)


@composed
def roll(x: TensorLike, shift: TensorLike, axis: AxisLike = None) -> TensorVariable:
    """Shift the elements along axes; those that leave at one end come in at the other (as numpy.roll).

    Parameters
    ----------
    x
        A tensor.
    shift
        By how many places: an integer, an integer scalar, or one for each axis.
    axis
        One axis or several, of which one may occur twice; without, the flattened tensor is shifted.

    Raises
    ------
    TensorTypeError
        If a shift is not an integer.
    ShapeError
        If there are neither as many shifts as axes, nor one of either.

    Examples
    --------
    >>> tt.roll([1, 2, 3], 1).eval()
    array([3, 1, 2])
    """
    var = as_tensor_variable(x)
    if axis is None:
        return reshape(roll(var.flatten(), shift, 0), lengths(var), ndim=var.ndim)
    axes = [normalize_axis("roll", a, var.ndim) for a in named_axes(axis)]
    shifts = _shifts(shift, len(axes))
    if len(shifts) != len(axes) and 1 not in {len(shifts), len(axes)}:
        msg = f"roll: {len(shifts)} shifts do not fit {len(axes)} axes, got {text_of(shift)}. Give one for each axis."
        raise ShapeError(msg)
    if not shifts or not axes:
        return var  # by nothing, as in NumPy
    count = max(len(shifts), len(axes))
    shifts = shifts * count if len(shifts) == 1 else shifts
    axes = axes * count if len(axes) == 1 else axes
    # NumPy adds up what an axis is shifted by.
    together: dict[int, TensorLike] = {}
    for at, by in zip(axes, shifts, strict=True):
        together[at] = together[at] + by if at in together else by  # type: ignore[operator]  # integers or scalars
    return _rolled(var, list(together.items()))


def _shifts(shift: TensorLike, count: int) -> list[TensorLike]:
    """Return the shifts, those that are known as Python integers; a vector of unknown length has `count`."""
    items = list(shift) if isinstance(shift, list | tuple) else [shift]
    result: list[TensorLike] = []
    for item in items:
        var = as_tensor_variable(item)
        if var.ndim == 1 and var.type.shape[0] is None and item is shift:
            var = specify_shape(var, (count,))
        if var.ndim > 1 or var.type.numpy_dtype.kind not in "iub" or (var.ndim and var.type.shape[0] is None):
            msg = f"roll: a shift must be an integer, got {text_of(item)} of type {var.type}. Cast it."
            raise TensorTypeError(msg)
        known = known_values(var) or [None] * (1 if var.ndim == 0 else len(var))
        scalars = [var] if var.ndim == 0 else list(var)
        result += [cast(v, LENGTH) if n is None else int(n) for v, n in zip(scalars, known, strict=True)]
    return result


def _rolled(x: TensorVariable, shifts: Sequence[tuple[int, TensorLike]]) -> TensorVariable:
    """Return a tensor shifted along axes: what is cut along one is shifted along the others, then joined."""
    if not shifts:
        return x
    (at, by), *others = shifts
    n = number(shape_i(x, at))
    longest = greatest(n, 1)
    if not isinstance(by, int):
        # The length of a part would depend on the shift, which tracing backends do not know.
        return _rolled(take(x, mod(sub(arange(n), by), longest), at), others)
    cut = mod(-by, longest) if not isinstance(longest, int) else -by % longest
    if isinstance(cut, int) and cut == 0:
        return _rolled(x, others)
    parts = x[at_axis(at, slice(cut, None))], x[at_axis(at, slice(cut))]
    return concatenate([_rolled(part, others) for part in parts], at)
