"""Indexing, and its set and increment counterparts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NoReturn, TypeVar

import numpy as np

from treadle.config import config
from treadle.graph import Apply, ChangesPart, Form, Op, Operand, as_flag, is_composing, static_op
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.errors import IndexingError, ShapeError, TensorTypeError
from treadle.tensor.indexing.expressions import (
    SYMBOLIC,
    At,
    Positions,
    Span,
    Symbolic,
    add_at,
    bound_inputs,
    filled_index,
    gather_plan,
    index_pieces,
    index_types,
    known_entries,
    parse,
    picks_once,
    span_length,
    symbolic_count,
)
from treadle.tensor.indexing.masked_writes import mask_in, write_by_mask
from treadle.tensor.indexing.overwriting import standing
from treadle.tensor.ops.tensor_op import Derivatives, TensorOp, Variables
from treadle.tensor.shapes.broadcasting import broadcast_static, sum_to, zeros_like
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle, dimshuffle
from treadle.tensor.shapes.shape import Shape, shape_i
from treadle.tensor.types.conversion import as_tensor_variable, constant, tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.indexing.expressions import Entry
    from treadle.tensor.ops.known_values import Known
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import Index, TensorLike, TensorVariable

    T = TypeVar("T")

__all__ = [
    "AdvancedIncSubtensor", "AdvancedSubtensor", "IncSubtensor", "Subtensor", "inc_subtensor", "set_subtensor",
]  # fmt: skip


def basic_shape(entries: Sequence[Entry], shape: Sequence[int | None]) -> tuple[int | None, ...]:
    """Return the static shape of ``x[entries]`` for slices and positions."""
    return tuple(span_length(e, n) for e, n in zip(entries, shape, strict=True) if isinstance(e, Span))


def advanced_shape(
    entries: Sequence[Entry], shape: Sequence[int | None], arrays: Sequence[TensorType]
) -> tuple[int | None, ...]:
    """Return the static shape of ``x[entries]`` for slices and index arrays."""
    plan = gather_plan(entries, [t.ndim for t in arrays])
    middle = broadcast_static("indexing", [(1,) * (plan.array_ndim - t.ndim) + t.shape for t in arrays])
    sliced = basic_shape(entries, shape)
    return (*sliced[: plan.place], *middle, *sliced[plan.place :])


class _Indexed(TensorOp):
    """Base of the four index ops: static entries, symbolic parts as inputs."""

    entries: tuple[Entry, ...]
    _output_type_depends_on_input_value = True
    # Position of the first index input.
    _first_index: ClassVar[int]

    @property
    def static_inputs(self) -> tuple[int, ...]:  # type: ignore[override]  # depends on the entries
        """Positions of the bounds of slices, which decide the result's shape."""
        return bound_inputs(self.entries, self._first_index)

    @property
    def idx_list(self) -> tuple[Entry, ...]:
        """The entries, as functions such as `indices_from_subtensor` take them."""
        return self.entries

    def _result_shape(self, x: Variable, parts: Sequence[Variable]) -> tuple[int | None, ...]:
        """Return the static shape of the part that the index picks."""
        if not isinstance(x.type, TensorType) or x.type.ndim != len(self.entries):
            msg = f"{self}: a tensor of rank {len(self.entries)} is needed, got {x} of type {x.type}."
            raise IndexingError(msg)
        if len(parts) != symbolic_count(self.entries):
            msg = f"{self}: {symbolic_count(self.entries)} index inputs are needed, got {len(parts)}."
            raise IndexingError(msg)
        kinds, entries = index_types(parts), known_entries(self.entries, parts)
        if not any(isinstance(e, Positions) for e in entries):
            return basic_shape(entries, x.type.shape)
        return advanced_shape(entries, x.type.shape, self._arrays(kinds))

    def _arrays(self, kinds: Sequence[T]) -> list[T]:
        """Return those of the index inputs that are arrays of positions."""
        arrays: list[T] = []
        at = 0
        for entry in self.entries:
            if isinstance(entry, Positions):
                arrays.append(kinds[at])
                at += 1
            else:
                at += symbolic_count([entry])
        return arrays

    def _text(self) -> str:
        return "[" + ", ".join(map(str, self.entries)) + "]"


