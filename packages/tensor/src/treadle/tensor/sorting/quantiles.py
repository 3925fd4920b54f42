"""Medians and quantiles by order statistics, without NaN or of what is not NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import text_of
from treadle.graph import as_flag
from treadle.tensor.arguments.axes import at_axis, normalize_axes
from treadle.tensor.elementwise.arithmetic import clip, maximum, minimum
from treadle.tensor.elementwise.cast import cast, second, switch
from treadle.tensor.elementwise.comparison import eq, ge, isnan, lt
from treadle.tensor.elementwise.logic import logical_and
from treadle.tensor.elementwise.rounding import ceil, floor, round_half_to_even
from treadle.tensor.errors import ArgumentError, DtypeError
from treadle.tensor.indexing.gathering import take_along_axis
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.reductions.accumulation import cumsum
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shapes.broadcasting import full
from treadle.tensor.shapes.dimshuffle import NEW, as_dimension, dimshuffle, expand_dims, moveaxis
from treadle.tensor.shapes.shape import flatten, lengths, reshape, shape_i
from treadle.tensor.shapes.shape_specification import held
from treadle.tensor.sorting.sorting import OrderStatistics, argsort, sort
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

# Methods of R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The American Statistician 50(4),
# 1996, that interpolate: their alpha and beta.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_DISCRETE = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
_METHODS = ("linear", "midpoint", "averaged_inverted_cdf", *_CONTINUOUS, *_DISCRETE)


def _next_unless(index: TensorVariable, stays: Callable[[TensorVariable], TensorVariable]) -> TensorVariable:
    """Return positions rounded down where they are integers and the condition holds, else the next ones."""
    below = floor(index)
    return maximum(switch(logical_and(eq(index, below), stays(below)), below, below + 1), 0)


def _discrete(method: str, n: TensorVariable, q: TensorVariable) -> TensorVariable:
    """Return the positions, as floats, of the elements that a method picks."""
    place = (n - 1) * q
    if method == "lower":
        return floor(place)
    if method == "higher":
        return ceil(place)
    if method == "nearest":
        return round_half_to_even(place)
    if method == "inverted_cdf":
        return _next_unless(n * q - 1, lambda below: eq(below, below))
    # The nearest one, of two the even one, counted from 1.
    return _next_unless(n * q - 1.5, lambda below: eq(below - 2 * floor(below / 2), 1))


def _interpolated(method: str, n: TensorVariable, q: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return the place of a quantile among the positions, and the weight of the element after it."""
    if method == "linear":
        place = (n - 1) * q
    elif method == "midpoint":
        place = (floor((n - 1) * q) + ceil((n - 1) * q)) * 0.5
    elif method == "averaged_inverted_cdf":
        place = n * q - 1
    else:
        alpha, beta = _CONTINUOUS[method]
        place = n * q + (alpha + q * (1 - alpha - beta)) - 1
    part = place - floor(place)
    if method == "midpoint":
        part = switch(eq(part, 0), cast(0.0, part.dtype), cast(0.5, part.dtype))
    elif method == "averaged_inverted_cdf":
        part = switch(eq(part, 0), cast(0.5, part.dtype), cast(1.0, part.dtype))
    return place, part


def _between(a: TensorVariable, b: TensorVariable, weight: TensorVariable) -> TensorVariable:
    """Interpolate; computed from the nearer one."""
    change = b - a
    return switch(ge(weight, 0.5), b - change * (1 - weight), a + change * weight)


def _as_line(name: str, a: TensorLike, axis: AxisLike) -> tuple[TensorVariable, int, tuple[int, ...], int]:
    """Return a tensor with the axes joined into one, that axis, the axes, and the rank before."""
    x = as_tensor_variable(a)
    if x.type.numpy_dtype.kind == "c":
        msg = f"{name}: complex numbers have no order, got {x} of type {x.type}. Take abs(x) or x.real."
        raise DtypeError(msg)
    if axis is None:
        return flatten(x), 0, tuple(range(x.ndim)), x.ndim
    axes = normalize_axes(name, axis, x.ndim, of_scalar=True)
    if len(axes) == 1:
        return x, axes[0], axes, x.ndim
    return _joined(x, axes), x.ndim - len(axes), axes, x.ndim


def _joined(x: TensorVariable, axes: Sequence[int]) -> TensorVariable:
    """Return a tensor with axes moved to the end and joined into one."""
    kept = x.ndim - len(axes)
    moved = moveaxis(x, tuple(sorted(axes)), tuple(range(kept, x.ndim)))
    return reshape(moved, [*lengths(moved)[:kept], -1], ndim=kept + 1)


