"""treadle.tensor.fft: discrete Fourier transforms, by NumPy's names (as numpy.fft).

float32 and float16 give complex64, everything else complex128.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import text_of
from treadle.graph import composed
from treadle.tensor.arguments.axes import normalize_axes, normalize_axis
from treadle.tensor.arguments.values import as_choice, as_items, known_integer
from treadle.tensor.arrangement.rearrangement import roll
from treadle.tensor.control.assertion import checked_length
from treadle.tensor.elementwise.arithmetic import add, floor_div, minimum, mul, neg, sub, true_div
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.exponential import sqrt
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.fft.fourier import REAL_OF, FourierTransform
from treadle.tensor.indexing.indexing import set_subtensor
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.shapes.broadcasting import zeros
from treadle.tensor.shapes.shape import ShapeI, as_lengths, lengths, shape_i, static_lengths
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable

    # A length, known when the graph is built or not.
    Length = TensorLike | None

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

_NORMS = ("backward", "ortho", "forward", None)
_OTHER = {"backward": "forward", "forward": "backward", "ortho": "ortho", None: "forward"}


def _samples(what: str, n: TensorLike) -> TensorVariable:
    counts = as_lengths(f"{what}: n", n)
    if len(counts) != 1:
        msg = f"{what}: n must be one number of points, got {text_of(n)}. Pass an integer or an integer scalar."
        raise TensorTypeError(msg)
    return counts[0]


def _length(what: str, x: TensorVariable, n: Length, axis: int) -> TensorVariable:
    """Return the number of elements to transform: that which is asked for, or all."""
    result = shape_i(x, axis) if n is None else _samples(what, n)
    (known,) = static_lengths([result])
    if known is not None and known < 1:
        msg = f"{what}: the number of points must be 1 or more, got {known} for {x} of type {x.type}. Pass another n."
        raise ShapeError(msg)
    return checked_length(result, f"{what}: the number of points must be 1 or more", least=1)


def _resized(x: TensorVariable, n: TensorVariable, axis: int) -> TensorVariable:
    """Return a tensor with as many elements along an axis: cut off, or with zeros at the end."""
    if n.owner is not None and n.owner.op == ShapeI(axis) and n.owner.inputs[0] is x:
        return x
    before = (slice(None),) * axis
    ns = lengths(x)
    kept = minimum(ns[axis], n)
    ns[axis] = n
    inside = (*before, slice(kept))
    return set_subtensor(zeros(ns, dtype=x.dtype)[inside], x[inside])


def _scaled(what: str, y: TensorVariable, n: TensorVariable, norm: object, forward: bool) -> TensorVariable:
    """Return a transform with the scale that a norm says."""
    name = as_choice(f"{what}: norm", norm, _NORMS) or "backward"
    if name == ("backward" if forward else "forward"):
        return y
    dtype = REAL_OF.get(y.dtype, y.dtype)
    known = known_integer(n)
    count = as_tensor_variable(np.asarray(known, dtype)) if known is not None else cast(n, dtype)
    scale: TensorVariable = true_div(1, sqrt(count) if name == "ortho" else count)
    result: TensorVariable = mul(y, scale)
    return result


def _floating(what: str, a: TensorLike, *, real: bool = False) -> TensorVariable:
    """Return a tensor in the dtype to transform in."""
    x = as_tensor_variable(a)
    kind = x.type.numpy_dtype
    if kind.kind == "c":
        if real:
            msg = f"{what}: real numbers are needed, got {x} of type {x.type}. Take real of it, or use fft."
            raise TensorTypeError(msg)
        return x
    return cast(x, "float32" if kind in {np.dtype("float16"), np.dtype("float32")} else "float64")


def _complex(what: str, a: TensorLike) -> TensorVariable:
    x = _floating(what, a)
    return cast(x, {"float32": "complex64", "float64": "complex128"}.get(x.dtype, x.dtype))


def _transform(what: str, a: TensorLike, n: Length, axis: int, norm: object, forward: bool) -> TensorVariable:
    x = _floating(what, a)
    at = normalize_axis(what, axis, x.ndim)
    count = _length(what, x, n, at)
    x = _resized(x, count, at)
    kind = "fft" if forward else "ifft"
    if x.type.numpy_dtype.kind == "c":
        y: TensorVariable = FourierTransform(kind, at - x.ndim)(x)
        return _scaled(what, y, count, norm, forward)
    # Of real numbers, the second half is the conjugate of the first, backwards.
    half: TensorVariable = FourierTransform("rfft", at - x.ndim)(x)
    if not forward:
        half = half.conj()
    before = (slice(None),) * at
    half = _scaled(what, half, count, norm, forward)
    known = known_integer(count)
    end = floor_div(add(count, 1), 2) if known is None else (known + 1) // 2
    rest = half[(*before, slice(1, end))]
    return concatenate([half, rest[(*before, slice(None, None, -1))].conj()], axis=at)


@composed
def fft(a: TensorLike, n: Length = None, axis: int = -1, norm: str | None = None) -> TensorVariable:
    """Return the discrete Fourier transform along an axis (as numpy.fft.fft).

    Parameters
    ----------
    a
        A tensor.
    n
        How many elements to transform: fewer are cut off, more are zeros. An integer or an integer scalar; all if None.
    axis
        The axis.
    norm
        What is scaled by 1 / n: the inverse (``"backward"``, the default), the transform (``"forward"``), or both by
        the root of it (``"ortho"``).

    Raises
    ------
    ShapeError
        If there is nothing to transform.

    Examples
    --------
    >>> tt.fft.fft([1.0, 0.0, 0.0, 0.0]).eval()
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.-0.j])
    """
    return _transform("fft", a, n, axis, norm, forward=True)


@composed
def ifft(a: TensorLike, n: Length = None, axis: int = -1, norm: str | None = None) -> TensorVariable:
    """Return the inverse of `fft` (as numpy.fft.ifft).

    Examples
    --------
    >>> tt.fft.ifft([4.0, 0.0, 0.0, 0.0]).eval()
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.-0.j])
    """
    return _transform("ifft", a, n, axis, norm, forward=False)


@composed
def rfft(a: TensorLike, n: Length = None, axis: int = -1, norm: str | None = None) -> TensorVariable:
    """Return the first n // 2 + 1 elements of the `fft` of real numbers, which say all (as numpy.fft.rfft).

    Examples
    --------
    >>> tt.fft.rfft([1.0, 0.0, 0.0, 0.0]).eval()
    array([1.+0.j, 1.+0.j, 1.+0.j])
    """
    x = _floating("rfft", a, real=True)
    at = normalize_axis("rfft", axis, x.ndim)
    count = _length("rfft", x, n, at)
    y: TensorVariable = FourierTransform("rfft", at - x.ndim)(_resized(x, count, at))
    return _scaled("rfft", y, count, norm, forward=True)


@composed
def irfft(a: TensorLike, n: Length = None, axis: int = -1, norm: str | None = None) -> TensorVariable:
    """Return the inverse of `rfft`: n real numbers, by default 2 (m - 1) of m coefficients (as numpy.fft.irfft).

    Examples
    --------
    >>> tt.fft.irfft([4.0, 0.0, 0.0]).eval()
    array([1., 1., 1., 1.])
    """
    x = _complex("irfft", a)
    at = normalize_axis("irfft", axis, x.ndim)
    own = shape_i(x, at)
    count = _length("irfft", x, mul(2, sub(own, 1)) if n is None else n, at)
    known = known_integer(count)
    half: TensorVariable = (
        own if n is None else as_lengths("irfft", add(floor_div(count, 2), 1) if known is None else known // 2 + 1)[0]
    )
    y: TensorVariable = FourierTransform("irfft", at - x.ndim)(_resized(x, half, at), count)
    result = _scaled("irfft", y, count, norm, forward=False)
    # What comes of float16 is rounded to it, as in NumPy.
    return cast(result, "float16") if as_tensor_variable(a).dtype == "float16" else result


@composed
def hfft(a: TensorLike, n: Length = None, axis: int = -1, norm: str | None = None) -> TensorVariable:
    """Return the `fft`, which is real, of a signal that is its own conjugate backwards (as numpy.fft.hfft).

    Examples
    --------
    >>> tt.fft.hfft([1.0, 2.0, 3.0]).eval()
    array([ 8., -2.,  0., -2.])
    """
    return irfft(as_tensor_variable(a).conj(), n, axis, _OTHER[as_choice("hfft: norm", norm, _NORMS)])


@composed
def ihfft(a: TensorLike, n: Length = None, axis: int = -1, norm: str | None = None) -> TensorVariable:
    """Return the inverse of `hfft` (as numpy.fft.ihfft).

    Examples
    --------
    >>> tt.fft.ihfft([4.0, 0.0, 0.0, 0.0]).eval().shape
    (3,)
    """
    return rfft(a, n, axis, _OTHER[as_choice("ihfft: norm", norm, _NORMS)]).conj()


# ---------------------------------------------------------------- several axes


def _plan(
    what: str, x: TensorVariable, s: Sequence[Length] | None, axes: AxisLike, least: int = 0
) -> list[tuple[int, Length]]:
    """Return the axes to transform, which may be named twice, with the number of elements of each."""
    sizes = None if s is None else as_items(f"{what}: s", s)
    if axes is None:
        count = x.ndim if sizes is None else len(sizes)
        named = list(range(-count, 0))
    else:
        named = as_items(f"{what}: axes", axes)  # type: ignore[arg-type]  # refuses what is none
    if sizes is not None and len(sizes) != len(named):
        msg = f"{what}: as many lengths as axes are needed, got {len(sizes)} and {len(named)}."
        raise ShapeError(msg)
    if len(named) < least:
        msg = f"{what}: at least one axis is needed, got none for {x} of type {x.type}. Name the axes to transform."
        raise ShapeError(msg)
    at = [normalize_axes(what, (axis,), x.ndim)[0] for axis in named]
    # A length of -1 stands for as many elements as there are.
    wanted: list[Length] = [None] * len(at) if sizes is None else sizes
    own = [shape_i(x, d) if known_integer(n) == -1 else n for d, n in zip(at, wanted, strict=True)]
    return list(zip(at, own, strict=True))


def _several(
    what: str, a: TensorLike, s: Sequence[Length] | None, axes: AxisLike, norm: object, forward: bool
) -> TensorVariable:
    x = as_tensor_variable(a)
    for axis, n in reversed(_plan(what, x, s, axes)):
        x = _transform(what, x, n, axis, norm, forward)
    return x if x.type.numpy_dtype.kind == "c" else _complex(what, x)


@composed
def fftn(
    a: TensorLike, s: Sequence[Length] | None = None, axes: AxisLike = None, norm: str | None = None
) -> TensorVariable:
    """Return the Fourier transform over several axes, by default all (as numpy.fft.fftn).

    Parameters
    ----------
    a
        A tensor.
    s
        How many elements to transform along each of the axes, as for `fft`; -1 for all.
    axes
        The axes; the last ones if there are lengths only.
    norm
        As for `fft`.

    Examples
    --------
    >>> tt.fft.fftn(np.eye(2)).eval()
    array([[2.+0.j, 0.+0.j],
           [0.+0.j, 2.+0.j]])
    """
    return _several("fftn", a, s, axes, norm, forward=True)


@composed
def ifftn(
    a: TensorLike, s: Sequence[Length] | None = None, axes: AxisLike = None, norm: str | None = None
) -> TensorVariable:
    """Return the inverse of `fftn` (as numpy.fft.ifftn).

    Examples
    --------
    >>> tt.fft.ifftn(4 * np.eye(2)).eval()
    array([[2.+0.j, 0.+0.j],
           [0.+0.j, 2.+0.j]])
    """
    return _several("ifftn", a, s, axes, norm, forward=False)


@composed
def fft2(
    a: TensorLike, s: Sequence[Length] | None = None, axes: AxisLike = (-2, -1), norm: str | None = None
) -> TensorVariable:
    """Return the Fourier transform over two axes (as numpy.fft.fft2; parameters as for `fftn`).

    Examples
    --------
    >>> tt.fft.fft2(np.eye(2)).eval()
    array([[2.+0.j, 0.+0.j],
           [0.+0.j, 2.+0.j]])
    """
    return _several("fft2", a, s, axes, norm, forward=True)


@composed
def ifft2(
    a: TensorLike, s: Sequence[Length] | None = None, axes: AxisLike = (-2, -1), norm: str | None = None
) -> TensorVariable:
    """Return the inverse of `fft2` (as numpy.fft.ifft2).

    Examples
    --------
    >>> tt.fft.ifft2(4 * np.eye(2)).eval()
    array([[2.+0.j, 0.+0.j],
           [0.+0.j, 2.+0.j]])
    """
    return _several("ifft2", a, s, axes, norm, forward=False)


@composed
def rfftn(
    a: TensorLike, s: Sequence[Length] | None = None, axes: AxisLike = None, norm: str | None = None
) -> TensorVariable:
    """Return the `fftn` of real numbers, with `rfft` along the last axis (as numpy.fft.rfftn).

    Examples
    --------
    >>> tt.fft.rfftn(np.eye(2)).eval()
    array([[2.+0.j, 0.+0.j],
           [0.+0.j, 2.+0.j]])
    """
    x = _floating("rfftn", a, real=True)
    *others, (last, n) = _plan("rfftn", x, s, axes, least=1)
    y = rfft(x, n, last, norm)
    for axis, m in reversed(others):
        y = fft(y, m, axis, norm)
    return y


@composed
def irfftn(
    a: TensorLike, s: Sequence[Length] | None = None, axes: AxisLike = None, norm: str | None = None
) -> TensorVariable:
    """Return the inverse of `rfftn` (as numpy.fft.irfftn).

    Examples
    --------
    >>> tt.fft.irfftn(np.ones((2, 2))).eval()
    array([[1., 0.],
           [0., 0.]])
    """
    x = as_tensor_variable(a)
    *others, (last, n) = _plan("irfftn", x, s, axes, least=1)
    for axis, m in others:
        x = ifft(x, m, axis, norm)
    return irfft(x, n, last, norm)


@composed
def rfft2(
    a: TensorLike, s: Sequence[Length] | None = None, axes: AxisLike = (-2, -1), norm: str | None = None
) -> TensorVariable:
    """Return the `fft2` of real numbers (as numpy.fft.rfft2).

    Examples
    --------
    >>> tt.fft.rfft2(np.eye(2)).eval()
    array([[2.+0.j, 0.+0.j],
           [0.+0.j, 2.+0.j]])
    """
    return rfftn(a, s, axes, norm)


@composed
def irfft2(
    a: TensorLike, s: Sequence[Length] | None = None, axes: AxisLike = (-2, -1), norm: str | None = None
) -> TensorVariable:
    """Return the inverse of `rfft2` (as numpy.fft.irfft2).

    Examples
    --------
    >>> tt.fft.irfft2(np.ones((2, 2))).eval()
    array([[1., 0.],
           [0., 0.]])
    """
    return irfftn(a, s, axes, norm)


# ---------------------------------------------------------------- frequencies


@composed
def fftfreq(n: TensorLike, d: TensorLike = 1.0) -> TensorVariable:
    """Return the frequencies of the elements of `fft` of n samples, d apart (as numpy.fft.fftfreq).

    Examples
    --------
    >>> tt.fft.fftfreq(4).eval()
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    count = checked_length(_samples("fftfreq", n))
    half = floor_div(add(count, 1), 2)
    at = concatenate([arange(half), arange(neg(floor_div(count, 2)), 0)])
    result: TensorVariable = true_div(at, mul(count, d))
    return result


