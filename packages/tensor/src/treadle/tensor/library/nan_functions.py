"""Reductions and accumulations of what is not NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.control.assertion import CheckAndRaise
from treadle.tensor.control.conditional import ifelse
from treadle.tensor.elementwise.cast import cast, second, switch
from treadle.tensor.elementwise.comparison import eq, isnan, le, neq
from treadle.tensor.elementwise.logic import logical_and, logical_not
from treadle.tensor.reductions.accumulation import cumprod, cumsum
from treadle.tensor.reductions.moments import mean, root, var
from treadle.tensor.reductions.reduction import all_, any_, argmax, argmin, max_, min_, prod, sum_
from treadle.tensor.types.conversion import as_tensor_variable, constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable

__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum",
    "nanvar",
]  # fmt: skip


def _filled(a: TensorLike, value: float) -> TensorVariable:
    """Return a tensor with a value in place of NaN."""
    x = as_tensor_variable(a)
    if x.type.numpy_dtype.kind not in "fc":
        return x
    return switch(isnan(x), constant(value, dtype=x.dtype), x)


def nansum(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """Sum with NaN as 0 (as numpy.nansum; parameters as for `sum`).

    Examples
    --------
    >>> tt.nansum([1.0, np.nan, 3.0]).eval()
    array(4.)
    """
    return sum_(_filled(a, 0), axis, dtype, keepdims, initial=initial, where=where)


def nanprod(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """Multiply with NaN as 1 (as numpy.nanprod; parameters as for `prod`).

    Examples
    --------
    >>> tt.nanprod([2.0, np.nan, 3.0]).eval()
    array(6.)
    """
    return prod(_filled(a, 1), axis, dtype, keepdims, initial=initial, where=where)


def nancumsum(a: TensorLike, axis: int | None = None, dtype: DTypeLike | None = None) -> TensorVariable:
    """Return cumulative sums with NaN as 0 (as numpy.nancumsum; parameters as for `cumsum`).

    Examples
    --------
    >>> tt.nancumsum([1.0, np.nan, 3.0]).eval()
    array([1., 1., 4.])
    """
    return cumsum(_filled(a, 0), axis, dtype)


def nancumprod(a: TensorLike, axis: int | None = None, dtype: DTypeLike | None = None) -> TensorVariable:
    """Return cumulative products with NaN as 1 (as numpy.nancumprod; parameters as for `cumprod`).

    Examples
    --------
    >>> tt.nancumprod([1.0, np.nan, 3.0]).eval()
    array([1., 1., 3.])
    """
    return cumprod(_filled(a, 1), axis, dtype)


def _numbers(x: TensorVariable, where: TensorLike | None) -> TensorVariable | None:
    """Return which elements count: those of `where` that are not NaN; None for all."""
    if x.type.numpy_dtype.kind not in "fc":
        return None if where is None or where is True else as_tensor_variable(where)
    own = logical_not(isnan(x))
    return own if where is None or where is True else logical_and(own, where)


def nanmean(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    *,
    where: TensorLike | None = None,
) -> TensorVariable:
    """Return the mean of what is not NaN; NaN where nothing is left (as numpy.nanmean; parameters as for `mean`).

    Examples
    --------
    >>> tt.nanmean([1.0, np.nan, 3.0]).eval()
    array(2.)
    """
    x = as_tensor_variable(a)
    return mean(x, axis, dtype, keepdims, where=_numbers(x, where))


def nanvar(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: TensorLike | None = None,
    mean: TensorLike | None = None,
    correction: int | None = None,
) -> TensorVariable:
    """Return the variance of what is not NaN (as numpy.nanvar; parameters as for `var`).

    It is NaN where no more than `ddof` elements are left.

    Examples
    --------
    >>> tt.nanvar([1.0, np.nan, 3.0]).eval()
    array(1.)
    """
    x = as_tensor_variable(a)
    numbers = _numbers(x, where)
    variance = var(x, axis, ddof, keepdims, dtype=dtype, where=numbers, mean=mean, correction=correction)
    if numbers is None:
        return variance
    count = sum_(second(x, cast(numbers, "int64")), axis=axis, keepdims=keepdims)
    lost = ddof if correction is None else correction
    return switch(le(count, lost), constant(np.nan, dtype=variance.dtype), variance)


def nanstd(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: TensorLike | None = None,
    mean: TensorLike | None = None,
    correction: int | None = None,
) -> TensorVariable:
    """Return the standard deviation of what is not NaN (as numpy.nanstd; parameters as for `nanvar`).

    Examples
    --------
    >>> tt.nanstd([1.0, np.nan, 3.0]).eval()
    array(1.)
    """
    spread = nanvar(a, axis, dtype, ddof, keepdims, where=where, mean=mean, correction=correction)
    return root(spread)


def _extremum(
    function: Callable[..., TensorVariable],
    beyond: float,
    a: TensorLike,
    axis: AxisLike,
    keepdims: bool,
    initial: TensorLike | None,
    where: TensorLike | None,
) -> TensorVariable:
    """Return an extremum of what is not NaN; NaN where nothing else is."""
    x = as_tensor_variable(a)
    extremum = function(_filled(x, beyond), axis, keepdims, initial=initial, where=where)
    if x.type.numpy_dtype.kind not in "fc" or initial is not None:
        return extremum
    # Only where the result is what stands for NaN may all have been NaN. Written as a comparison, the question shares
    # nothing with the extremum, which stays one pass.
    doubtful = eq(extremum, constant(beyond, dtype=x.dtype))
    checked: TensorVariable = ifelse(
        any_(doubtful) if doubtful.ndim else doubtful,
        switch(all_(neq(x, x), axis, keepdims), constant(np.nan, dtype=x.dtype), extremum),
        extremum,
    )
    return checked


def nanmax(
    a: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """Return the largest element that is not NaN; NaN where there is none (as numpy.nanmax; parameters of `max`).

    Examples
    --------
    >>> tt.nanmax([1.0, np.nan, 3.0]).eval()
    array(3.)
    """
    return _extremum(max_, -np.inf, a, axis, keepdims, initial, where)


def nanmin(
    a: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """Return the smallest element that is not NaN; NaN where there is none (as numpy.nanmin; parameters of `max`).

    Examples
    --------
    >>> tt.nanmin([1.0, np.nan, 3.0]).eval()
    array(1.)
    """
    return _extremum(min_, np.inf, a, axis, keepdims, initial, where)


def _position(
    function: Callable[..., TensorVariable], beyond: float, a: TensorLike, axis: AxisLike, keepdims: bool
) -> TensorVariable:
    x = as_tensor_variable(a)
    position = function(_filled(x, beyond), axis, keepdims)
    if x.type.numpy_dtype.kind != "f":
        return position
    checked: TensorVariable = CheckAndRaise(ValueError, "All-NaN slice encountered")(
        position, logical_not(any_(all_(isnan(x), axis)))
    )
    return checked


def nanargmax(a: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Return the position of the largest element that is not NaN (as numpy.nanargmax; parameters as for `argmax`).

    The program fails with a ValueError where all are NaN.

    Examples
    --------
    >>> tt.nanargmax([1.0, np.nan, 3.0]).eval()
    array(2)
    """
    return _position(argmax, -np.inf, a, axis, keepdims)


def nanargmin(a: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Return the position of the smallest element that is not NaN (as numpy.nanargmin; errors as of `nanargmax`).

    Examples
    --------
    >>> tt.nanargmin([1.0, np.nan, 3.0]).eval()
    array(0)
    """
    return _position(argmin, np.inf, a, axis, keepdims)