def _kept(x: TensorVariable, before: int, axes: Sequence[int], ndim: int) -> TensorVariable:
    """Put axes of length 1 back into a result, behind `before` dimensions of its own."""
    axes_left = iter(range(before, x.ndim))
    return dimshuffle(x, *range(before), *(NEW if d in axes else next(axes_left) for d in range(ndim)))


def median(a: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Return the median along axes; a NaN makes it NaN (as numpy.median).

    It is the mean of the two middle elements where their number is even; bool and integers give float64.

    Parameters
    ----------
    a
        A tensor of real numbers.
    axis
        Axis or axes; all if None.
    keepdims
        Whether to keep the axes with length 1.

    Examples
    --------
    >>> tt.median([1.0, 5.0, 2.0]).eval()
    array(2.)
    """
    x, at, axes, ndim = _as_line("median", a, axis)
    n = shape_i(x, at)
    wide = _widened(x)
    if x.type.shape[at] == 0:
        x = held(x, at)
        kept_lengths = [m for d, m in enumerate(lengths(x)) if d != at]
        result = full(kept_lengths, np.nan, dtype=wide.dtype)
    else:
        picked = _statistics(x, at, [(n - 1) // 2, n // 2, n - 1])
        below, above, last = (_widened(picked[at_axis(at, i)]) for i in range(3))
        middle = switch(eq((n - 1) // 2, n // 2), below, _mean_of_two(below, above))
        result = switch(isnan(last), last, middle)
    return _kept(result, 0, axes, ndim) if as_flag("median: keepdims", keepdims) else result


def _mean_of_two(a: TensorVariable, b: TensorVariable) -> TensorVariable:
    total = (cast(a, "float32") + cast(b, "float32")) if a.dtype == "float16" else a + b
    return cast(total / 2, a.dtype)


def _widened(x: TensorVariable) -> TensorVariable:
    return x if x.type.numpy_dtype.kind == "f" else cast(x, "float64")


def _statistics(x: TensorVariable, axis: int, positions: Sequence[TensorVariable]) -> TensorVariable:
    """Return the order statistics at positions: scalars and vectors."""
    parts = [expand_dims(cast(p, "int64"), 0) if p.ndim == 0 else cast(p, "int64") for p in positions]
    statistics: TensorVariable = OrderStatistics(axis)(x, concatenate(parts))
    return statistics


def quantile(
    a: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: TensorLike | None = None,
) -> TensorVariable:
    """Return quantiles along axes; a NaN makes them NaN (as numpy.quantile).

    Parameters
    ----------
    a
        A tensor of real numbers.
    q
        Which: a number from 0 to 1, or a tensor of them, whose dimensions come first in the result.
    axis
        Axis or axes; all if None.
    method
        ``linear``, ``lower``, ``higher``, ``midpoint``, ``nearest``, or one of Hyndman and Fan's: ``inverted_cdf``,
        ``averaged_inverted_cdf``, ``closest_observation``, ``interpolated_inverted_cdf``, ``hazen``, ``weibull``,
        ``median_unbiased``, ``normal_unbiased``.
    keepdims
        Whether to keep the axes with length 1.
    weights
        How often each element counts, for the method ``inverted_cdf``: of the tensor's shape, or a vector along the
        axis.

    Examples
    --------
    >>> tt.quantile([1.0, 2.0, 4.0], 0.25).eval()
    array(1.5)
    """
    return _quantile("quantile", a, _chosen("quantile", q, 1), axis, method, keepdims, weights, False)


def percentile(
    a: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: TensorLike | None = None,
) -> TensorVariable:
    """Return percentiles along axes: quantiles at `q` / 100 (as numpy.percentile; parameters as for `quantile`).

    Examples
    --------
    >>> tt.percentile([1.0, 2.0, 4.0], 50).eval()
    array(2.)
    """
    return _quantile("percentile", a, _chosen("percentile", q, 100), axis, method, keepdims, weights, False)


def nanquantile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, method: str = "linear", keepdims: bool = False
) -> TensorVariable:
    """Return quantiles of what is not NaN (as numpy.nanquantile; parameters as for `quantile`).

    Examples
    --------
    >>> tt.nanquantile([1.0, np.nan, 2.0], 0.5).eval()
    array(1.5)
    """
    return _quantile("nanquantile", a, _chosen("nanquantile", q, 1), axis, method, keepdims, None, True)


def nanpercentile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, method: str = "linear", keepdims: bool = False
) -> TensorVariable:
    """Return percentiles of what is not NaN (as numpy.nanpercentile; parameters as for `quantile`).

    Examples
    --------
    >>> tt.nanpercentile([1.0, np.nan, 2.0], 50).eval()
    array(1.5)
    """
    return _quantile("nanpercentile", a, _chosen("nanpercentile", q, 100), axis, method, keepdims, None, True)


def nanmedian(a: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Return the median of what is not NaN along axes (as numpy.nanmedian; parameters as for `median`).

    Examples
    --------
    >>> tt.nanmedian([1.0, np.nan, 2.0]).eval()
    array(1.5)
    """
    x, at, axes, ndim = _as_line("nanmedian", a, axis)
    if x.type.numpy_dtype.kind != "f":
        return median(a, axis, keepdims)
    ordered, count = _ordered_numbers(x, at)
    low, high = maximum(count - 1, 0) // 2, count // 2
    below, above = _at_places(ordered, low), _at_places(ordered, high)
    result: TensorVariable = switch(eq(low, high), below, _mean_of_two(below, above))
    return _kept(result, 0, axes, ndim) if as_flag("nanmedian: keepdims", keepdims) else result


def _ordered_numbers(x: TensorVariable, axis: int) -> tuple[TensorVariable, TensorVariable]:
    """Return a tensor sorted along an axis, which is moved to the end, and how many numbers each line has."""
    ordered = sort(moveaxis(x, axis, -1), -1)
    return ordered, sum_(cast(~isnan(ordered), "int64"), axis=-1)


def _chosen(name: str, q: TensorLike, largest: int) -> tuple[TensorVariable, bool]:
    """Return `q` as fractions, and whether it is a Python number, which does not affect the dtype of the result."""
    quantiles = as_tensor_variable(q)
    if quantiles.type.numpy_dtype.kind not in "fiu":
        msg = f"{name}: q must hold real numbers, got {quantiles} of type {quantiles.type}."
        raise DtypeError(msg)
    data = getattr(quantiles, "data", None)
    if data is not None and not bool(np.all((np.asarray(data) >= 0) & (np.asarray(data) <= largest))):
        what = "Percentiles" if largest == 100 else "Quantiles"
        msg = f"{name}: {what} must be in the range [0, {largest}], got {data}."
        raise ArgumentError(msg)
    is_number = type(q) in {int, float}
    return (quantiles if largest == 1 else quantiles / largest), is_number


def _quantile(
    name: str,
    a: TensorLike,
    chosen: tuple[TensorVariable, bool],
    axis: AxisLike,
    method: str,
    keepdims: bool,
    weights: TensorLike | None,
    skips: bool,
) -> TensorVariable:
    if not isinstance(method, str) or method not in _METHODS:
        msg = f"{name}: {text_of(method)} is not a valid method. Use one of: {', '.join(_METHODS)}."
        raise ArgumentError(msg)
    x, at, axes, ndim = _as_line(name, a, axis)
    q, is_number = chosen
    fractions = q if q.ndim <= 1 else flatten(q)
    if weights is not None:
        if method != "inverted_cdf":
            msg = f"{name}: Only method 'inverted_cdf' supports weights. Got: {method}."
            raise ArgumentError(msg)
        result = _by_weight(x, at, fractions, _weights_along(name, as_tensor_variable(a), weights, axes, axis))
    elif skips and x.type.numpy_dtype.kind == "f":
        result = _of_numbers(x, at, fractions, is_number, method)
    else:
        result = _of_all(x, at, fractions, is_number, method)
    if as_flag(f"{name}: keepdims", keepdims):
        result = _kept(result, fractions.ndim, axes, ndim)
    if q.ndim > 1:
        result = reshape(result, [*lengths(q), *lengths(result)[1:]], ndim=q.ndim + result.ndim - 1)
    return result


def _interpolates(name: str, x: TensorVariable, q: TensorVariable, method: str) -> bool:
    """Whether elements are interpolated; integers as `q` pick the least and the largest one."""
    if method in _DISCRETE or (method == "linear" and q.type.numpy_dtype.kind in "iu"):
        return False
    if x.dtype == "bool":
        msg = f"{name}: truth values cannot be interpolated, got {x}. Convert them to numbers, or pick another method."
        raise DtypeError(msg)
    return True


def _weighed(a: TensorVariable, b: TensorVariable, part: TensorVariable, is_number: bool) -> TensorVariable:
    below, above = _widened(a), _widened(b)
    return _between(below, above, cast(part, below.dtype) if is_number else part)


def _of_all(x: TensorVariable, at: int, q: TensorVariable, is_number: bool, method: str) -> TensorVariable:
    """Return quantiles of all elements; the axis of the quantiles comes first."""
    n = shape_i(x, at)
    last = n - 1
    real = q if q.type.numpy_dtype.kind == "f" else cast(q, "float64")
    count = cast(n, real.dtype)
    checks = x.type.numpy_dtype.kind == "f"
    smooth = _interpolates("quantile", x, q, method)
    if not smooth:
        place = (n - 1) * q if method == "linear" else _discrete(method, count, real)
        picked = _statistics(x, at, [cast(place, "int64"), last] if checks else [cast(place, "int64")])
        quantiles = picked[at_axis(at, 0)] if q.ndim == 0 else moveaxis(picked, at, 0)[: shape_i(q, 0)]
    else:
        place, part = _interpolated(method, count, real)
        below, above = _neighbours(place, last)
        picked = moveaxis(_statistics(x, at, [below, above, last]), at, 0)
        if q.ndim == 0:
            low, high = picked[0], picked[1]
        else:
            k = shape_i(q, 0)
            low, high = picked[:k], picked[k : 2 * k]
            part = dimshuffle(part, 0, *[NEW] * (x.ndim - 1))
        quantiles = _weighed(low, high, part, is_number)
    if not checks:
        return quantiles
    top = picked[-1] if smooth else picked[at_axis(at, -1)]
    return switch(isnan(top), cast(top, quantiles.dtype), quantiles)


def _neighbours(place: TensorVariable, last: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return the positions around a place; the last one twice from there on, the first one twice before it."""
    top = cast(last, place.dtype)
    inside = logical_and(ge(place, 0), lt(place, top))
    end = switch(ge(place, top), top, 0)
    below = floor(place)
    return cast(switch(inside, below, end), "int64"), cast(switch(inside, below + 1, end), "int64")


def _of_numbers(x: TensorVariable, at: int, q: TensorVariable, is_number: bool, method: str) -> TensorVariable:
    """Return quantiles of the elements that are not NaN, whose number may differ from line to line."""
    real = q if q.type.numpy_dtype.kind == "f" else cast(q, "float64")
    ordered, numbers = _ordered_numbers(x, at)
    count = cast(numbers, real.dtype)
    levels = q if q.ndim == 0 else dimshuffle(q, 0, *[NEW] * (x.ndim - 1))
    real = real if q.ndim == 0 else dimshuffle(real, 0, *[NEW] * (x.ndim - 1))
    # Where there is no number, the first element, NaN, is taken.
    last = maximum(count - 1, 0)
    if not _interpolates("nanquantile", x, q, method):
        place = last * levels if method == "linear" else clip(_discrete(method, count, real), 0, last)
        return _at_places(ordered, cast(place, "int64"))
    place, part = _interpolated(method, count, real)
    below, above = _neighbours(place, last)
    return _weighed(_at_places(ordered, below), _at_places(ordered, above), part, is_number)


def _at_places(x: TensorVariable, positions: TensorVariable) -> TensorVariable:
    """Return the elements of lines along the last axis at positions, one or more for each line."""
    kept = x.ndim - 1
    grid = [as_dimension(arange(shape_i(x, d)), d, kept) for d in range(kept)]
    return x[(*grid, positions)]


def _weights_along(
    name: str, a: TensorVariable, weights: TensorLike, axes: Sequence[int], axis: AxisLike
) -> TensorVariable:
    """Return weights in the shape of a tensor whose axes were joined."""
    w = as_tensor_variable(weights)
    if w.ndim != a.ndim and (w.ndim != 1 or len(axes) != 1):
        msg = f"{name}: weights must have the tensor's rank {a.ndim}, or be a vector along one axis, got rank {w.ndim}."
        raise ArgumentError(msg)
    if w.ndim != a.ndim:
        w = dimshuffle(w, *(0 if d == axes[0] else NEW for d in range(a.ndim)))
    w = second(a, w)
    if axis is None:
        return flatten(w)
    return w if len(axes) == 1 else _joined(w, axes)


def _by_weight(x: TensorVariable, at: int, q: TensorVariable, weights: TensorVariable) -> TensorVariable:
    """Return the first elements up to which the weights make at least the wanted part of all weights."""
    order = argsort(x, at)
    ordered = moveaxis(take_along_axis(x, order, at), at, -1)
    total = cumsum(moveaxis(take_along_axis(weights, order, at), at, -1), axis=-1, dtype="float64")
    part = total / total[..., -1:]
    # What has no weight is never picked, not for 0 either.
    part = switch(eq(part, 0), -1.0, part)
    fractions = q if q.ndim == 0 else dimshuffle(q, 0, *[NEW] * x.ndim)
    positions = minimum(sum_(cast(lt(part, fractions), "int64"), axis=-1), shape_i(x, at) - 1)
    quantiles = _at_places(ordered, positions)
    if x.type.numpy_dtype.kind != "f":
        return quantiles
    last = ordered[..., -1]
    return switch(isnan(last), last, quantiles)
