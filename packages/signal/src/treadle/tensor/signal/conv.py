"""Convolution and correlation of signals, by SciPy's names; this is their documented path too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import composed
from treadle.tensor.arguments.axes import normalize_axes
from treadle.tensor.arguments.values import as_choice, known_integer
from treadle.tensor.elementwise.arithmetic import add, floor_div, maximum, minimum, mod, mul, sub
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.fft.transforms import fftn, ifftn, irfftn, rfftn
from treadle.tensor.indexing.indexing import set_subtensor
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.lazy import lazy_scipy_module
from treadle.tensor.shapes.broadcasting import full
from treadle.tensor.shapes.shape import lengths, shape_i, static_lengths
from treadle.tensor.signal.filtering import MODES, convolved, middle, reversed_conjugate
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import AxisLike, Index, TensorLike, TensorVariable

__all__ = ["convolve", "convolve1d", "convolve2d", "correlate", "correlate2d", "fftconvolve"]

scipy_fft = lazy_scipy_module("fft")
_BOUNDARIES = ("fill", "wrap", "symm")
_METHODS = ("auto", "direct", "fft")


def _both(what: str, in1: TensorLike, in2: TensorLike) -> tuple[TensorVariable, TensorVariable]:
    x, w = as_tensor_variable(in1), as_tensor_variable(in2)
    if x.ndim != w.ndim:
        msg = f"{what}: signals of one rank are needed, got {x.type} and {w.type}. Reshape one of them."
        raise ShapeError(msg)
    return x, w


@composed
def convolve1d(in1: TensorLike, in2: TensorLike, mode: str = "full") -> TensorVariable:
    """Convolve along the last dimension; those before are a batch.

    Parameters
    ----------
    in1, in2
        The signals. If both have a batch, its lengths must be known.
    mode
        ``"full"``: wherever the signals touch; ``"valid"``: where the shorter lies within the longer; ``"same"``: as
        long as `in1`, from the middle.

    Examples
    --------
    >>> tt.signal.convolve1d([1.0, 2.0], [1.0, 1.0]).eval()
    array([1., 3., 2.])
    """
    as_choice("convolve1d: mode", mode, MODES)
    return convolved("convolve1d", as_tensor_variable(in1), as_tensor_variable(in2), 1, mode)


@composed
def convolve(in1: TensorLike, in2: TensorLike, mode: str = "full", method: str = "auto") -> TensorVariable:
    """Convolve signals of one rank, up to 3 (as scipy.signal.convolve; modes as for `convolve1d`).

    Parameters
    ----------
    in1, in2
        The signals.
    mode
        How much of the result is wanted.
    method
        ``"direct"``, by products and sums; ``"fft"``, by Fourier transforms; or ``"auto"``: direct up to rank 3.

    Examples
    --------
    >>> tt.signal.convolve([1.0, 2.0], [1.0, 1.0]).eval()
    array([1., 3., 2.])
    """
    x, w = _both("convolve", in1, in2)
    as_choice("convolve: mode", mode, MODES)
    as_choice("convolve: method", method, _METHODS)
    if x.ndim == 0:
        result: TensorVariable = mul(x, w)
        return result
    if method == "fft" or (method == "auto" and x.ndim > 3):
        return fftconvolve(x, w, mode)
    if x.ndim > 3:
        msg = f"convolve: signals of rank {x.ndim} are convolved by the method 'fft' only. Choose it, or 'auto'."
        raise TensorTypeError(msg)
    return convolved("convolve", x, w, x.ndim, mode)


@composed
def correlate(in1: TensorLike, in2: TensorLike, mode: str = "full", method: str = "auto") -> TensorVariable:
    """Correlate signals of one rank (as scipy.signal.correlate; parameters are those of `convolve`).

    Examples
    --------
    >>> tt.signal.correlate([1.0, 2.0], [1.0, 1.0]).eval()
    array([1., 3., 2.])
    """
    x, w = _both("correlate", in1, in2)
    return convolve(x, reversed_conjugate(w, w.ndim), mode, method)


@composed
def convolve2d(
    in1: TensorLike,
    in2: TensorLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: TensorLike = 0,
    method: str = "auto",
) -> TensorVariable:
    """Convolve over the last two dimensions (as scipy.signal.convolve2d); those before are a batch.

    Parameters
    ----------
    in1, in2
        The signals. If both have a batch, its lengths must be known.
    mode
        As for `convolve1d`.
    boundary
        What lies beyond the edges of `in1`: ``"fill"``, one value; ``"wrap"``, the other side; ``"symm"``, the mirror
        image.
    fillvalue
        The value for ``"fill"``.
    method
        ``"direct"``, by products and sums; ``"fft"``, by Fourier transforms; or ``"auto"``: direct.

    Examples
    --------
    >>> tt.signal.convolve2d(np.ones((2, 2)), np.ones((1, 2))).eval()
    array([[1., 2., 1.],
           [1., 2., 1.]])
    """
    return _planar("convolve2d", as_tensor_variable(in1), as_tensor_variable(in2), mode, boundary, fillvalue, method)


def _planar(
    what: str,
    x: TensorVariable,
    w: TensorVariable,
    mode: str,
    boundary: str,
    fillvalue: TensorLike,
    method: str = "auto",
    more: int = 0,
) -> TensorVariable:
    """Convolve over the last two dimensions; the middle starts a place later for some filters if there is one more."""
    as_choice(f"{what}: mode", mode, MODES)
    as_choice(f"{what}: boundary", boundary, _BOUNDARIES)
    as_choice(f"{what}: method", method, _METHODS)
    if x.ndim < 2 or w.ndim < 2:
        msg = f"{what}: tensors of rank 2 or more are needed, got {x.type} and {w.type}. Give them dimensions."
        raise ShapeError(msg)

    def plain(a: TensorVariable, mode: str) -> TensorVariable:
        if method == "fft":
            return fftconvolve(a, w, mode, axes=(-2, -1))
        return convolved(what, a, w, 2, mode)

    as_tensor_variable(fillvalue)  # refuses what is no number, whether it is needed or not
    is_zero = boundary == "fill" and known_integer(fillvalue) == 0
    if mode == "valid" or (is_zero and (mode == "full" or not more)):
        return plain(x, mode)
    pairs = [(shape_i(x, x.ndim - d), shape_i(w, w.ndim - d)) for d in (2, 1)]
    if is_zero:
        whole = plain(x, "full")
    else:
        extended = plain(_extended(x, w, boundary, fillvalue), "full")
        whole = middle(extended, [(sub(k, 1), sub(add(n, k), 1)) for n, k in pairs])
    if mode == "full":
        return whole
    return middle(whole, [(floor_div(add(k, more - 1), 2), n) for n, k in pairs])


def _extended(x: TensorVariable, w: TensorVariable, boundary: str, fillvalue: TensorLike) -> TensorVariable:
    """Return the first signal with as many elements more on each side as the second is long, less one."""
    if boundary == "fill":
        value = as_tensor_variable(fillvalue)
        dtype = np.result_type(x.type.numpy_dtype, value.type.numpy_dtype) if value.owner is not None else x.dtype
        before = [sub(shape_i(w, w.ndim - d), 1) for d in (2, 1)]
        ns = lengths(x)
        grown = [*ns[:-2], *(add(n, mul(2, p)) for n, p in zip(ns[-2:], before, strict=True))]
        inside: tuple[Index, ...] = (Ellipsis, *(slice(p, add(p, n)) for n, p in zip(ns[-2:], before, strict=True)))
        return set_subtensor(full(grown, value, dtype=dtype)[inside], cast(x, dtype))
    for axis in (-2, -1):
        n, p = shape_i(x, x.ndim + axis), sub(shape_i(w, w.ndim + axis), 1)
        at = sub(arange(add(n, mul(2, p))), p)
        if boundary == "wrap":
            at = mod(at, n)
        else:
            at = mod(at, mul(2, n))
            at = minimum(at, sub(sub(mul(2, n), 1), at))
        x = x[..., at] if axis == -1 else x[..., at, :]
    return x


@composed
def correlate2d(
    in1: TensorLike, in2: TensorLike, mode: str = "full", boundary: str = "fill", fillvalue: TensorLike = 0
) -> TensorVariable:
    """Correlate over the last two dimensions (as scipy.signal.correlate2d; parameters are those of `convolve2d`).

    Examples
    --------
    >>> tt.signal.correlate2d(np.ones((2, 2)), np.ones((1, 2))).eval()
    array([[1., 2., 1.],
           [1., 2., 1.]])
    """
    turned = reversed_conjugate(as_tensor_variable(in2), 2)
    return _planar("correlate2d", as_tensor_variable(in1), turned, mode, boundary, fillvalue, more=1)


@composed
def fftconvolve(in1: TensorLike, in2: TensorLike, mode: str = "full", axes: AxisLike = None) -> TensorVariable:
    """Convolve by Fourier transforms (as scipy.signal.fftconvolve); integers become float64.

    Parameters
    ----------
    in1, in2
        Signals of one rank, or, where axes are named, of which the others broadcast.
    mode
        As for `convolve1d`.
    axes
        The axes to convolve over, by default all.

    Examples
    --------
    >>> tt.signal.fftconvolve([1.0, 2.0], [1.0, 1.0]).eval().round(6)
    array([1., 3., 2.])
    """
    x, w = as_tensor_variable(in1), as_tensor_variable(in2)
    if axes is None:
        x, w = _both("fftconvolve", x, w)
    as_choice("fftconvolve: mode", mode, MODES)
    ndim = max(x.ndim, w.ndim)
    at = [axis - ndim for axis in normalize_axes("fftconvolve", axes, ndim)]
    own = [(shape_i(x, d), shape_i(w, d)) for d in at]
    if mode == "valid":
        static = [static_lengths(pair) for pair in own]
        pairs = [(n, k) for n, k in static if n is not None and k is not None]
        if not (all(n >= k for n, k in pairs) or all(n <= k for n, k in pairs)):
            msg = f"fftconvolve: with mode 'valid' one must be as long as the other in every dimension, got {pairs}."
            raise ShapeError(msg)
    whole = [sub(add(n, k), 1) for n, k in own]
    is_complex = "c" in {v.type.numpy_dtype.kind for v in (x, w)}
    forward, back = (fftn, ifftn) if is_complex else (rfftn, irfftn)
    # Lengths with small factors only are quicker to transform.
    sizes = [
        n if (known := known_integer(n)) is None else scipy_fft.next_fast_len(known, not is_complex) for n in whole
    ]
    product = back(mul(forward(x, sizes, at), forward(w, sizes, at)), sizes, at)
    parts: list[tuple[TensorVariable | int, TensorVariable]]
    if mode == "full":
        parts = [(0, n) for n in whole]
    elif mode == "same":
        parts = [(floor_div(sub(k, 1), 2), n) for n, k in own]
    else:
        parts = [(sub(minimum(n, k), 1), add(sub(maximum(n, k), minimum(n, k)), 1)) for n, k in own]
    index: list[slice] = [slice(None)] * ndim
    for axis, (start, count) in zip(at, parts, strict=True):
        index[axis] = slice(start, add(start, count))
    return product[tuple(index)]