class _Take(_Indexed):
    """Base of the two ops that read a part. Inputs: the tensor, then the index inputs."""

    linear = "jointly"
    smooth_count = 1
    _first_index = 1

    def make_node(self, *inputs: object) -> Apply:
        """Return the node."""
        x, *parts = (self.as_input(v) for v in inputs)
        shape = self._result_shape(x, parts)
        return Apply(self, [x, *parts], [TensorType(x.dtype, shape).make_variable()])

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the lengths of the slices; among them those of the arrays, broadcast."""
        parts = iter(node.inputs[1:])
        each: list[Sequence[Length]] = []
        sliced: list[Length | None] = []
        for entry, n in zip(self.entries, shapes.of(node.inputs[0]), strict=True):
            if isinstance(entry, Positions):
                each.append(shapes.of(next(parts)))
            elif isinstance(entry, Span):
                sliced.append(shapes.sliced(entry, n, parts))
            elif entry.value is SYMBOLIC:
                next(parts)
        if not each:
            return sliced
        plan = gather_plan(self.entries, [len(own) for own in each])
        padded = [[shapes.fixed(1)] * (plan.array_ndim - len(own)) + list(own) for own in each]
        middle = [shapes.broadcast(own) for own in zip(*padded, strict=True)]
        return [*sliced[: plan.place], *middle, *sliced[plan.place :]]

    def printed_form(self, node: Apply) -> Form:
        """Write ``x[1:, i]``."""
        x, *parts = node.inputs
        return Form.index(x, index_pieces(self.entries, parts))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Add the cotangent into zeros at the same places."""
        x, *parts = inputs
        put = AdvancedIncSubtensor if isinstance(self, AdvancedSubtensor) else IncSubtensor
        return [put(self.entries, set=False)(zeros_like(x), cotangents[0], *parts), *(None for _ in parts)]

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self._text()}}}"


