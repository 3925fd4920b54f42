"""Convolutions over one, two or three spatial dimensions, and their gradients: one op class.

With images x, filters w and outputs y, the sum of y * conv(x, w) is linear in each of the three. The op computes the
derivative of that sum by one of them from the other two: the outputs, the gradient by the images (which is the
transposed convolution), or the gradient by the filters. So derivatives of every order are ops of the class.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Apply, Form, static_op
from treadle.tensor.arguments.values import as_choice, known_integer
from treadle.tensor.batches.batching import spread_all
from treadle.tensor.batches.blockwise import in_a_loop
from treadle.tensor.control.assertion import CheckAndRaise
from treadle.tensor.elementwise.arithmetic import add, floor_div, mul, sub
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.comparison import eq, ge
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.indexing.indexing import inc_subtensor, set_subtensor
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.ops.fields import fix_integers
from treadle.tensor.ops.tensor_op import TensorOp
from treadle.tensor.products.product import matmul
from treadle.tensor.shapes.batch_dims import batch_ndim, most_batch, refuse_batched
from treadle.tensor.shapes.broadcasting import alloc
from treadle.tensor.shapes.dimshuffle import dimshuffle, expand_dims, matrix_transpose
from treadle.tensor.shapes.shape import length_inputs, lengths, reshape, static_lengths
from treadle.tensor.types.conversion import tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import SymbolicShape, Variable
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

__all__ = ["ConvND"]

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

    linear = "each"
    linear_count = 2

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
        a, b, *wanted = inputs
        output_storage[0][0] = self.apply(a, b, tuple(int(n) for n in wanted))

    def apply(self, a: np.ndarray, b: np.ndarray, wanted: Numbers = ()) -> np.ndarray:
        """Return the result for NumPy arrays."""
        self.result_shape(a.shape, b.shape, wanted)
        x_shape, w_shape, y_shape = (tuple(n or 0 for n in s) for s in self._shapes(a.shape, b.shape, wanted))
        g, spatial = self.groups, range(2, 2 + self.ndim)
        dtype = a.dtype
        wide = np.dtype("float32") if dtype == "float16" else dtype
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
            if windows.size > _MOST_WINDOWS:
                # One weight after the other: the windows of all together, which overlap, would be copied.
                parts = (
                    _product(f"bgc{places},goc->bgo{places}", windows[..., *at], filters[..., *at])
                    for at in np.ndindex(*w_shape[2:])
                )
                return reduce(np.add, parts).reshape(y_shape).astype(dtype)
            subscripts = f"bgc{places}{weights},goc{weights}->bgo{places}"
            return _product(subscripts, windows, filters).reshape(y_shape).astype(dtype)
        if self.part == "filter":
            outputs = b.reshape(b.shape[0], g, -1, *b.shape[2:])
            subscripts = f"bgc{places}{weights},bgo{places}->goc{weights}"
            return _product(subscripts, windows, outputs).reshape(w_shape).astype(dtype)
        outputs, filters = a.reshape(a.shape[0], g, -1, *a.shape[2:]), b.reshape(g, -1, *w_shape[1:])
        for at in np.ndindex(*w_shape[2:]):
            part = _product(f"bgo{places},goc->bgc{places}", outputs, filters[..., *at])
            view[..., *at] += part.reshape(view.shape[: 2 + n])
        return np.array(x[every + inner], dtype)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Multiply the windows that the filters see, all in one matrix for each group, by the filters."""
        a, b, *wanted = tensors(inputs)
        own = a.dtype
        if own == "float16":
            a, b = cast(a, "float32"), cast(b, "float32")
        g, ndim, result = self.groups, self.ndim, self.make_node(*inputs).outputs[0].type
        filters = wanted if self.part == "filter" else lengths(b)[2:]
        images = wanted if self.part == "input" else lengths(a)[2:]
        places = self._checked_places(images, filters, {"output": None, "input": a, "filter": b}[self.part])
        grown = [n + low + high for n, (low, high) in zip(images, self.padding, strict=True)]
        inner: Any = (..., *(slice(low, low + n) for n, (low, _) in zip(images, self.padding, strict=True)))
        # The positions in padded images that each place of a filter sees, with each of its weights.
        seen: Any = tuple(
            reshape(
                expand_dims(arange(m) * s, -1) + arange(k) * d,
                [*(m if i == j else 1 for j in range(ndim)), *(k if i == j else 1 for j in range(ndim))],
            )
            for i, (m, k, s, d) in enumerate(zip(places, filters, self.stride, self.dilation, strict=True))
        )
        every: Any = slice(None), slice(None)
        size, weights = _size(places), _size(filters)
        if self.part != "input":
            batch, channels = lengths(a)[:2]
            each = floor_div(channels, g)
            padded = set_subtensor(alloc(np.zeros((), a.dtype), batch, channels, *grown)[inner], a)
            windows = reshape(padded[every + seen], [batch, g, each, size, weights])
            # Rows for each place, columns for each weight.
            windows = reshape(dimshuffle(windows, 1, 0, 3, 2, 4), [g, mul(batch, size), mul(each, weights)])
        else:
            batch, each = lengths(a)[0], lengths(b)[1]
        if self.part == "output":
            outputs = floor_div(lengths(b)[0], g)
            products = matmul(windows, matrix_transpose(reshape(b, [g, outputs, mul(each, weights)])))
            apart = dimshuffle(reshape(products, [g, batch, size, outputs]), 1, 0, 3, 2)
            value = reshape(apart, [batch, lengths(b)[0], *places])
        else:
            slopes, outputs = (a, lengths(a)[1]) if self.part == "input" else (b, lengths(b)[1])
            apart = dimshuffle(reshape(slopes, [batch, g, floor_div(outputs, g), size]), 1, 2, 0, 3)
            slopes = reshape(apart, [g, floor_div(outputs, g), mul(batch, size)])
            if self.part == "filter":
                value = reshape(matmul(slopes, windows), [outputs, each, *filters])
            else:
                by_windows = matmul(
                    matrix_transpose(slopes), reshape(b, [g, floor_div(outputs, g), mul(each, weights)])
                )
                apart = dimshuffle(reshape(by_windows, [g, batch, size, each, weights]), 1, 0, 3, 2, 4)
                parts = reshape(apart, [batch, mul(each, g), *places, *filters])
                empty = alloc(np.zeros((), a.dtype), batch, mul(each, g), *grown)
                value = inc_subtensor(empty[every + seen], parts)[inner]
        return [result.filter_variable(cast(value, own))]

    def _checked_places(
        self, images: Sequence[TensorVariable], filters: Sequence[TensorVariable], outputs: TensorVariable | None
    ) -> list[TensorVariable]:
        """Return how often a filter fits into the images along each dimension, checked to be as often as given."""
        places: list[TensorVariable] = []
        for i, (n, k, s, d, (low, high)) in enumerate(
            zip(images, filters, self.stride, self.dilation, self.padding, strict=True)
        ):
            rest = sub(add(n, low + high - 1), mul(sub(k, 1), d))
            count = add(floor_div(rest, s), 1)
            given = [] if outputs is None else [eq(count, lengths(outputs)[2 + i])]
            places.append(_FITS(count, ge(rest, 0), ge(k, 1), *given))
        return places

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
        """Return the other two derivatives of the sum, with the cotangent in the result's place.

        Through `decompose`: indexing and adding of windows, each many times as large as the images.
        """
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
        refuse_batched(zip(node.inputs[2:], inputs[2:], strict=True), "lengths")
        batch, wanted = most_batch(pairs), inputs[2:]
        if self.part != "filter" and not batch_ndim(*pairs[1]):
            a, b = inputs[:2]
            ns = lengths(a)
            flat: TensorVariable = self(reshape(a, [_size(ns[: batch + 1]), *ns[batch + 1 :]]), b, *wanted)
            return reshape(flat, [*ns[: batch + 1], *lengths(flat)[1:]])
        single = [bool(batch_ndim(*pair)) for pair in pairs]
        if self.groups == 1 and not all(single):
            return self._folded(single.index(True), batch, *inputs)
        a, b = spread_all(pairs)
        ns, ms = lengths(a), lengths(b)
        count = _size(ns[:batch])
        known = known_integer(count)
        if known is None:  # of groups, which are a static parameter
            return in_a_loop(self, node, *inputs)
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


_FITS = CheckAndRaise(ShapeError, "convolution: the filters do not fit the images, or the outputs do not fit both")
# Windows of more elements than this are not copied.
_MOST_WINDOWS = 2**22


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
