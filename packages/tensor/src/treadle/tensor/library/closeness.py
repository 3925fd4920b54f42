"""Comparing whole tensors; replacing NaN and infinities; removing the jumps of phases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import as_flag
from treadle.tensor.arguments.axes import at_axis, normalize_axis
from treadle.tensor.arguments.values import as_number
from treadle.tensor.elementwise.arithmetic import abs_, add, mod, mul, sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, isfinite, isnan, isneginf, isposinf, le
from treadle.tensor.elementwise.complex_numbers import complex_
from treadle.tensor.elementwise.logic import bitwise_and, bitwise_or
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.reductions.accumulation import cumsum
from treadle.tensor.reductions.reduction import all_
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.shapes.shape import flatten, shape_i
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.dtype_rules import promote

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["allclose", "array_equal", "array_equiv", "isclose", "nan_to_num", "unwrap"]


def isclose(
    a: TensorLike, b: TensorLike, rtol: TensorLike = 1e-05, atol: TensorLike = 1e-08, equal_nan: bool = False
) -> TensorVariable:
    """Return where two tensors are equal within a tolerance, ``abs(a - b) <= atol + rtol * abs(b)`` (numpy.isclose).

    Infinities are close to themselves, NaN to NaN if `equal_nan`.

    Examples
    --------
    >>> tt.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1]).eval()
    array([ True, False])
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    y = cast(y, promote([y.type.numpy_dtype, float]))
    near = bitwise_and(le(abs_(sub(x, y)), add(atol, mul(rtol, abs_(y)))), isfinite(y))
    close: TensorVariable = bitwise_or(near, eq(x, y))
    return bitwise_or(close, bitwise_and(isnan(x), isnan(y))) if as_flag("isclose: equal_nan", equal_nan) else close


def allclose(
    a: TensorLike, b: TensorLike, rtol: TensorLike = 1e-05, atol: TensorLike = 1e-08, equal_nan: bool = False
) -> TensorVariable:
    """Whether two tensors are equal everywhere within a tolerance (as numpy.allclose); parameters as of `isclose`.

    Examples
    --------
    >>> tt.allclose([1.0], [1.0 + 1e-9]).eval()
    array(True)
    """
    return all_(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: TensorLike, a2: TensorLike, equal_nan: bool = False) -> TensorVariable:
    """Whether two tensors have one shape and equal elements (as numpy.array_equal).

    Examples
    --------
    >>> tt.array_equal([1, 2], [1, 2]).eval()
    array(True)
    """
    x, y = as_tensor_variable(a1), as_tensor_variable(a2)
    if x.ndim != y.ndim:
        return constant(False)
    same = [eq(shape_i(x, d), shape_i(y, d)) for d in range(x.ndim) if x is not y]
    if same:
        # Elements at the same places in memory order: all of them, if the shapes are equal.
        x, y = flatten(x), flatten(y)
        count = switch(x.size < y.size, x.size, y.size)
        x, y = x[:count], y[:count]
    equal = eq(x, y)
    if as_flag("array_equal: equal_nan", equal_nan):
        equal = bitwise_or(equal, bitwise_and(isnan(x), isnan(y)))
    result = all_(equal)
    for lengths in same:
        result = bitwise_and(result, lengths)
    return result


def array_equiv(a1: TensorLike, a2: TensorLike) -> TensorVariable:
    """Whether two tensors broadcast together and are equal then (as numpy.array_equiv).

    Examples
    --------
    >>> tt.array_equiv([1, 1], 1).eval()
    array(True)
    """
    x, y = as_tensor_variable(a1), as_tensor_variable(a2)
    fits = []
    for d in range(1, min(x.ndim, y.ndim) + 1):
        n, m = shape_i(x, x.ndim - d), shape_i(y, y.ndim - d)
        fits.append(eq(n, m) | eq(n, 1) | eq(m, 1))
        # Where lengths do not fit, some elements are compared nevertheless.
        length = switch(eq(n, 1), m, n)
        x, y = _stretched(x, x.ndim - d, length), _stretched(y, y.ndim - d, length)
    result = all_(eq(x, y))
    for each in fits:
        result = bitwise_and(result, each)
    return result


def _stretched(x: TensorVariable, axis: int, length: TensorVariable) -> TensorVariable:
    """Return a tensor of some length along an axis, its last elements repeated or left out."""
    last = shape_i(x, axis) - 1
    positions = arange(length)
    return x.take(switch(positions > last, last, positions), axis=axis)


def nan_to_num(
    x: TensorLike,
    nan: TensorLike = 0.0,
    posinf: TensorLike | None = None,
    neginf: TensorLike | None = None,
    *,
    copy: bool = True,
) -> TensorVariable:
    """Replace NaN and infinities (as numpy.nan_to_num), the latter by the largest numbers of the dtype by default.

    Of complex numbers, both parts are treated so. `copy` changes nothing: the operand stays as it is.

    Examples
    --------
    >>> tt.nan_to_num([np.nan, 1.0]).eval()
    array([0., 1.])
    """
    as_flag("nan_to_num: copy", copy)
    var = as_tensor_variable(x)
    dtype = var.type.numpy_dtype
    if dtype.kind not in "fc":
        return var
    if dtype.kind == "c":
        return complex_(nan_to_num(var.real, nan, posinf, neginf), nan_to_num(var.imag, nan, posinf, neginf))
    limits = np.finfo(dtype)
    high, low = (limits.max if posinf is None else posinf), (limits.min if neginf is None else neginf)
    result = var
    for where, value in ((isnan, nan), (isposinf, high), (isneginf, low)):
        result = switch(where(var), cast(value, dtype), result)
    return result


def unwrap(
    p: TensorLike, discont: TensorLike | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> TensorVariable:
    """Take the jumps of more than half a period out of a signal, adding multiples of the period (as numpy.unwrap).

    Parameters
    ----------
    p
        A tensor.
    discont
        Smaller differences than this one are left alone; half a period if None.
    axis
        The axis along which neighbours are compared.
    period
        The period, a number.

    Examples
    --------
    >>> tt.unwrap([0.0, 6.0], period=6.0).eval()
    array([0., 0.])
    """
    x = as_tensor_variable(p)
    at, period = normalize_axis("unwrap", axis, x.ndim), as_number("unwrap: the period", period)
    before, after = (at_axis(at, part) for part in (slice(None, -1), slice(1, None)))
    steps = sub(x[after], x[before])
    dtype = promote([steps.type.numpy_dtype, type(period)])
    if dtype.kind in "iu":
        high, remainder = divmod(period, 2)
        ambiguous = remainder == 0
    else:
        high, ambiguous = period / 2, True
    turned = mod(steps + high, period) - high
    if ambiguous:
        turned = switch(bitwise_and(eq(turned, -high), steps > 0), cast(high, turned.dtype), turned)
    corrected = turned - steps
    corrected = switch(
        abs_(steps) < (period / 2 if discont is None else as_tensor_variable(discont)), zeros_like(corrected), corrected
    )
    first = x[at_axis(at, slice(1))]
    return cast(concatenate([first, x[after] + cumsum(corrected, axis=at)], axis=at), dtype)