@static_op
class Subtensor(_Take):
    """A part of a tensor by slices and positions, as a view.

    Parameters
    ----------
    entries
        One `At` or `Span` for each dimension; symbolic parts are inputs, int scalars, in order.
    """

    entries: tuple[Entry, ...]

    view_map = {0: [0]}  # noqa: RUF012 - the contract of Op

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Index with NumPy."""
        output_storage[0][0] = np.asarray(inputs[0][filled_index(self.entries, inputs[1:])])

    def known_values(self, node: Apply, known: Callable[[Variable], Known]) -> Known:
        """Return the elements that known positions pick."""
        elements = known(node.inputs[0]) if len(self.entries) == 1 else None
        bounds = [b[0] for x in node.inputs[1:] if (b := known(x)) and b[0] is not None]
        if elements is None or len(bounds) < len(node.inputs) - 1:
            return None
        (index,) = filled_index(self.entries, bounds)
        try:
            if isinstance(index, int):
                return [elements[index]]
            return elements[index] if isinstance(index, slice) else None
        except (IndexError, ValueError):
            return None


@static_op
class AdvancedSubtensor(_Take):
    """Elements picked by integer arrays, with slices in the other dimensions (NumPy's rules).

    Parameters
    ----------
    entries
        One `Span` or `Positions` for each dimension, one `Positions` at least.
    """

    entries: tuple[Entry, ...]

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Index with NumPy."""
        output_storage[0][0] = np.array(inputs[0][filled_index(self.entries, inputs[1:], inputs[0].shape)])


class _Put(_Indexed, ChangesPart):
    """Base of the two ops that write a part. Inputs: the tensor, the values, then the index inputs."""

    linear = "jointly"
    linear_count = 2
    smooth_count = 2
    _first_index = 2
    inplace_pass = "write_in_place"

    set: bool
    inplace: bool

    # Inputs that the shape depends on.
    shape_inputs = slice(1)

    def keep_part(self, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """Return a copy of the part."""
        x, _, *parts = inputs
        return np.array(x[filled_index(self.entries, parts, x.shape)])

    def change_part(self, inputs: Sequence[np.ndarray], kept: np.ndarray) -> None:
        """Write the values, or add them to the part."""
        x, y, *parts = inputs
        index = filled_index(self.entries, parts)
        if self.set:
            x[index] = y
        elif picks_once(index, x.shape):
            x[index] = kept + y
        else:
            add_at(x, index, y, kept.ndim)

    def restore_part(self, inputs: Sequence[np.ndarray], kept: np.ndarray) -> None:
        """Write the part as it was."""
        x, _, *parts = inputs
        x[filled_index(self.entries, parts)] = kept

    @property
    def destroy_map(self) -> dict[int, list[int]]:  # type: ignore[override]  # depends on the parameters
        """The tensor, where the op works in place."""
        return {0: [0]} if self.inplace else {}

    def inplace_on_inputs(self, allowed_inplace_inputs: Sequence[int]) -> Op:
        """Return the version that changes the tensor itself, if it may."""
        if 0 not in allowed_inplace_inputs:
            return self
        result: Op = replace(self, inplace=True)  # type: ignore[type-var]  # one of the two dataclasses
        return result

    def make_node(self, *inputs: object) -> Apply:
        """Return the node; the values must broadcast to the part, and are converted to the tensor's dtype."""
        x, y, *parts = (self.as_input(v) for v in inputs)
        kind, values = x.type, y.type
        shape = self._result_shape(x, parts)
        if not isinstance(values, TensorType) or values.ndim > len(shape):
            msg = f"{self}: values of rank {len(shape)} at most are needed, got {y} of type {values}."
            raise ShapeError(msg)
        own = (1,) * (len(shape) - values.ndim) + values.shape
        for d, (n, m) in enumerate(zip(own, shape, strict=True)):
            if n not in {1, None} and m is not None and n != m:
                msg = f"{self}: values of shape {values.shape} do not fit a part of shape {shape} (dimension {d})."
                raise ShapeError(msg)
        return Apply(self, [x, self.converted(x, y), *parts], [kind.make_variable()])

    def converted(self, x: TensorVariable, y: TensorVariable) -> TensorVariable:
        """Return values in the dtype of the tensor that they are written into."""
        values, kind = y.type, x.type
        if values.dtype != kind.dtype and not self._takes(values.numpy_dtype, kind.numpy_dtype):
            _refuse_values(str(self), f"{y} of dtype {values.dtype}", kind.dtype)
        return cast(y, kind.dtype)

    def _takes(self, values: np.dtype, own: np.dtype) -> bool:
        """Whether NumPy converts values of a dtype to the tensor's: a part is set to anything real, for instance."""
        if self.set:
            return values.kind != "c" or own.kind == "c"
        return np.can_cast(np.result_type(values, own), own, "same_kind")

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the tensor's lengths."""
        return shapes.of(node.inputs[0])

    def printed_form(self, node: Apply) -> Form:
        """Write ``set_subtensor(x[1:], y)`` or ``inc_subtensor(x[1:], y)``."""
        x, y, *parts = node.inputs
        name = "set_subtensor" if self.set else "inc_subtensor"
        part = Form.index(x, index_pieces(self.entries, parts))
        return Form([f"{name}(", *part.parts, ", ", Operand(y), ")"])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Write with NumPy, into a copy unless the op works in place."""
        x, y, *parts = inputs
        result = x if self.inplace and x.flags.writeable else x.copy()
        index = filled_index(self.entries, parts, x.shape)
        arrays = self._arrays(parts)
        if self.set:
            result[index] = y
        elif arrays:
            add_at(result, index, y, sum(isinstance(e, Span) for e in self.entries) + max(a.ndim for a in arrays))
        else:
            result[index] += y
        output_storage[0][0] = result

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Read the values' part of the cotangent; what is left flows to the tensor."""
        x, y, *parts = tensors(inputs)
        take = (AdvancedSubtensor if isinstance(self, AdvancedIncSubtensor) else Subtensor)(self.entries)
        (ct,) = cotangents
        to_x, part = ct, take(ct, *parts)
        if self.set:
            to_x = type(self)(self.entries, set=True)(ct, zeros_like(y), *parts)  # type: ignore[call-arg]  # both subclasses have these fields
            if isinstance(take, AdvancedSubtensor):
                part = standing(part, x, self.entries, self._arrays(parts), type(take), type(self))
        return [to_x, sum_to(part, y), *(None for _ in parts)]

    def __str__(self) -> str:
        name = type(self).__name__
        return f"{name.replace('Inc', 'Set') if self.set else name}{{{self._text()}}}{',inplace' * self.inplace}"


@static_op
class IncSubtensor(_Put):
    """A copy of a tensor with a part replaced, or added to.

    Parameters
    ----------
    entries
        One `At` or `Span` for each dimension.
    set
        True: the part is replaced by the values. False: the values are added to it.
    inplace
        Whether the tensor itself may be changed, instead of a copy.
    """

    entries: tuple[Entry, ...]
    set: bool
    inplace: bool = False


@static_op
class AdvancedIncSubtensor(_Put):
    """A copy of a tensor with picked elements replaced, or added to; each repeated position adds again.

    Parameters
    ----------
    entries
        One `Span` or `Positions` for each dimension.
    set
        True: the elements are replaced by the values. False: the values are added to them. If a position is picked
        twice, the last of its values is set, unless the backend says otherwise; the gradient flows to that one.
    inplace
        Whether the tensor itself may be changed, instead of a copy.
    """

    entries: tuple[Entry, ...]
    set: bool
    inplace: bool = False


def _all_positions(
    entries: Sequence[Entry], inputs: Sequence[TensorVariable]
) -> tuple[tuple[Entry, ...], list[TensorVariable]]:
    """Turn single positions next to index arrays into arrays of rank 0, as NumPy does."""
    remaining = iter(inputs)
    arrays: list[Entry] = []
    variables: list[TensorVariable] = []
    for entry in entries:
        if isinstance(entry, At):
            arrays.append(Positions())
            number = entry.value
            variables.append(next(remaining) if isinstance(number, Symbolic) else as_tensor_variable(number))
        else:
            arrays.append(entry)
            variables += [next(remaining) for _ in range(symbolic_count([entry]))]
    return tuple(arrays), variables


def subtensor(x: TensorLike, args: Index) -> TensorVariable:
    """Return ``x[args]`` (as NumPy's indexing): slices, positions, None, ``...``, integer arrays, boolean masks.

    Raises
    ------
    IndexingError
        If the index is not understood or known to be out of bounds.
    TensorTypeError
        If a bound of a slice is not an integer.
    """
    var = as_tensor_variable(x)
    if var.owner is not None and isinstance(var.owner.op, Shape) and isinstance(args, int) and _is_one_length():
        return _one_length(var.owner.inputs[0], args)
    index = parse(var, args)
    picked = var
    if not index.is_basic:
        entries, inputs = _all_positions(index.entries, index.inputs)
        picked = AdvancedSubtensor(entries)(var, *inputs)
    elif not index.is_everything or index.keeps_order or _taken_from(var) is not None:
        # x[:] is a node too: what is written into it is written into x, not into what x was taken from.
        picked = Subtensor(index.entries)(var, *index.inputs)
    return picked if index.keeps_order else dimshuffle(picked, *index.order)


def _is_one_length() -> bool:
    """Whether an element of a shape is made as one length; see the option ``length_form``."""
    return config.length_form == "length" or is_composing()


def _one_length(x: TensorVariable, at: int) -> TensorVariable:
    if not -x.ndim <= at < x.ndim:
        msg = f"indexing: the shape of {x} has {x.ndim} lengths, there is no length {at}."
        raise IndexingError(msg)
    return shape_i(x, at)


def _taken_from(
    part: TensorVariable,
) -> tuple[TensorVariable, tuple[Entry, ...], Sequence[TensorVariable], tuple[int | str, ...]] | None:
    """Return what an indexed tensor was indexed from, entries and inputs of the index, and the order of dimensions.

    None if the tensor is not an index of another one.
    """
    node = part.owner
    order: tuple[int | str, ...] = tuple(range(part.ndim))
    if node is not None and isinstance(node.op, DimShuffle) and not node.op.dropped:
        order = node.op.order
        inner = node.inputs[0]
        if inner.owner is None or not isinstance(inner.owner.op, Subtensor | AdvancedSubtensor):
            only_new = [d for d in order if d != NEW] == list(range(inner.ndim))
            return (inner, (Span(),) * inner.ndim, (), order) if only_new else None
        node = inner.owner
    if node is None or not isinstance(node.op, Subtensor | AdvancedSubtensor):
        return None
    return node.inputs[0], node.op.entries, node.inputs[1:], order


def _written(part: TensorLike, y: TensorLike, set_: bool) -> TensorVariable:
    """Return the tensor that `part` was indexed from, with the part set or increased."""
    name = "set_subtensor" if set_ else "inc_subtensor"
    var = as_tensor_variable(part)
    source = _taken_from(var)
    if source is None:
        msg = f"{name}: the first argument must be an indexed tensor such as x[2:4], got {var}. Index it in the call."
        raise IndexingError(msg)
    x, entries, inputs, order = source
    values = _rearranged(name, _as_values(name, y, x, set_), var, order)
    if not any(isinstance(e, Positions) for e in entries):
        result: TensorVariable = IncSubtensor(entries, set=set_)(x, values, *inputs)
        return result
    put = AdvancedIncSubtensor(entries, set=set_)
    mask = mask_in(entries, inputs)
    if mask is not None:
        chosen = write_by_mask(x, put.converted(x, values), *mask, set_)
        if chosen is not None:
            return chosen
    return put(x, values, *inputs)  # type: ignore[no-any-return]  # a call of an op returns anything


def _as_values(name: str, y: TensorLike, x: TensorVariable, set_: bool) -> TensorVariable:
    """Return values to write as a tensor; Python numbers, which have no dtype, take the tensor's, as in NumPy."""
    if not isinstance(y, bool | int | float | complex) or isinstance(y, np.generic):
        return as_tensor_variable(y)
    if not set_ and np.result_type(type(y), x.type.numpy_dtype).kind != x.type.numpy_dtype.kind:
        _refuse_values(name, repr(y), x.dtype)
    return constant(y, dtype=x.dtype)


def _rearranged(name: str, values: TensorVariable, part: TensorVariable, order: Sequence[int | str]) -> TensorVariable:
    """Return values for a part as values for what it was rearranged from, `order` being the order of its dimensions."""
    if values.ndim == 0:
        return values
    extra = part.ndim - values.ndim
    kept = [order.index(d) - extra for d in range(len(order) - order.count(NEW))]
    lost = [values.type.shape[d] for d in range(values.ndim) if d not in kept]
    if extra < 0 or any(n not in {1, None} for n in lost):
        msg = f"{name}: values of shape {values.type.shape} do not fit a part of shape {part.type.shape}."
        raise ShapeError(msg)
    while kept and kept[0] < 0:
        del kept[0]
    return dimshuffle(values, *(NEW if d < 0 else d for d in kept))


def _refuse_values(name: str, values: str, dtype: str) -> NoReturn:
    msg = f"{name}: {values} cannot be written into a tensor of dtype {dtype}. Cast one of them."
    raise TensorTypeError(msg)


def set_subtensor(part: TensorLike, y: TensorLike) -> TensorVariable:
    """Return a copy of a tensor with a part replaced: ``set_subtensor(x[2:4], y)`` for ``x[2:4] = y``.

    Parameters
    ----------
    part
        An indexed tensor.
    y
        Values, broadcast to the part and converted to the tensor's dtype as NumPy does: setting converts anything but
        complex numbers to real ones, incrementing only within a kind (float64 to float32, not float to integer).

    Raises
    ------
    IndexingError
        If the first argument is not an indexed tensor.
    ShapeError
        If the values do not broadcast to the part.
    TensorTypeError
        If the values' dtype cannot be converted.

    Examples
    --------
    >>> x = tt.constant([1, 2, 3])
    >>> tt.set_subtensor(x[1:], 10).eval()
    array([ 1, 10, 10])
    """
    return _written(part, y, True)


def inc_subtensor(part: TensorLike, y: TensorLike, set_instead_of_inc: bool = False) -> TensorVariable:
    """Return a copy of a tensor with values added to a part: ``inc_subtensor(x[i], y)`` for ``x[i] += y``.

    Unlike in NumPy, every repeated position adds again. Parameters and errors are those of `set_subtensor`.

    Examples
    --------
    >>> x = tt.constant([1, 2, 3])
    >>> tt.inc_subtensor(x[1:], 10).eval()
    array([ 1, 12, 13])
    """
    return _written(part, y, as_flag("inc_subtensor: set_instead_of_inc", set_instead_of_inc))
