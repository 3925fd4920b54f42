"""Pooling: the largest element, the sum or the mean of windows over the last dimensions.

A window is as wide as its elements' strided slices are many: one slice for each, combined elementwise, dimension by
dimension, so that code generators make one loop of them and gradients follow.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from treadle.graph import as_flag, composed
from treadle.tensor.arguments.values import as_choice
from treadle.tensor.elementwise.arithmetic import add, floor_div, maximum, minimum, mul, sub, true_div
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import lt
from treadle.tensor.errors import ShapeError
from treadle.tensor.indexing.indexing import set_subtensor
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.shapes.broadcasting import full
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle
from treadle.tensor.shapes.shape import lengths, shape_i, static_lengths
from treadle.tensor.signal.convolved import as_numbers
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Sizes = int | Sequence[int]
    Length: TypeAlias = TensorVariable | int

__all__ = ["avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d", "pool_2d", "pool_3d"]


# The elements along each side of a window are combined one by one in the graph.
_LONGEST = 10_000


class _Windows:
    """How windows lie along the last dimensions of a tensor."""

    def __init__(
        self, what: str, ndim: int, x: TensorVariable, size: Sizes, stride: Sizes | None, padding: Sizes,
        dilation: Sizes, ceil_mode: bool,
    ) -> None:  # fmt: skip
        if x.ndim < ndim:
            msg = f"{what}: a tensor of rank {ndim} or more is needed, got {x} of type {x.type}. Give it dimensions."
            raise ShapeError(msg)
        self.what = what
        self.x = x
        self.sizes = as_numbers(f"{what}: kernel_size", size, ndim, 1, _LONGEST)
        self.strides = self.sizes if stride is None else as_numbers(f"{what}: stride", stride, ndim, 1)
        self.padding = as_numbers(f"{what}: padding", padding, ndim, 0)
        self.dilation = as_numbers(f"{what}: dilation", dilation, ndim, 1)
        self.ceil_mode = as_flag(f"{what}: ceil_mode", ceil_mode)
        self.axes = range(x.ndim - ndim, x.ndim)
        if any(2 * p > (k - 1) * d + 1 for p, k, d in zip(self.padding, self.sizes, self.dilation, strict=True)):
            msg = f"{what}: padding of more than half of a window, got {self.padding} for {self.sizes}. Use less."
            raise ShapeError(msg)
        self.counts = [self._count(at) for at in range(ndim)]

    def _count(self, at: int) -> Length:
        """Return how many windows there are along a dimension."""
        k, s, p, d = self.sizes[at], self.strides[at], self.padding[at], self.dilation[at]
        own = shape_i(self.x, self.axes[at])
        (known,) = static_lengths([own])
        beyond = 2 * p - (k - 1) * d - 1
        n: Length = own
        rest: Length = add(own, beyond)
        if known is not None and known + beyond < 0:
            msg = f"{self.what}: a window of {k} does not fit a length of {known}. Pad the tensor, or use smaller ones."
            raise ShapeError(msg)
        if not self.ceil_mode:
            return _floor(rest, s) + 1
        count = _floor(rest + (s - 1), s) + 1
        # The last window starts in the tensor or the padding in front of it.
        if isinstance(count, int) and isinstance(n, int):
            return count - ((count - 1) * s >= n + p)
        starts_inside = lt(mul(sub(count, 1), s), add(n, p))
        fewer: TensorVariable = switch(starts_inside, count, sub(count, 1))
        return fewer

    def combined(
        self, combine: Callable[[TensorVariable, TensorVariable], TensorVariable], fill: object
    ) -> TensorVariable:
        """Return the elements of each window combined; what lies outside of the tensor is `fill`."""
        x = self._padded(fill)
        for axis, k, s, d, count in zip(self.axes, self.sizes, self.strides, self.dilation, self.counts, strict=True):
            reach: Length = (count - 1) * s + 1
            before = (slice(None),) * axis
            x = reduce(combine, [x[(*before, slice(i * d, i * d + reach, s))] for i in range(k)])
        return x

    def _padded(self, fill: object) -> TensorVariable:
        if not self.ceil_mode and not any(self.padding):
            return self.x
        ns: list[Length] = list(lengths(self.x))
        inner = [slice(None)] * len(ns)
        for axis, k, s, p, d, count in zip(
            self.axes, self.sizes, self.strides, self.padding, self.dilation, self.counts, strict=True
        ):
            needed: Length = (count - 1) * s + ((k - 1) * d + 1)
            inner[axis] = slice(p, p + ns[axis])
            ns[axis] = maximum(ns[axis] + p, needed)
        return set_subtensor(full(ns, fill, dtype=self.x.dtype)[tuple(inner)], self.x)  # type: ignore[arg-type]

    def sizes_in(self, with_padding: bool, dtype: str) -> list[TensorVariable]:
        """Return for each dimension how many elements of each window count, to be multiplied; those that vary only."""
        result: list[TensorVariable] = []
        for at, axis in enumerate(self.axes):
            k, s, p, count = self.sizes[at], self.strides[at], self.padding[at], self.counts[at]
            if not self.ceil_mode and (with_padding or not p):
                continue
            n = shape_i(self.x, axis)
            start = sub(mul(arange(count), s), p)
            end = minimum(add(start, k), add(n, p) if with_padding else n)
            inside = cast(sub(end, start if with_padding else maximum(start, 0)), dtype)
            result.append(dimshuffle(inside, *[NEW] * axis, 0, *[NEW] * (self.x.ndim - axis - 1)))
        return result

    def size(self, with_padding: bool) -> int:
        """Return the product of the sizes of the dimensions that `sizes_in` leaves out."""
        known = [
            k for k, p in zip(self.sizes, self.padding, strict=True) if not self.ceil_mode and (with_padding or not p)
        ]
        return int(np.prod(known, dtype=int))


def _floor(a: Length, b: int) -> Length:
    return a // b if isinstance(a, int) else floor_div(a, b)


def _max(windows: _Windows) -> TensorVariable:
    dtype = windows.x.type.numpy_dtype
    if dtype.kind == "c":
        msg = f"{windows.what}: complex numbers have no order, got {windows.x.type}. Take abs or real of them."
        raise ShapeError(msg)
    least = False if dtype.kind == "b" else -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
    return windows.combined(maximum, least)


def _average(windows: _Windows, with_padding: bool) -> TensorVariable:
    if windows.x.type.numpy_dtype.kind not in "fc":
        windows.x = cast(windows.x, "float64")
    total = windows.combined(add, 0)
    real = windows.x.real.dtype
    divisors = windows.sizes_in(with_padding, real)
    size = windows.size(with_padding)
    divisor = reduce(mul, divisors) if divisors else None
    if divisor is None:
        return true_div(total, size)
    return true_div(total, divisor if size == 1 else mul(divisor, size))


@composed
def max_pool1d(
    input: TensorLike,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> TensorVariable:
    """Return the largest elements of windows over the last dimension (as torch's max_pool1d).

    Parameters are those of `max_pool2d`.

    Examples
    --------
    >>> tt.max_pool1d(np.arange(4.0).reshape(1, 1, 4), 2).eval()
    array([[[1., 3.]]])
    """
    x = as_tensor_variable(input)
    return _max(_Windows("max_pool1d", 1, x, kernel_size, stride, padding, dilation, ceil_mode))


@composed
def max_pool2d(
    input: TensorLike,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> TensorVariable:
    """Return the largest elements of windows over the last 2 dimensions (as torch's max_pool2d).

    Parameters
    ----------
    input
        A tensor; windows lie in its last two dimensions, mostly ``(batch, channels, height, width)``.
    kernel_size
        Size of the windows: a number, or one for each of the dimensions.
    stride
        Distance between windows; their size if None.
    padding
        How far windows reach beyond the tensor on both sides; what they find there never counts.
    dilation
        Distance between neighbouring elements of a window.
    ceil_mode
        Whether windows that reach beyond the end count too, as long as they start in the tensor.

    Raises
    ------
    ShapeError
        If the tensor has too few dimensions, or is shorter than a window.

    Examples
    --------
    >>> tt.max_pool2d(np.arange(4.0).reshape(1, 1, 2, 2), 2).eval()
    array([[[[3.]]]])
    """
    x = as_tensor_variable(input)
    return _max(_Windows("max_pool2d", 2, x, kernel_size, stride, padding, dilation, ceil_mode))


@composed
def max_pool3d(
    input: TensorLike,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> TensorVariable:
    """Return the largest elements of windows over the last 3 dimensions (as torch's max_pool3d).

    Parameters are those of `max_pool2d`.

    Examples
    --------
    >>> tt.max_pool3d(np.arange(8.0).reshape(1, 1, 2, 2, 2), 2).eval()
    array([[[[[7.]]]]])
    """
    x = as_tensor_variable(input)
    return _max(_Windows("max_pool3d", 3, x, kernel_size, stride, padding, dilation, ceil_mode))


@composed
def avg_pool1d(
    input: TensorLike,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> TensorVariable:
    """Return the means of windows over the last dimension (as torch's avg_pool1d).

    Parameters are those of `avg_pool2d`.

    Examples
    --------
    >>> tt.avg_pool1d(np.arange(4.0).reshape(1, 1, 4), 2).eval()
    array([[[0.5, 2.5]]])
    """
    windows = _Windows("avg_pool1d", 1, as_tensor_variable(input), kernel_size, stride, padding, 1, ceil_mode)
    return _average(windows, as_flag("avg_pool1d: count_include_pad", count_include_pad))


@composed
def avg_pool2d(
    input: TensorLike,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> TensorVariable:
    """Return the means of windows over the last 2 dimensions (as torch's avg_pool2d).

    Parameters
    ----------
    input, kernel_size, stride, ceil_mode
        As for `max_pool2d`; integers are averaged as float64.
    padding
        How many zeros stand on both sides.
    count_include_pad
        Whether these zeros count as elements of the windows.

    Examples
    --------
    >>> tt.avg_pool2d(np.arange(4.0).reshape(1, 1, 2, 2), 2).eval()
    array([[[[1.5]]]])
    """
    windows = _Windows("avg_pool2d", 2, as_tensor_variable(input), kernel_size, stride, padding, 1, ceil_mode)
    return _average(windows, as_flag("avg_pool2d: count_include_pad", count_include_pad))


@composed
def avg_pool3d(
    input: TensorLike,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> TensorVariable:
    """Return the means of windows over the last 3 dimensions (as torch's avg_pool3d).

    Parameters are those of `avg_pool2d`.

    Examples
    --------
    >>> tt.avg_pool3d(np.arange(8.0).reshape(1, 1, 2, 2, 2), 2).eval()
    array([[[[[3.5]]]]])
    """
    windows = _Windows("avg_pool3d", 3, as_tensor_variable(input), kernel_size, stride, padding, 1, ceil_mode)
    return _average(windows, as_flag("avg_pool3d: count_include_pad", count_include_pad))


_MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")


def _pool(
    ndim: int, input: TensorLike, ws: Sizes, ignore_border: bool, stride: Sizes | None, pad: Sizes, mode: str
) -> TensorVariable:
    what = f"pool_{ndim}d"
    as_choice(f"{what}: mode", mode, _MODES)
    kept = not as_flag(f"{what}: ignore_border", ignore_border)
    windows = _Windows(what, ndim, as_tensor_variable(input), ws, stride, pad, 1, kept)
    if mode == "max":
        return _max(windows)
    return windows.combined(add, 0) if mode == "sum" else _average(windows, mode == "average_inc_pad")


@composed
def pool_2d(
    input: TensorLike,
    ws: Sizes,
    ignore_border: bool = True,
    stride: Sizes | None = None,
    pad: Sizes = 0,
    mode: str = "max",
) -> TensorVariable:
    """Pool windows over the last two dimensions, by Theano's names.

    Parameters
    ----------
    input
        A tensor.
    ws
        Size of the windows.
    ignore_border
        Whether windows that reach beyond the end are left out.
    stride, pad
        Distance between windows (their size if None), and how far they reach beyond both sides.
    mode
        ``"max"``, ``"sum"``, or the mean with or without the padding: ``"average_inc_pad"``, ``"average_exc_pad"``.

    Examples
    --------
    >>> tt.pool_2d(np.arange(4.0).reshape(1, 1, 2, 2), (2, 2)).eval()
    array([[[[3.]]]])
    """
    return _pool(2, input, ws, ignore_border, stride, pad, mode)


@composed
def pool_3d(
    input: TensorLike,
    ws: Sizes,
    ignore_border: bool = True,
    stride: Sizes | None = None,
    pad: Sizes = 0,
    mode: str = "max",
) -> TensorVariable:
    """Pool windows over the last three dimensions; parameters are those of `pool_2d`.

    Examples
    --------
    >>> tt.pool_3d(np.arange(8.0).reshape(1, 1, 2, 2, 2), (2, 2, 2)).eval()
    array([[[[[7.]]]]])
    """
    return _pool(3, input, ws, ignore_border, stride, pad, mode)
