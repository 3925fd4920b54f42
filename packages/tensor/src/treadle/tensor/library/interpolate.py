"""Interpolation between points on a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from treadle.graph import as_flag
from treadle.tensor.arguments.values import as_choice
from treadle.tensor.elementwise.arithmetic import abs_, maximum, minimum, mod
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, gt, isnan, le, lt
from treadle.tensor.errors import ShapeError
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.sorting.counting import searchsorted
from treadle.tensor.sorting.sorting import argsort
from treadle.tensor.types.conversion import as_tensor_variable, uniform_value
from treadle.tensor.types.dtype_rules import check_conversion

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Method = Literal["linear", "nearest", "first", "last", "mean"]

__all__ = ["interp", "interpolate1d"]


def _points(what: str, xp: TensorLike, fp: TensorLike) -> tuple[TensorVariable, TensorVariable]:
    """Return points and values in double precision; refuse anything but vectors of one length."""
    places, values = as_tensor_variable(xp), as_tensor_variable(fp)
    if places.ndim != 1 or values.ndim != 1:
        msg = f"{what}: data points must be 1-D sequences, got {places.type} and {values.type}. Ravel them."
        raise ShapeError(msg)
    n, m = places.type.shape[0], values.type.shape[0]
    if n is not None and m is not None and n != m:
        msg = f"{what}: fp and xp are not of the same length, got {m} and {n}. Give each point one value."
        raise ShapeError(msg)
    if n == 0 or m == 0:
        msg = f"{what}: the array of sample points is empty, got {places} and {values}. Give one point or more."
        raise ShapeError(msg)
    wide = "complex128" if values.type.numpy_dtype.kind == "c" else "float64"
    return _as_float(what, places), cast(values, wide)


def _as_float(what: str, x: TensorVariable) -> TensorVariable:
    check_conversion(what, x.type.numpy_dtype, np.dtype("float64"))
    return cast(x, "float64")


def _below(x: TensorVariable, xp: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return the positions of the points that enclose each number: of the first or last two where it lies outside."""
    last = shape_i(xp, 0) - 1
    lower = maximum(minimum(searchsorted(xp, x, side="right") - 1, last - 1), 0)
    return lower, minimum(lower + 1, last)


def interp(
    x: TensorLike,
    xp: TensorLike,
    fp: TensorLike,
    left: TensorLike | None = None,
    right: TensorLike | None = None,
    period: TensorLike | None = None,
) -> TensorVariable:
    """Return the piecewise linear function through points, at any places (as numpy.interp).

    Parameters
    ----------
    x
        Where to evaluate it, of any shape.
    xp, fp
        Places of the points, ascending, and the values there.
    left, right
        Values before the first and after the last point; those of these points if None.
    period
        Period of the function: `xp` need not be ascending then, and `left` and `right` are not used.

    Returns
    -------
    A tensor of the shape of `x`, float64, or complex128 if `fp` is complex. It has gradients by `x`, `xp` and `fp`.

    Raises
    ------
    ShapeError
        If `xp` and `fp` are not vectors, or are known to be empty or to have different lengths.

    Examples
    --------
    >>> tt.interp(1.5, [1.0, 2.0], [10.0, 20.0]).eval()
    array(15.)
    """
    where = _as_float("interp", as_tensor_variable(x))
    places, values = _points("interp", xp, fp)
    if period is not None:
        cycle = abs_(_as_float("interp: period", as_tensor_variable(period)))
        if uniform_value(as_tensor_variable(period)) == 0:
            msg = f"interp: period must be a non-zero value, got {period}. Give another."
            raise ShapeError(msg)
        left = right = None
        where, places = mod(where, cycle), mod(places, cycle)
        order = argsort(places)
        places, values = places[order], values[order]
        places = concatenate([places[-1:] - cycle, places, places[:1] + cycle])
        values = concatenate([values[-1:], values, values[:1]])
    lower, upper = _below(where, places)
    x0, x1, y0, y1 = places[lower], places[upper], values[lower], values[upper]
    slope = (y1 - y0) / switch(eq(x0, x1), 1.0, x1 - x0)
    result = slope * (where - x0) + y0
    # Where values are infinite: a point has its own, and what the formula loses may be known from the other end. Where
    # they are finite the formula is kept at the points too: it has a slope.
    other = slope * (where - x1) + y1
    lost = switch(isnan(other) & eq(y0, y1) & ~isnan(where), y0, other)
    result = switch(isnan(result), switch(eq(where, x0), y0, lost), result)
    first = values[0] if left is None else cast(as_tensor_variable(left), values.dtype)
    last = values[-1] if right is None else cast(as_tensor_variable(right), values.dtype)
    # The last point has its own value, with the slope before it.
    result = switch(eq(where, places[-1]), switch(isnan(other), values[-1], other), result)
    # A single point is its own neighbour, and has its value at NaN too, as in NumPy.
    result = switch(eq(lower, upper), values[-1], result)
    return switch(lt(where, places[0]), first, switch(gt(where, places[-1]), last, result))


