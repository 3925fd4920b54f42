"""Convolution and correlation of signals over their last dimensions, and NumPy's two functions for vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from treadle.graph import composed
from treadle.tensor.arguments.values import as_choice
from treadle.tensor.elementwise.arithmetic import add, floor_div, maximum, minimum, mul, sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import lt, neq
from treadle.tensor.errors import ShapeError
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.joining import join
from treadle.tensor.products.product import product_of_lengths
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shapes.broadcasting import broadcast_static, broadcast_to, zeros
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle
from treadle.tensor.shapes.shape import LENGTH, lengths, reshape, shape_i
from treadle.tensor.signal.convolution import ConvND
from treadle.tensor.signal.convolved import complex_parts, padded
from treadle.tensor.types.conversion import as_tensor_variable, constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Bound: TypeAlias = TensorVariable | int

__all__ = ["convolve", "correlate"]

MODES = ("full", "valid", "same")


def convolved(what: str, x: TensorVariable, w: TensorVariable, ndim: int, mode: str) -> TensorVariable:
    """Return the convolution over the last dimensions; those before are a batch, and broadcast.

    Parameters
    ----------
    what
        Whose work it is, for messages.
    x, w
        The signals.
    ndim
        Over how many dimensions.
    mode
        ``"full"``, ``"valid"`` (where one lies within the other), or ``"same"``: as long as `x`, from the middle.
    """
    for v in (x, w):
        if v.ndim < ndim:
            msg = f"{what}: a tensor of rank {ndim} or more is needed, got {v} of type {v.type}. Give it dimensions."
            raise ShapeError(msg)
        if 0 in v.type.shape[v.ndim - ndim :]:
            msg = f"{what}: an empty signal cannot be convolved, got {v} of type {v.type}. Give it elements."
            raise ShapeError(msg)
    if np.result_type(x.type.numpy_dtype, w.type.numpy_dtype) == np.bool_:
        # An element is true where any product is.
        truth: TensorVariable = neq(convolved(what, cast(x, "int64"), cast(w, "int64"), ndim, mode), 0)
        return truth
    ns, ks = x.type.shape[x.ndim - ndim :], w.type.shape[w.ndim - ndim :]
    pairs = [(n, k) for n, k in zip(ns, ks, strict=True) if n is not None and k is not None]
    is_known, x_is_longer = len(pairs) == ndim, all(n >= k for n, k in pairs)
    if mode == "valid" and is_known and not x_is_longer and not all(n <= k for n, k in pairs):
        msg = f"{what}: with mode 'valid' one must be as long as the other in every dimension, got {ns} and {ks}."
        raise ShapeError(msg)
    if mode == "same" and is_known and x_is_longer:
        return _slid(what, x, w, ndim, tuple((k // 2, (k - 1) // 2) for _, k in pairs))
    if is_known and not x_is_longer and mode != "same":
        x, w = w, x
    if mode == "valid" and is_known:
        return _slid(what, x, w, ndim, ((0, 0),) * ndim)
    whole = _slid(what, x, w, ndim, None)
    if mode == "full":
        return whole
    own = [(shape_i(x, d - ndim), shape_i(w, d - ndim)) for d in range(ndim)]
    if mode == "same":
        return middle(whole, [(floor_div(sub(k, 1), 2), n) for n, k in own])
    return middle(whole, [(sub(minimum(n, k), 1), add(sub(maximum(n, k), minimum(n, k)), 1)) for n, k in own])


def middle(whole: TensorVariable, parts: Sequence[tuple[Bound, Bound]]) -> TensorVariable:
    """Return a part of the last dimensions: for each, where it starts and how long it is."""
    return whole[(Ellipsis, *(slice(start, add(start, count)) for start, count in parts))]


def _slid(
    what: str, x: TensorVariable, w: TensorVariable, ndim: int, padding: tuple[tuple[int, int], ...] | None
) -> TensorVariable:
    """Slide the second signal, turned around, over the first, with padding; wherever they touch if it is None."""
    if w.ndim > ndim and x.ndim == ndim and padding is None:
        x, w = w, x
    turned = w[(Ellipsis, *[slice(None, None, -1)] * ndim)]
    core = lengths(x)[x.ndim - ndim :]
    filters = lengths(w)[w.ndim - ndim :]
    if w.ndim == ndim:
        batch, groups = lengths(x)[: x.ndim - ndim], 1
        images = reshape(x, [product_of_lengths(batch), 1, *core])
        turned = reshape(turned, [1, 1, *filters])
    else:
        outer = max(x.ndim, w.ndim) - ndim
        shapes = [v.type.shape[: v.ndim - ndim] for v in (x, w)]
        joint = broadcast_static(what, [(1,) * (outer - len(shape)) + shape for shape in shapes])
        if None in joint:
            return _windowed(x, turned, ndim, padding)
        groups = math.prod(n or 0 for n in joint)
        batch = [constant(n or 0, dtype=LENGTH) for n in joint]
        images = reshape(broadcast_to(x, [*batch, *core]), [1, groups, *core])
        turned = reshape(broadcast_to(turned, [*batch, *filters]), [groups, 1, *filters])
    ones = (1,) * ndim
    if padding is None:
        images, padding = padded(what, images, turned, "full", ones)
    out = complex_parts(ConvND("output", ones, ones, padding, groups), images, turned)
    return reshape(out, [*batch, *lengths(out)[2:]])


def _windowed(
    x: TensorVariable, turned: TensorVariable, ndim: int, padding: tuple[tuple[int, int], ...] | None
) -> TensorVariable:
    """Return what `_slid` does for stacks of a number that is known at run time only: windows times the second signal.

    Groups of a convolution are a static parameter. Here each window is a copy.
    """
    for at in range(ndim):
        axis = x.ndim - ndim + at
        k = shape_i(turned, turned.ndim - ndim + at)
        ends = (sub(k, 1), sub(k, 1)) if padding is None else padding[at]
        shape = lengths(x)
        edges = [zeros([n if d == axis else shape[d] for d in range(x.ndim)], dtype=x.dtype) for n in ends]
        x = join(axis, edges[0], x, edges[1])
    places = [add(sub(shape_i(x, d - ndim), shape_i(turned, d - ndim)), 1) for d in range(ndim)]
    # Positions of the elements of all windows: for each dimension of a place one of the window.
    picked = []
    for d, count in enumerate(places):
        starts = dimshuffle(arange(count), *(0 if e == d else NEW for e in range(2 * ndim)))
        further = dimshuffle(arange(shape_i(turned, d - ndim)), *(0 if e == ndim + d else NEW for e in range(2 * ndim)))
        picked.append(add(starts, further))
    windows = x[(Ellipsis, *picked)]
    outer = turned.ndim - ndim
    spread = dimshuffle(turned, *range(outer), *(NEW,) * ndim, *range(outer, turned.ndim))
    return sum_(
        mul(windows, spread), axis=tuple(range(-ndim, 0)), dtype=np.result_type(windows.dtype, spread.dtype).name
    )


def reversed_conjugate(x: TensorVariable, ndim: int) -> TensorVariable:
    """Return what a signal is convolved with to correlate with this one."""
    return x[(Ellipsis, *[slice(None, None, -1)] * ndim)].conj()


def _vector(what: str, x: TensorLike) -> TensorVariable:
    var = as_tensor_variable(x)
    if var.ndim > 1:
        msg = f"{what}: vectors are needed, got {var.type}. treadle.tensor.signal has functions for more dimensions."
        raise ShapeError(msg)
    return var if var.ndim else reshape(var, [1])


@composed
def convolve(a: TensorLike, v: TensorLike, mode: str = "full") -> TensorVariable:
    """Return the convolution of two vectors (as numpy.convolve).

    Parameters
    ----------
    a, v
        The vectors.
    mode
        ``"full"``: wherever they touch; ``"valid"``: where the shorter lies within the longer; ``"same"``: as many
        elements as the longer has, from the middle.

    Examples
    --------
    >>> tt.convolve([1, 2], [1, 1]).eval()
    array([1, 3, 2])
    """
    x, w = _vector("convolve", a), _vector("convolve", v)
    as_choice("convolve: mode", mode, MODES)
    n, k = x.type.shape[0], w.type.shape[0]
    if mode != "same":
        return convolved("convolve", x, w, 1, mode)
    if n is not None and k is not None:
        return convolved("convolve", x, w, 1, mode) if n >= k else convolved("convolve", w, x, 1, mode)
    whole = convolved("convolve", x, w, 1, "full")
    ns = shape_i(x, 0), shape_i(w, 0)
    return middle(whole, [(floor_div(sub(minimum(*ns), 1), 2), maximum(*ns))])


@composed
def correlate(a: TensorLike, v: TensorLike, mode: str = "valid") -> TensorVariable:
    """Return sums of a[n + k] * conj(v[n]) for two vectors (as numpy.correlate; modes of `convolve`).

    Examples
    --------
    >>> tt.correlate([1, 2, 3], [0, 1]).eval()
    array([2, 3])
    """
    x, w = _vector("correlate", a), _vector("correlate", v)
    as_choice("correlate: mode", mode, MODES)
    turned = reversed_conjugate(w, 1)
    if mode != "same":
        return convolved("correlate", x, turned, 1, mode)
    n, k = x.type.shape[0], w.type.shape[0]
    if n is not None and k is not None and n >= k:
        return convolved("correlate", x, turned, 1, mode)
    whole = convolved("correlate", x, turned, 1, "full")
    ns = shape_i(x, 0), shape_i(w, 0)
    # Where the second is longer, NumPy counts the middle from the other end.
    start = switch(lt(ns[0], ns[1]), floor_div(ns[0], 2), floor_div(sub(ns[1], 1), 2))
    return middle(whole, [(start, maximum(*ns))])
