"""Means, variances, ranges and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import text_of
from treadle.graph import as_flag, composed
from treadle.tensor.arguments.values import as_number, known_integer
from treadle.tensor.elementwise.arithmetic import add, maximum, sub, true_div
from treadle.tensor.elementwise.cast import cast, second, switch
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.elementwise.exponential import sqr, sqrt
from treadle.tensor.errors import ArgumentError
from treadle.tensor.reductions.reduction import mask_of, max_, min_, reduced_axes, sum_, truth, with_others
from treadle.tensor.shapes.dimshuffle import dimshuffle
from treadle.tensor.shapes.shape import product_of, shape_i
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable

__all__ = ["count_nonzero", "mean", "ptp", "std", "var"]


def count_nonzero(a: TensorLike, axis: AxisLike = None, *, keepdims: bool = False) -> TensorVariable:
    """Return how many elements along axes are not zero, int64 (as numpy.count_nonzero).

    Examples
    --------
    >>> tt.count_nonzero([0, 5, 6]).eval()
    array(2)
    """
    return sum_(truth(a), axis=axis, dtype="int64", keepdims=keepdims)


def _count(x: TensorVariable, axes: Sequence[int], dtype: str, mask: TensorVariable | None = None) -> TensorVariable:
    """Return the number of elements along axes, in a float dtype: a scalar, or one for each result where some count."""
    if mask is not None:
        return sum_(second(x, cast(mask, "int64")), axis=axes, dtype=dtype, keepdims=True)
    return cast(product_of([shape_i(x, d) for d in axes]), dtype)


def _dropped(x: TensorVariable, axes: Sequence[int]) -> TensorVariable:
    """Drop axes that were kept."""
    return dimshuffle(x, *(d for d in range(x.ndim) if d not in axes)) if axes else x


@composed
def mean(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike | None = None,
    *,
    where: TensorLike | None = None,
) -> TensorVariable:
    """Return the mean over axes (as numpy.mean): integers give float64, no elements give NaN.

    Parameters are those of `sum_`.

    Examples
    --------
    >>> tt.mean([[1.0, 2.0], [3.0, 4.0]], axis=0).eval()
    array([2., 3.])
    """
    var = as_tensor_variable(x)
    own = var.type.numpy_dtype
    result = TensorType(dtype).dtype if dtype is not None else (own.name if own.kind in "fc" else "float64")
    inner = TensorType(acc_dtype).dtype if acc_dtype is not None else ("float32" if result == "float16" else result)
    axes = reduced_axes("mean", axis, var)
    real = inner if inner not in {"complex64", "complex128"} else {"complex64": "float32"}.get(inner, "float64")
    if np.dtype(real).kind != "f":
        real = "float64"
    mask = mask_of("mean", var, where)
    if mask is None:
        total = sum_(var, axis=axes, dtype=inner, keepdims=keepdims)
        return cast(true_div(total, _count(var, axes, real)), result)
    kept = as_flag("mean: keepdims", keepdims)
    total = sum_(with_others(var, mask, 0), axis=axes, dtype=inner, keepdims=True)
    return cast(_dropped(true_div(total, _count(var, axes, real, mask)), () if kept else axes), result)


@composed
def var(
    x: TensorLike,
    axis: AxisLike = None,
    ddof: int = 0,
    keepdims: bool = False,
    corrected: bool = False,
    *,
    dtype: DTypeLike | None = None,
    where: TensorLike | None = None,
    mean: TensorLike | None = None,
    correction: int | None = None,
) -> TensorVariable:
    """Return the variance over axes (as numpy.var), computed from deviations from the mean.

    Parameters
    ----------
    x
        A tensor; of complex numbers the squares are those of absolute values.
    axis
        Axis or axes; all if None.
    ddof, correction
        Subtracted from the number of elements in the divisor: two names of one thing.
    keepdims
        Whether to keep the axes with length 1.
    corrected
        Whether to take out the rounding error of the mean (the corrected two-pass algorithm): it says how to compute
        the same number, and is not NumPy's `correction`.
    dtype
        Dtype to compute in; float64 for bool and integers if None.
    where
        Which elements to include: bool, broadcast to `x`; all if None.
    mean
        The mean, where it is known, with its axes kept.

    Notes
    -----
    T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the sample variance", The American Statistician 37, 1983.

    Examples
    --------
    >>> tt.var([1.0, 3.0], ddof=1).eval()
    array(2.)
    """
    value = as_tensor_variable(x)
    if dtype is not None:
        value = cast(value, TensorType(dtype).dtype)
    elif value.type.numpy_dtype.kind not in "fc":
        value = cast(value, "float64")
    inner = cast(value, "float32") if value.dtype == "float16" else value
    axes, mask = reduced_axes("var", axis, value), mask_of("var", value, where)
    kept = as_flag("var: keepdims", keepdims)
    center = _mean(inner, axes, keepdims=True, where=mask) if mean is None else as_tensor_variable(mean)
    deviations = with_others(sub(inner, center), mask, 0)
    # Counts by a mask differ between the results, and have their axes kept.
    wide = kept or mask is not None
    total = sum_(squared_size(deviations), axis=axes, keepdims=wide)
    count = _count(value, axes, total.dtype, mask)
    if as_flag("var: corrected", corrected):
        total = sub(total, true_div(squared_size(sum_(deviations, axis=axes, keepdims=wide)), count))
    if correction is not None and known_integer(ddof) != 0:
        msg = f"var: ddof and correction are the same, got {text_of(ddof)} and {text_of(correction)}. Pass one."
        raise ArgumentError(msg)
    lost = as_number("var: ddof", ddof if correction is None else correction)
    divisor = maximum(sub(count, lost), 0) if lost else count
    return cast(_dropped(true_div(total, divisor), () if kept == wide else axes), value.real.dtype)


_mean = mean


def squared_size(x: TensorVariable) -> TensorVariable:
    return add(sqr(x.real), sqr(x.imag)) if x.type.numpy_dtype.kind == "c" else sqr(x)


def root(spread: TensorVariable) -> TensorVariable:
    """Return the square root of a sum of squares, with derivative 0 where all are 0, the minimum of a norm."""
    none = eq(spread, 0)
    return switch(none, spread, sqrt(switch(none, 1, spread)))


@composed
def std(
    x: TensorLike,
    axis: AxisLike = None,
    ddof: int = 0,
    keepdims: bool = False,
    corrected: bool = False,
    *,
    dtype: DTypeLike | None = None,
    where: TensorLike | None = None,
    mean: TensorLike | None = None,
    correction: int | None = None,
) -> TensorVariable:
    """Return the standard deviation over axes (as numpy.std; parameters as for `var`).

    Examples
    --------
    >>> tt.std([1.0, 3.0]).eval()
    array(1.)
    """
    spread = var(x, axis, ddof, keepdims, corrected, dtype=dtype, where=where, mean=mean, correction=correction)
    return root(spread)


def ptp(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Return the range of values along an axis (as numpy.ptp).

    Examples
    --------
    >>> tt.ptp([1, 5, 3]).eval()
    array(4)
    """
    return sub(max_(x, axis, keepdims), min_(x, axis, keepdims))
