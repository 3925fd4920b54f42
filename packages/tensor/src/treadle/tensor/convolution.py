"""Convolutions over one, two or three spatial dimensions, and their gradients: one op class.

With images x, filters w and outputs y, the sum of y * conv(x, w) is linear in each of the three. The op computes the
derivative of that sum by one of them from the other two: the outputs, the gradient by the images (which is the
transposed convolution), or the gradient by the filters. So derivatives of every order are ops of the class.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import config, lazy_module, text_of
from treadle.graph import Apply, Form, as_flag, composed, static_op
from treadle.tensor.arguments import as_choice, as_integer, as_items, known_integer
from treadle.tensor.broadcasting import zeros
from treadle.tensor.conversion import as_tensor_variable, tensors
from treadle.tensor.dimshuffle import NEW, dimshuffle, expand_dims, squeeze
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.fields import fix_integers
from treadle.tensor.indexing import set_subtensor
from treadle.tensor.scalar.arithmetic import add, floor_div, mul, sub
from treadle.tensor.scalar.cast import cast
from treadle.tensor.scalar.complex_numbers import complex_
from treadle.tensor.shape import as_lengths, length_inputs, lengths, reshape, shape_i, static_lengths
from treadle.tensor.shape_specification import specify_shape
from treadle.tensor.tensor_op import TensorOp
from treadle.tensor.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import SymbolicShape, Variable
    from treadle.tensor import batching, vectorizing
    from treadle.tensor.variable import TensorLike, TensorNode, TensorVariable
else:
    batching = lazy_module("treadle.tensor.batching")
    vectorizing = lazy_module("treadle.tensor.vectorizing")

__all__ = [
    "ConvND",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
]

PARTS = ("output", "input", "filter")
Numbers = tuple[int, ...]
Slices = tuple[slice, ...]


@static_op
class ConvND(TensorOp):
    """A convolution without turning the filter (cross-correlation), or its gradient by images or filters.

    Images have the shape ``(batch, channels, *spatial)``, filters ``(outputs, channels / groups, *spatial)``, outputs
    ``(batch, outputs, *spatial)``; all have one dtype, and 1 to 3 spatial dimensions.

    Parameters
    ----------
    part
        What is computed: ``"output"`` of images and filters; ``"input"``, the gradient by the images, of outputs,
        filters and the images' spatial lengths; ``"filter"``, the gradient by the filters, of images, outputs and the
        filters' spatial lengths.
    stride, dilation
        Distance between neighbouring outputs in the images, and between neighbouring weights, for each dimension.
    padding
        How many zeros stand before and after the images along each dimension.
    groups
        Into how many groups the channels are split: outputs of one see the channels of one.
    """

    part: str
    stride: Numbers
    dilation: Numbers
    padding: tuple[tuple[int, int], ...]
    groups: int

    _output_type_depends_on_input_value = True

    def __post_init__(self) -> None:
        """Bring the fields to one form."""
        as_choice("ConvND: part", self.part, PARTS)
        fix_integers(self, "groups")

    @property
    def ndim(self) -> int:
        """Number of spatial dimensions."""
        return len(self.stride)

    @property
    def static_inputs(self) -> Numbers:  # type: ignore[override]  # depends on the number of dimensions
        """Positions of the lengths."""
        return () if self.part == "output" else tuple(range(2, 2 + self.ndim))

    def make_node(self, *inputs: object) -> Apply:
        """Return the node; lengths that are constant become part of the type."""
        a, b, *wanted = (self.as_input(v) for v in inputs)
        length_inputs(self, wanted)
        if len(wanted) != len(self.static_inputs):
            msg = f"{self}: {len(self.static_inputs)} lengths are needed, got {len(wanted)}."
            raise TensorTypeError(msg)
        rank = self.ndim + 2
        if a.ndim != rank or b.ndim != rank or a.dtype != b.dtype or a.type.numpy_dtype.kind not in "iuf":
            msg = f"{self}: two tensors of rank {rank} and of one real dtype are needed, got {a.type} and {b.type}."
            raise TensorTypeError(msg)
        shape = self.result_shape(a.type.shape, b.type.shape, static_lengths(wanted))
        return Apply(self, [a, b, *wanted], [TensorType(a.dtype, shape).make_variable()])

    def result_shape(
        self, a: Sequence[int | None], b: Sequence[int | None], wanted: Sequence[int | None] = ()
    ) -> tuple[int | None, ...]:
        """Return the shape of the result for shapes of the two tensors and lengths of which some may be unknown.

        Raises
        ------
        ShapeError
            If they do not fit together.
        """
        (x, w, y), groups = self._shapes(a, b, wanted), self.groups
        channels, each, outputs = x[1], w[1], w[0]
        if channels is not None and each is not None and channels != each * groups:
            split = f" in {groups} groups" if groups > 1 else ""
            msg = f"convolution: filters for {each * groups} channels{split} are given, the images have {channels}."
            raise ShapeError(msg)
        if any(n is not None and n % groups for n in (channels, outputs)):
            msg = f"convolution: {channels} channels and {outputs} outputs cannot be split into {groups} groups."
            raise ShapeError(msg)
        for known, given in zip(y[2:], self._outputs(x[2:], w[2:]), strict=True):
            if known is not None and given is not None and known != given:
                msg = f"convolution: outputs of length {known} do not fit images {x} and filters {w} of {self}."
                raise ShapeError(msg)
        return {"output": y, "input": x, "filter": w}[self.part]

    def _shapes(
        self, a: Sequence[int | None], b: Sequence[int | None], wanted: Sequence[int | None]
    ) -> tuple[tuple[int | None, ...], tuple[int | None, ...], tuple[int | None, ...]]:
        """Return the shapes of images, filters and outputs, of which two are given."""
        if self.part == "output":
            return tuple(a), tuple(b), (a[0], b[0], *self._outputs(a[2:], b[2:]))
        if self.part == "input":
            if a[1] is not None and b[0] is not None and a[1] != b[0]:
                msg = f"convolution: {a[1]} outputs are given for filters of {b[0]}."
                raise ShapeError(msg)
            return (a[0], None if b[1] is None else b[1] * self.groups, *wanted), tuple(b), tuple(a)
        if a[0] is not None and b[0] is not None and a[0] != b[0]:
            msg = f"convolution: {a[0]} images are given for a batch of {b[0]}."
            raise ShapeError(msg)
        return tuple(a), (b[1], None if a[1] is None else a[1] // self.groups, *wanted), tuple(b)

    def _outputs(self, images: Sequence[int | None], filters: Sequence[int | None]) -> list[int | None]:
        """Return the spatial lengths of the outputs."""
        result: list[int | None] = []
        for n, k, s, d, (low, high) in zip(images, filters, self.stride, self.dilation, self.padding, strict=True):
            if n is None or k is None:
                result.append(None)
                continue
            rest = n + low + high - (k - 1) * d - 1
            if rest < 0 or k < 1:
                around = f" with padding ({low}, {high})" if low or high else ""
                spread = f" with dilation {d}" if d > 1 else ""
                msg = f"convolution: a filter of length {k}{spread} does not fit images of length {n}{around}."
                raise ShapeError(msg)
            result.append(rest // s + 1)
        return result

    def printed_form(self, node: Apply) -> Form:
        """Write ``conv2d(x, w, stride=(2, 2))``."""
        name = {"output": "conv", "input": "conv_input_grad", "filter": "conv_filter_grad"}[self.part]
        given: dict[str, object] = {
            "stride": self.stride if max(self.stride) > 1 else None,
            "dilation": self.dilation if max(self.dilation) > 1 else None,
            "padding": self.padding if any(map(any, self.padding)) else None,
            "groups": self.groups if self.groups > 1 else None,
        }
        options = {key: value for key, value in given.items() if value is not None}
        return Form.call(f"{name}{self.ndim}d", node.inputs, options)

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Multiply windows by filters, with NumPy."""
        del node
        a, b, *wanted = inputs
        output_storage[0][0] = self.apply(a, b, tuple(int(n) for n in wanted))

    def apply(self, a: np.ndarray, b: np.ndarray, wanted: Numbers = ()) -> np.ndarray:
        """Return the result for NumPy arrays."""
        self.result_shape(a.shape, b.shape, wanted)
        x_shape, w_shape, y_shape = (tuple(n or 0 for n in s) for s in self._shapes(a.shape, b.shape, wanted))
        g, spatial = self.groups, range(2, 2 + self.ndim)
        wide = np.dtype("float32") if a.dtype == "float16" else a.dtype
        a, b = a.astype(wide, copy=False), b.astype(wide, copy=False)
        every: Slices = (slice(None), slice(None))
        grown = [n + low + high for n, (low, high) in zip(x_shape[2:], self.padding, strict=True)]
        inner: Slices = tuple(slice(low, low + n) for n, (low, _) in zip(x_shape[2:], self.padding, strict=True))
        x = np.zeros((*x_shape[:2], *grown), wide)
        if self.part != "input":
            x[every + inner] = a
        span = [(k - 1) * d + 1 for k, d in zip(w_shape[2:], self.dilation, strict=True)]
        picked: Slices = (
            *(slice(None, (n - 1) * s + 1, s) for n, s in zip(y_shape[2:], self.stride, strict=True)),
            *(slice(None, None, d) for d in self.dilation),
        )
        # Windows: batch, groups, channels, then places, then weights.
        view = np.lib.stride_tricks.sliding_window_view(x, span, tuple(spatial), writeable=True)[every + picked]
        windows = view.reshape(x_shape[0], g, x_shape[1] // g, *view.shape[2:]) if self.part != "input" else view
        n = self.ndim
        places, weights = "pqr"[:n], "ijk"[:n]
        if self.part == "output":
            filters = b.reshape(g, -1, *w_shape[1:])
            subscripts = f"bgc{places}{weights},goc{weights}->bgo{places}"
            return _product(subscripts, windows, filters).reshape(y_shape).astype(a.dtype)
        if self.part == "filter":
            outputs = b.reshape(b.shape[0], g, -1, *b.shape[2:])
            subscripts = f"bgc{places}{weights},bgo{places}->goc{weights}"
            return _product(subscripts, windows, outputs).reshape(w_shape).astype(a.dtype)
        outputs, filters = a.reshape(a.shape[0], g, -1, *a.shape[2:]), b.reshape(g, -1, *w_shape[1:])
        for at in np.ndindex(*w_shape[2:]):
            part = _product(f"bgo{places},goc->bgc{places}", outputs, filters[..., *at])
            view[..., *at] += part.reshape(view.shape[: 2 + n])
        return np.array(x[every + inner])

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None] | None:
        """Return the lengths in terms of those of the inputs."""
        a, b, *_ = shapes
        if a is None or b is None:
            return None
        if self.part == "input":
            return [(a[0], mul(b[1], self.groups), *tensors(node.inputs[2:]))]
        if self.part == "filter":
            return [(b[1], floor_div(a[1], self.groups), *tensors(node.inputs[2:]))]
        spatial = []
        for n, k, s, d, (low, high) in zip(a[2:], b[2:], self.stride, self.dilation, self.padding, strict=True):
            rest = sub(add(n, low + high - 1), mul(sub(k, 1), d))
            spatial.append(add(floor_div(rest, s), 1))
        return [(a[0], b[0], *spatial)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the tensors are connected, the lengths are not."""
        return [[True], [True], *([False] for _ in node.inputs[2:])]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the other two derivatives of the sum, with the cotangent in the result's place."""
        del outputs
        a, b, *wanted = tensors(inputs)
        ct = tensors(cotangents)[0]
        if self.part == "output":
            return [self.gradient("input", ct, b, a), self.gradient("filter", a, ct, b)]
        if self.part == "input":
            back = [self.gradient("output", ct, b), self.gradient("filter", ct, a, b)]
        else:
            back = [self.gradient("input", b, ct, a), self.gradient("output", a, ct)]
        return [*back, *(None for _ in wanted)]

    def gradient(
        self, part: str, a: TensorVariable, b: TensorVariable, like: TensorVariable | None = None
    ) -> TensorVariable:
        """Return another part of the same convolution; the spatial lengths are those of a tensor."""
        op = ConvND(part, self.stride, self.dilation, self.padding, self.groups)
        result: TensorVariable = op(a, b, *([] if like is None else lengths(like)[2:]))
        return result

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Variable | Apply:
        """Make a batch part of the images' batch, or groups of it where filters have one too."""
        pairs = list(zip(node.inputs[:2], inputs[:2], strict=True))
        batching.refuse_batched(zip(node.inputs[2:], inputs[2:], strict=True), "lengths")
        batch, wanted = batching.most_batch(pairs), inputs[2:]
        if self.part != "filter" and not batching.batch_ndim(*pairs[1]):
            a, b = inputs[:2]
            ns = lengths(a)
            flat: TensorVariable = self(reshape(a, [_size(ns[: batch + 1]), *ns[batch + 1 :]]), b, *wanted)
            return reshape(flat, [*ns[: batch + 1], *lengths(flat)[1:]])
        single = [bool(batching.batch_ndim(*pair)) for pair in pairs]
        if self.groups == 1 and not all(single):
            return self._folded(single.index(True), batch, *inputs)
        a, b = batching.spread_all(pairs)
        ns, ms = lengths(a), lengths(b)
        count = _size(ns[:batch])
        known = known_integer(count)
        if known is None:  # of groups, which are a static parameter
            return vectorizing.in_a_loop(self, node, *inputs)
        groups = known * self.groups
        op = ConvND(self.part, self.stride, self.dilation, self.padding, groups)
        images_first = self.part != "filter"
        left = _with_groups(a, batch, 1, count)
        right = _with_groups(b, batch, 0 if images_first else 1, count)
        out: TensorVariable = op(left, right, *wanted)
        own = lengths(out)
        if not images_first:
            return reshape(out, [*ns[:batch], ms[batch + 1], *own[1:]])
        each = ms[batch] if self.part == "output" else mul(ms[batch + 1], self.groups)
        apart = reshape(out, [own[0], *ns[:batch], each, *own[2:]])
        return dimshuffle(apart, *range(1, batch + 1), 0, *range(batch + 1, apart.ndim))

    def _folded(self, which: int, batch: int, *inputs: TensorVariable) -> Variable:
        """Make the batch of one tensor part of a dimension of its own that the other lacks, and take it out again."""
        # Of filters, the outputs or the channels; of images and outputs, which become filters, theirs.
        axis = 1 if self.part == "filter" or (self.part == "input" and which == 1) else 0
        x = inputs[which]
        count = _size(lengths(x)[:batch])
        given = list(inputs)
        given[which] = _with_groups(x, batch, axis, count)
        out: TensorVariable = self(*given)
        # Where that dimension is in the result.
        at = 0 if self.part == "filter" and which == 1 else 1
        ns = lengths(out)
        apart = reshape(out, [*ns[:at], *lengths(x)[:batch], lengths(x)[batch + axis], *ns[at + 1 :]])
        return dimshuffle(apart, *range(at, at + batch), *range(at), *range(at + batch, apart.ndim))


def _product(subscripts: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    result: np.ndarray = np.einsum(subscripts, a, b, optimize=a.dtype.kind == "f")
    return result


def _size(ns: Sequence[TensorVariable]) -> TensorVariable | int:
    known = [known_integer(n) for n in ns]
    result: TensorVariable | int = math.prod(n for n in known if n is not None)
    for n, length in zip(known, ns, strict=True):
        if n is None:
            result = mul(length, result)
    return result


def _with_groups(x: TensorVariable, batch: int, axis: int, count: TensorVariable | int) -> TensorVariable:
    """Return a tensor with its batch as part of one of its own dimensions."""
    at = batch + axis
    order = [*range(batch, at), *range(batch), *range(at, x.ndim)]
    moved, ns = dimshuffle(x, *order), lengths(x)
    return reshape(moved, [*ns[batch:at], mul(ns[at], count), *ns[at + 1 :]])


# ---------------------------------------------------------------- functions


def as_numbers(what: str, value: object, ndim: int, least: int) -> Numbers:
    """Return an argument for each spatial dimension: one number stands for all."""
    number = known_integer(value)
    if number is not None:
        return (as_integer(what, number, least),) * ndim
    items: list[object] = as_items(what, value)  # type: ignore[arg-type]  # refuses what is none
    if len(items) != ndim:
        msg = f"{what} must be a number, or {ndim} of them, got {text_of(value)}."
        raise TensorTypeError(msg)
    return tuple(as_integer(what, item, least) for item in items)


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
        reach = add(mul(sub(shape_i(y, at), 1), s), mul(sub(shape_i(w, at), 1), d))
        wanted.append(as_lengths(what, [add(reach, 1 + extra - 2 * p)])[0])
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
    """
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation, flip)
