"""Weighted means, covariances, and the most frequent values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from treadle.config import text_of
from treadle.graph import as_flag
from treadle.tensor.arguments.axes import at_axis, normalize_axes, normalize_axis
from treadle.tensor.arguments.values import as_callable, as_number, known_integer
from treadle.tensor.arrangement.diagonals import diagonal
from treadle.tensor.elementwise.arithmetic import clip, maximum
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, isnan, neq
from treadle.tensor.elementwise.complex_numbers import complex_
from treadle.tensor.elementwise.exponential import sqrt
from treadle.tensor.elementwise.logic import logical_and, logical_not, logical_or
from treadle.tensor.errors import ArgumentError, ShapeError, TensorTypeError
from treadle.tensor.indexing.gathering import take_along_axis
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.products.product import dot
from treadle.tensor.reductions.accumulation import cummax
from treadle.tensor.reductions.moments import mean
from treadle.tensor.reductions.reduction import argmax, max_, sum_
from treadle.tensor.shapes.broadcasting import broadcast_to, ones_like
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle, expand_dims, moveaxis, shape_padleft, squeeze, transpose
from treadle.tensor.shapes.shape import flatten, lengths, shape_i
from treadle.tensor.sorting.sorting import sort
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable

__all__ = ["apply_over_axes", "average", "corrcoef", "cov", "mode", "trim_mean"]


def _along(a: TensorVariable, weights: TensorLike, axis: AxisLike, axes: Sequence[int]) -> TensorVariable:
    """Return weights in dimensions that broadcast to a tensor."""
    w = as_tensor_variable(weights)
    same = w.ndim == a.ndim
    if axis is None and not same:
        msg = f"average: Axis must be specified when shapes of a and weights differ, got ranks {a.ndim} and {w.ndim}."
        raise TensorTypeError(msg)
    lengths = [a.type.shape[d] for d in (range(a.ndim) if same else axes)]
    fits = len(lengths) == w.ndim and all(
        m is None or n is None or m == n for m, n in zip(w.type.shape, lengths, strict=True)
    )
    if not fits:
        msg = (
            f"average: Shape of weights must be consistent with shape of a along specified axis, got {w.type} for "
            f"{a.type} and axis {axis}."
        )
        raise ShapeError(msg)
    if same:
        return w
    places = {d: i for i, d in enumerate(axes)}
    return dimshuffle(w, *(places.get(d, NEW) for d in range(a.ndim)))


@overload
def average(
    a: TensorLike,
    axis: AxisLike = None,
    weights: TensorLike | None = None,
    returned: Literal[False] = False,
    *,
    keepdims: bool = False,
) -> TensorVariable: ...


@overload
def average(
    a: TensorLike,
    axis: AxisLike = None,
    weights: TensorLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[TensorVariable, TensorVariable]: ...


def average(
    a: TensorLike,
    axis: AxisLike = None,
    weights: TensorLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> TensorVariable | tuple[TensorVariable, TensorVariable]:
    """Return the weighted mean along axes (as numpy.average).

    Weights whose sum is 0 give NaN or an infinity.

    Parameters
    ----------
    a
        A tensor.
    axis
        Axis or axes; all if None.
    weights
        Of the tensor's shape, or with a dimension for each axis; all 1 if None.
    returned
        Whether to return the sum of the weights too.
    keepdims
        Whether to keep the axes with length 1.

    Examples
    --------
    >>> tt.average([1.0, 2.0], weights=[3.0, 1.0]).eval()
    array(1.25)
    """
    x = as_tensor_variable(a)
    axes = normalize_axes("average", axis, x.ndim, of_scalar=True)
    if weights is None:
        result = mean(x, axes, keepdims=keepdims)
        if not as_flag("average: returned", returned):
            return result
        count = cast(constant(1, dtype="int64"), result.dtype)
        for d in axes:
            count = count * cast(shape_i(x, d), result.dtype)
        return result, broadcast_to(count, lengths(result))
    w = _along(x, weights, axis, axes)
    kinds = [x.type.numpy_dtype, w.type.numpy_dtype]
    dtype = np.result_type(*kinds, *(["float64"] if kinds[0].kind in "biu" else [])).name
    if np.dtype(dtype).kind not in "fc":
        dtype = "float64"
    # Each line has weights of its own, or all have the same.
    total = sum_(w, axis=axes, dtype=dtype, keepdims=keepdims)
    weighted = sum_(cast(x, dtype) * cast(w, dtype), axis=axes, keepdims=keepdims)
    # Not one quotient: of a single element, x * w / w, the weight cancels, also where it is 0. The other branch divides
    # by 1 where it is not taken, so that its derivative is finite there.
    some = neq(total, 0)
    result = switch(some, weighted / total, weighted / cast(some, dtype))
    return (result, broadcast_to(total, lengths(result))) if as_flag("average: returned", returned) else result


def _rows(m: TensorLike, rowvar: bool, dtype: DTypeLike | None) -> TensorVariable:
    """Return observations with a row for each variable."""
    x = as_tensor_variable(m)
    if x.ndim > 2:
        msg = f"cov: m has more than 2 dimensions, got {x} of type {x.type}."
        raise ShapeError(msg)
    target = TensorType(dtype).dtype if dtype is not None else np.result_type(x.type.numpy_dtype, "float64").name
    x = cast(x, target)
    return shape_padleft(x, 2 - x.ndim) if x.ndim < 2 else (x if rowvar else transpose(x))


def cov(
    m: TensorLike,
    y: TensorLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: TensorLike | None = None,
    aweights: TensorLike | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> TensorVariable:
    """Return the covariance matrix of variables (as numpy.cov).

    Parameters
    ----------
    m
        Observations: a vector of one variable, or a matrix with a row for each.
    y
        More variables.
    rowvar
        Whether rows are variables; else columns are.
    bias
        Whether to divide by the number of observations, not by one less.
    ddof
        What to subtract from the number of observations in place of that.
    fweights
        How often each observation was made: integers.
    aweights
        The weight of each observation.
    dtype
        Dtype of the result; float64 or complex128 if None.

    Examples
    --------
    >>> tt.cov([[1.0, 3.0], [4.0, 2.0]]).eval()
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    if ddof is not None and known_integer(ddof) is None:
        msg = f"cov: ddof must be integer, got {text_of(ddof)}."
        raise ArgumentError(msg)
    by_row = as_flag("cov: rowvar", rowvar)
    x = _rows(m, by_row, dtype)
    if y is not None:
        other = _rows(y, by_row, dtype)
        shared = np.result_type(x.type.numpy_dtype, other.type.numpy_dtype).name
        x = concatenate([cast(x, shared), cast(other, shared)], 0)
    lost = ddof if ddof is not None else int(not as_flag("cov: bias", bias))
    weight = _observation_weights(x, fweights, aweights)
    real = x.real.dtype
    if weight is None:
        size = cast(shape_i(x, 1), real)
        center, divisor = mean(x, 1, keepdims=True), size - lost
    else:
        size = sum_(weight)
        center = sum_(x * weight, axis=1, keepdims=True) / size
        divisor = size - lost
        if aweights is not None and lost:
            divisor = size - lost * sum_(weight * as_tensor_variable(aweights)) / size
    apart = x - center
    other_side = apart if weight is None else apart * weight
    products = dot(apart, transpose(other_side).conj()) / cast(maximum(divisor, 0), real)
    return squeeze(products)