@composed
def rfftfreq(n: TensorLike, d: TensorLike = 1.0) -> TensorVariable:
    """Return the frequencies of the elements of `rfft` of n samples, d apart (as numpy.fft.rfftfreq).

    Examples
    --------
    >>> tt.fft.rfftfreq(4).eval()
    array([0.  , 0.25, 0.5 ])
    """
    count = _samples("rfftfreq", n)
    result: TensorVariable = true_div(arange(add(floor_div(count, 2), 1)), mul(count, d))
    return result


def _shifted(what: str, x: TensorLike, axes: AxisLike, back: bool) -> TensorVariable:
    var = as_tensor_variable(x)
    for axis in normalize_axes(what, axes, var.ndim):
        half = floor_div(shape_i(var, axis), 2)
        var = roll(var, neg(half) if back else half, axis)
    return var


@composed
def fftshift(x: TensorLike, axes: AxisLike = None) -> TensorVariable:
    """Move the frequency 0 into the middle, along all axes by default (as numpy.fft.fftshift).

    Examples
    --------
    >>> tt.fft.fftshift([0.0, 1.0, -2.0, -1.0]).eval()
    array([-2., -1.,  0.,  1.])
    """
    return _shifted("fftshift", x, axes, back=False)


@composed
def ifftshift(x: TensorLike, axes: AxisLike = None) -> TensorVariable:
    """Undo `fftshift` (as numpy.fft.ifftshift).

    Examples
    --------
    >>> tt.fft.ifftshift([-2.0, -1.0, 0.0, 1.0]).eval()
    array([ 0.,  1., -2., -1.])
    """
    return _shifted("ifftshift", x, axes, back=True)
