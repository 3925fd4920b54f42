"""Convolutions as users call them: strides, padding, groups, and their transposes, of images and filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import config, text_of
from treadle.graph import as_count, as_flag, composed
from treadle.tensor.arguments.values import as_choice, as_integer, as_items, known_integer
from treadle.tensor.elementwise.arithmetic import add, floor_div, mul, sub
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.complex_numbers import complex_
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.indexing.indexing import set_subtensor
from treadle.tensor.joins.joining import join
from treadle.tensor.shapes.broadcasting import zeros
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle, expand_dims, squeeze
from treadle.tensor.shapes.shape import as_lengths, lengths, shape_i
from treadle.tensor.shapes.shape_specification import specify_shape
from treadle.tensor.signal.convolution import ConvND, Numbers
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


def as_numbers(what: str, value: object, ndim: int, least: int, most: int | None = None) -> Numbers:
    """Return an argument for each spatial dimension: one number stands for all."""
    number = known_integer(value)
    if number is not None:
        return (_bounded(what, number, least, most),) * ndim
    items: list[object] = as_items(what, value)  # type: ignore[arg-type]  # refuses what is none
    if len(items) != ndim:
        msg = f"{what} must be a number, or {ndim} of them, got {text_of(value)}."
        raise TensorTypeError(msg)
    return tuple(_bounded(what, item, least, most) for item in items)


def _bounded(what: str, value: object, least: int, most: int | None) -> int:
    return as_integer(what, value, least) if most is None else as_count(what, value, least, most)


_PADDINGS = ("valid", "same", "full", "half")
Padding = int | str | tuple[int | tuple[int, int], ...]


def padded(
    what: str, x: TensorVariable, w: TensorVariable, padding: Padding, dilation: Numbers
) -> tuple[TensorVariable, tuple[tuple[int, int], ...]]:
    """Return the images and how they are padded, in advance where that depends on a length that is not known."""
    ndim = len(dilation)
    if not isinstance(padding, str):
        pairs = []
        number = known_integer(padding)
        given: list[object] = [number] * ndim if number is not None else as_items(f"{what}: padding", padding)  # type: ignore[arg-type]
        if len(given) != ndim:
            msg = f"{what}: padding must be a number, or one or a pair for each dimension, got {text_of(padding)}."
            raise TensorTypeError(msg)
        for item in given:
            before, after = as_numbers(f"{what}: padding", item, 2, 0)
            pairs.append((before, after))
        return x, tuple(pairs)
    as_choice(f"{what}: padding", padding, _PADDINGS)
    if padding == "valid":
        return x, ((0, 0),) * ndim
    sizes = w.type.shape[2:]
    if None not in sizes:
        return x, tuple(_ends(padding, (k or 0) * d - d) for k, d in zip(sizes, dilation, strict=True))
    bounds = []
    for at, d in enumerate(dilation):
        extra: TensorVariable = mul(sub(shape_i(w, 2 + at), 1), d)
        low: TensorVariable = (
            extra if padding == "full" else floor_div(add(extra, 1), 2) if padding == "half" else floor_div(extra, 2)
        )
        bounds.append((low, low if padding != "same" else sub(extra, low)))
    ns = lengths(x)
    grown = [add(n, add(low, high)) for n, (low, high) in zip(ns[2:], bounds, strict=True)]
    inner = tuple(slice(low, add(low, n)) for n, (low, _) in zip(ns[2:], bounds, strict=True))
    zero = zeros([*ns[:2], *grown], dtype=x.dtype)
    return set_subtensor(zero[(..., *inner)], x), ((0, 0),) * ndim


def _ends(padding: str, extra: int) -> tuple[int, int]:
    """Return the zeros on both sides for a filter that reaches so far beyond one element."""
    low = extra if padding == "full" else (extra + 1) // 2 if padding == "half" else extra // 2
    return low, extra - low if padding == "same" else low


def complex_parts(op: ConvND, a: TensorVariable, b: TensorVariable, *wanted: TensorVariable) -> TensorVariable:
    """Apply an op to tensors of the dtype that they have in common, to real and imaginary parts where it is complex."""
    dtype = np.result_type(a.type.numpy_dtype, b.type.numpy_dtype)
    if dtype == np.bool_:
        msg = "convolution: truth values cannot be multiplied and added. Cast them to a number."
        raise TensorTypeError(msg)
    if dtype.kind != "c":
        plain: TensorVariable = op(cast(a, dtype), cast(b, dtype), *wanted)
        return plain
    real = "float32" if dtype == np.complex64 else "float64"

    def parts(x: TensorVariable) -> list[TensorVariable]:
        both = [x.real, x.imag] if x.type.numpy_dtype.kind == "c" else [x]
        return [cast(part, real) for part in both]

    # The parts of a product, by whether each factor's is the imaginary one.
    products = {(i, j): op(p, q, *wanted) for i, p in enumerate(parts(a)) for j, q in enumerate(parts(b))}
    re, im = products[0, 0], [products[k] for k in ((0, 1), (1, 0)) if k in products]
    if (1, 1) in products:
        re = sub(re, products[1, 1])
    result: TensorVariable = complex_(re, add(*im) if len(im) > 1 else im[0])
    return result


def _turned(w: TensorVariable, flip: bool, ndim: int) -> TensorVariable:
    return w[(..., *[slice(None, None, -1)] * ndim)] if flip else w


def _operands(
    what: str, ndim: int, input: TensorLike, weight: TensorLike, shapes: Sequence[Sequence[int | None] | None] = ()
) -> tuple[TensorVariable, TensorVariable, bool]:
    """Return images and filters, and whether there was one image without a batch."""
    x, w = as_tensor_variable(input), as_tensor_variable(weight)
    single = x.ndim == ndim + 1
    if w.ndim != ndim + 2 or x.ndim not in {ndim + 1, ndim + 2}:
        msg = (
            f"{what}: images of rank {ndim + 2} (batch, channels, and {ndim} more), or {ndim + 1} for a single one, "
            f"and filters of rank {ndim + 2} are needed, got {x.type} and {w.type}."
        )
        raise ShapeError(msg)
    x, w = (_with_shape(what, v, given) for v, given in zip((x, w), shapes or (None, None), strict=True))
    return (expand_dims(x, 0) if single else x), w, single


def _with_shape(what: str, x: TensorVariable, given: Sequence[int | None] | None) -> TensorVariable:
    """Check a shape that the user gives for a tensor: now as far as its type knows, and at run time if asked to."""
    if given is None:
        return x
    shape = [None if n is None else as_integer(f"{what}: a length", n, 0) for n in as_items(f"{what}: a shape", given)]
    if len(shape) != x.ndim or any(None not in {n, m} and n != m for n, m in zip(shape, x.type.shape, strict=True)):
        msg = f"{what}: the shape {tuple(shape)} does not fit {x} of type {x.type}. Correct it, or leave it out."
        raise ShapeError(msg)
    if not config.conv__assert_shape:
        return x
    return specify_shape(x, shape)


@composed
def _conv(
    ndim: int,
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None,
    stride: int | Sequence[int],
    padding: Padding,
    dilation: int | Sequence[int],
    groups: int,
    flip: bool,
    shapes: Sequence[Sequence[int | None] | None],
) -> TensorVariable:
    what = f"conv{ndim}d"
    x, w, single = _operands(what, ndim, input, weight, shapes)
    strides = as_numbers(f"{what}: stride", stride, ndim, 1)
    dilations = as_numbers(f"{what}: dilation", dilation, ndim, 1)
    x, pads = padded(what, x, w, padding, dilations)
    op = ConvND("output", strides, dilations, pads, as_integer(f"{what}: groups", groups, 1))
    out = complex_parts(op, x, _turned(w, as_flag(f"{what}: flip", flip), ndim))
    return _finished(out, bias, single, ndim)


def _finished(out: TensorVariable, bias: TensorLike | None, single: bool, ndim: int) -> TensorVariable:
    if bias is not None:
        out = add(out, dimshuffle(as_tensor_variable(bias), 0, *[NEW] * ndim))
    return squeeze(out, 0) if single else out


@composed
def _conv_transpose(
    ndim: int,
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None,
    stride: int | Sequence[int],
    padding: int | Sequence[int],
    output_padding: int | Sequence[int],
    groups: int,
    dilation: int | Sequence[int],
    flip: bool,
) -> TensorVariable:
    what = f"conv_transpose{ndim}d"
    y, w, single = _operands(what, ndim, input, weight)
    strides = as_numbers(f"{what}: stride", stride, ndim, 1)
    dilations = as_numbers(f"{what}: dilation", dilation, ndim, 1)
    pads = as_numbers(f"{what}: padding", padding, ndim, 0)
    further = as_numbers(f"{what}: output_padding", output_padding, ndim, 0)
    if any(extra >= max(s, d) for extra, s, d in zip(further, strides, dilations, strict=True)):
        msg = f"{what}: output_padding must be less than stride or dilation, got {further} and {strides}."
        raise ShapeError(msg)
    wanted = []
    for at, (s, d, p, extra) in enumerate(zip(strides, dilations, pads, further, strict=True), 2):
        if extra >= s:
            # What is longer by whole steps is made of as many more elements, zeros.
            more = zeros([extra // s if axis == at else shape_i(y, axis) for axis in range(y.ndim)], dtype=y.dtype)
            y = join(at, y, more)
        reach = add(mul(sub(shape_i(y, at), 1), s), mul(sub(shape_i(w, at), 1), d))
        wanted.append(as_lengths(what, [add(reach, 1 + extra % s - 2 * p)])[0])
    op = ConvND("input", strides, dilations, tuple((p, p) for p in pads), as_integer(f"{what}: groups", groups, 1))
    out = complex_parts(op, y, _turned(w, as_flag(f"{what}: flip", flip), ndim), *wanted)
    return _finished(out, bias, single, ndim)


def conv1d(
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | Sequence[int] = 1,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    *,
    flip: bool = False,
    input_shape: Sequence[int | None] | None = None,
    filter_shape: Sequence[int | None] | None = None,
) -> TensorVariable:
    """Slide filters over sequences, ``(batch, channels, length)``, and sum products (as torch's conv1d).

    Parameters are those of `conv2d`.

    Examples
    --------
    >>> tt.conv1d(np.ones((1, 1, 4)), np.ones((1, 1, 2))).eval()
    array([[[2., 2., 2.]]])
    """
    return _conv(1, input, weight, bias, stride, padding, dilation, groups, flip, (input_shape, filter_shape))


def conv2d(
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | Sequence[int] = 1,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    *,
    flip: bool = False,
    input_shape: Sequence[int | None] | None = None,
    filter_shape: Sequence[int | None] | None = None,
) -> TensorVariable:
    """Slide filters over images, ``(batch, channels, height, width)``, and sum products (as torch's conv2d).

    Parameters
    ----------
    input
        Images of shape ``(batch, channels, height, width)``, or one without the batch.
    weight
        Filters of shape ``(outputs, channels / groups, height, width)``.
    bias
        A number for each output, to be added.
    stride
        Distance between neighbouring outputs in the image: a number, or one for each dimension.
    padding
        Zeros around the image: a number, one for each dimension, or a pair for each (before and after); or ``"valid"``
        (none), ``"same"`` (as many outputs as elements of the image, if the stride is 1), ``"full"`` (wherever the
        filter touches the image), or ``"half"`` (half of the filter on each side).
    dilation
        Distance between neighbouring weights in the image.
    groups
        Into how many groups channels and outputs are split; an output sees the channels of its group.
    flip
        Whether to turn the filter around in all dimensions, as mathematicians' convolution and Theano's do.
    input_shape, filter_shape
        What the shapes are, None where that is not known: compared with what is known of them when the graph is built
        and, with the option ``conv__assert_shape``, when it runs.

    Raises
    ------
    ShapeError
        If ranks, channels, groups or lengths do not fit together.

    Examples
    --------
    >>> tt.conv2d(np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2))).eval()
    array([[[[4., 4.],
             [4., 4.]]]])
    """
    return _conv(2, input, weight, bias, stride, padding, dilation, groups, flip, (input_shape, filter_shape))


def conv3d(
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | Sequence[int] = 1,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    *,
    flip: bool = False,
    input_shape: Sequence[int | None] | None = None,
    filter_shape: Sequence[int | None] | None = None,
) -> TensorVariable:
    """Slide filters over volumes, ``(batch, channels, depth, height, width)``, and sum products (as torch's conv3d).

    Parameters are those of `conv2d`.

    Examples
    --------
    >>> tt.conv3d(np.ones((1, 1, 2, 2, 2)), np.ones((1, 1, 2, 2, 2))).eval()
    array([[[[[8.]]]]])
    """
    return _conv(3, input, weight, bias, stride, padding, dilation, groups, flip, (input_shape, filter_shape))


def conv_transpose1d(
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
    *,
    flip: bool = False,
) -> TensorVariable:
    """Return the gradient of `conv1d` by the sequences: the transposed convolution (as torch's conv_transpose1d).

    Parameters are those of `conv_transpose2d`.

    Examples
    --------
    >>> tt.conv_transpose1d(np.ones((1, 1, 3)), np.ones((1, 1, 2))).eval()
    array([[[1., 2., 2., 1.]]])
    """
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation, flip)


def conv_transpose2d(
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
    *,
    flip: bool = False,
) -> TensorVariable:
    """Return the gradient of `conv2d` by the images: the transposed convolution (as torch's conv_transpose2d).

    Parameters
    ----------
    input
        Outputs of a convolution, ``(batch, outputs, height, width)``, or one without the batch.
    weight
        Its filters, ``(outputs, channels / groups, height, width)``.
    bias
        A number for each channel of the result, to be added.
    stride, padding, groups, dilation, flip
        Those of the convolution, as for `conv2d`.
    output_padding
        How many elements the result is longer than the shortest image that has so many outputs.

    Examples
    --------
    >>> tt.conv_transpose2d(np.ones((1, 1, 2, 2)), np.ones((1, 1, 2, 2))).eval()
    array([[[[1., 2., 1.],
             [2., 4., 2.],
             [1., 2., 1.]]]])
    """
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation, flip)


def conv_transpose3d(
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
    *,
    flip: bool = False,
) -> TensorVariable:
    """Return the gradient of `conv3d` by the volumes: the transposed convolution (as torch's conv_transpose3d).

    Parameters are those of `conv_transpose2d`.

    Examples
    --------
    >>> tt.conv_transpose3d(np.ones((1, 1, 1, 1, 1)), np.ones((1, 1, 1, 1, 2))).eval()
    array([[[[[1., 1.]]]]])
    """
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation, flip)