def _observation_weights(
    x: TensorVariable, fweights: TensorLike | None, aweights: TensorLike | None
) -> TensorVariable | None:
    """Return the weights of observations, float; None if all are 1."""
    result: TensorVariable | None = None
    for name, values in (("fweights", fweights), ("aweights", aweights)):
        if values is None:
            continue
        w = as_tensor_variable(values)
        if w.ndim != 1:
            msg = f"cov: cannot handle multidimensional {name}, got {w} of type {w.type}."
            raise ShapeError(msg)
        if name == "fweights" and w.type.numpy_dtype.kind not in "iu":
            msg = f"cov: fweights must be integer, got {w} of type {w.type}."
            raise TensorTypeError(msg)
        n, count = w.type.shape[0], x.type.shape[1]
        if n is not None and count is not None and n != count:
            msg = f"cov: incompatible numbers of samples and {name}, got {count} and {n}."
            raise ShapeError(msg)
        w = cast(w, "float64") if w.type.numpy_dtype.kind != "f" else w
        result = w if result is None else result * w
    return result


def corrcoef(
    x: TensorLike, y: TensorLike | None = None, rowvar: bool = True, *, dtype: DTypeLike | None = None
) -> TensorVariable:
    """Return the correlation coefficients of variables (as numpy.corrcoef; parameters as for `cov`).

    Examples
    --------
    >>> tt.corrcoef([[1.0, 2.0], [4.0, 2.0]]).eval().round(6)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = sqrt(diagonal(c).real)
    c = c / expand_dims(spread, 1) / expand_dims(spread, 0)
    if c.type.numpy_dtype.kind == "c":
        return cast(complex_(clip(c.real, -1, 1), clip(c.imag, -1, 1)), c.dtype)
    return clip(c, -1, 1)


def mode(a: TensorLike, axis: int | None = 0, keepdims: bool = False) -> tuple[TensorVariable, TensorVariable]:
    """Return the most frequent element along an axis, and how often it occurs (as scipy.stats.mode).

    The smallest of several is taken; all NaN count as one element.

    Parameters
    ----------
    a
        A tensor of real numbers.
    axis
        The axis; None flattens first.
    keepdims
        Whether to keep the axis with length 1.

    Examples
    --------
    >>> [x.eval() for x in tt.mode([1, 2, 2])]
    [array(2), array(2)]
    """
    x = as_tensor_variable(a)
    rank = x.ndim
    x, at = (flatten(x), 0) if axis is None else (x, normalize_axis("mode", axis, x.ndim))
    ordered = sort(moveaxis(x, at, -1), -1)
    after, before = ordered[..., 1:], ordered[..., :-1]
    same = eq(after, before)
    if x.type.numpy_dtype.kind == "f":
        same = logical_or(same, logical_and(isnan(after), isnan(before)))
    positions = arange(shape_i(ordered, ordered.ndim - 1))
    # Where the run of equal elements starts that each belongs to; the longest run is longest at its end.
    starts = cummax(switch(logical_not(same), positions[1:], 0), axis=-1)
    run = concatenate([ones_like(ordered[..., :1], dtype="int64"), positions[1:] - starts + 1], -1)
    longest = expand_dims(argmax(run, axis=-1), -1)
    value, count = take_along_axis(ordered, longest, x.ndim - 1), max_(run, axis=-1, keepdims=True)
    if not as_flag("mode: keepdims", keepdims):
        return squeeze(value, -1), squeeze(count, -1)
    if axis is None:
        return shape_padleft(value, max(rank - 1, 0)), shape_padleft(count, max(rank - 1, 0))
    return moveaxis(value, -1, at), moveaxis(count, -1, at)


def trim_mean(a: TensorLike, proportiontocut: float, axis: int | None = 0) -> TensorVariable:
    """Return the mean along an axis without the smallest and largest elements (as scipy.stats.trim_mean).

    Parameters
    ----------
    a
        A tensor of real numbers.
    proportiontocut
        The part to leave out at each end, rounded down to whole elements: from 0 to less than 0.5.
    axis
        The axis; None flattens first.

    Examples
    --------
    >>> tt.trim_mean([1.0, 2.0, 3.0, 100.0], 0.25).eval()
    array(2.5)
    """
    if not 0 <= as_number("trim_mean: proportiontocut", proportiontocut) < 0.5:
        msg = f"trim_mean: Proportion too big, got {proportiontocut}. It runs from 0 to less than 0.5."
        raise ArgumentError(msg)
    x = as_tensor_variable(a)
    x, at = (flatten(x), 0) if axis is None else (x, normalize_axis("trim_mean", axis, x.ndim))
    n = shape_i(x, at)
    cut = cast(cast(n, "float64") * proportiontocut, "int64")
    return mean(sort(x, at)[at_axis(at, slice(cut, n - cut))], axis=at)


def apply_over_axes(func: Callable[[TensorVariable, int], TensorLike], a: TensorLike, axes: AxisLike) -> TensorVariable:
    """Apply a function of a tensor and an axis for one axis after another (as numpy.apply_over_axes).

    A dimension that the function drops is put back with length 1.

    Examples
    --------
    >>> tt.apply_over_axes(tt.sum, np.ones((2, 3)), [0, 1]).eval()
    array([[6.]])
    """
    as_callable("apply_over_axes: func", func)
    x = as_tensor_variable(a)
    for axis in normalize_axes("apply_over_axes", axes, x.ndim):
        result = as_tensor_variable(func(x, axis))
        if result.ndim == x.ndim - 1:
            result = expand_dims(result, axis)
        if result.ndim != x.ndim:
            msg = f"apply_over_axes: function is not returning an array of the correct shape, got rank {result.ndim}."
            raise ArgumentError(msg)
        x = result
    return x