def interpolate1d(
    x: TensorLike,
    y: TensorLike,
    method: Method = "linear",
    left_pad: TensorLike | None = None,
    right_pad: TensorLike | None = None,
    extrapolate: bool = True,
) -> Callable[[TensorLike], TensorVariable]:
    """Return the function that interpolates between points.

    A place that is a point belongs to the interval before it, as in PyTensor: ``first`` gives the value of the point
    before, ``last`` that of the point itself.

    Parameters
    ----------
    x, y
        Places of the points, in any order, and the values there.
    method
        ``linear``; the value of the ``nearest`` point, of the ``first`` or the ``last`` of the two points around a
        place, or the ``mean`` of both.
    left_pad, right_pad
        Values at or before the first point, and after the last one, unless `extrapolate`; those of these points if
        None.
    extrapolate
        Whether what holds between the first and between the last two points holds beyond them too.

    Returns
    -------
    A function of a tensor.

    Raises
    ------
    TensorTypeError
        If there is no such method.
    ShapeError
        If `x` and `y` are not vectors, or are known to be empty or to have different lengths.

    Examples
    --------
    >>> tt.interpolate1d([1.0, 2.0], [10.0, 20.0])(1.5).eval()
    array(15.)
    """
    chosen = as_choice("interpolate1d: method", method, ("linear", "nearest", "first", "last", "mean"))
    beyond = as_flag("interpolate1d: extrapolate", extrapolate)
    before_all = None if left_pad is None else as_tensor_variable(left_pad)
    after_all = None if right_pad is None else as_tensor_variable(right_pad)
    places, values = _points("interpolate1d", x, y)
    ascending = argsort(places)
    places, values = places[ascending], values[ascending]

    def interpolate(at: TensorLike) -> TensorVariable:
        where = _as_float("interpolate1d", as_tensor_variable(at))
        before, final = searchsorted(places, where), shape_i(places, 0) - 1
        upper = minimum(maximum(before, 1), final)
        lower = maximum(upper - 1, 0)
        x0, x1, y0, y1 = places[lower], places[upper], values[lower], values[upper]
        if chosen == "linear":
            result = y0 + (y1 - y0) / switch(eq(x0, x1), 1.0, x1 - x0) * (where - x0)
        elif chosen == "nearest":
            result = switch(le(where - x0, x1 - where), y0, y1)
        elif chosen == "mean":
            result = (y0 + y1) / 2
        elif chosen == "first":
            result = values[maximum(before - 1, 0)]
        else:
            result = values[minimum(before, final)]
        if beyond:
            return result
        left = values[0] if before_all is None else before_all
        right = values[-1] if after_all is None else after_all
        return switch(eq(before, 0), left, switch(gt(before, final), right, result))

    return interpolate
