"""Broadcasting to a shape, and its transpose: summing back to a shape."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Apply, Form, Variable, is_composing, static_op
from treadle.tensor.errors import ShapeError
from treadle.tensor.ops.tensor_op import Derivatives, TensorOp, Variables
from treadle.tensor.shapes.batch_dims import aligned, batch_ndim, checked_lengths
from treadle.tensor.shapes.shape import LENGTHS_AFTER_FIRST, as_lengths, length_inputs, lengths, static_lengths
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.types.tensor_type import Shape
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = [
    "Alloc", "SumTo", "alloc", "broadcast_to", "full", "full_like", "ones", "ones_like", "sum_to", "zeros",
    "zeros_like",
]  # fmt: skip


def broadcast_static(what: str, shapes: Sequence[Shape]) -> Shape:
    """Return the static shape of arrays of one rank broadcast together.

    A dimension is known if one of the lengths is known and not 1 (the others can only be the same or 1), or if all are
    known.
    """
    result: list[int | None] = []
    for at, ns in enumerate(zip(*shapes, strict=True)):
        wide = {n for n in ns if n is not None and n != 1}
        if len(wide) > 1:
            msg = (
                f"{what}: shapes do not broadcast together, dimension {at} has lengths "
                f"{', '.join('?' if n is None else str(n) for n in ns)}. Make them equal, or one of them 1."
            )
            raise ShapeError(msg)
        result.append(wide.pop() if wide else (None if None in ns else 1))
    return tuple(result)


class _ToLengths(TensorOp):
    """Base of ops whose inputs are a tensor and the lengths of the result."""

    # Inputs that the shape depends on.
    shape_inputs = slice(1, None)
    static_inputs = LENGTHS_AFTER_FIRST
    smooth_count = 1
    _output_type_depends_on_input_value = True

    def make_node(self, *inputs: object) -> Apply:
        """Return the node; lengths that are constant become part of the type."""
        x, *target = (self.as_input(v) for v in inputs)
        length_inputs(self, target)
        result = self._result_shape(x, x.type, static_lengths(target))
        return Apply(self, [x, *target], [TensorType(x.dtype, result).make_variable()])

    @abstractmethod
    def _result_shape(self, x: Variable, kind: TensorType, target: Shape) -> Shape:
        """Return the result's static shape for lengths some of which may be known."""

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the lengths that are given."""
        return [shapes.of_scalar(x) for x in node.inputs[1:]]


@static_op
class Alloc(_ToLengths):
    """A new array of given lengths, filled with a value broadcast to it.

    Inputs: the value, then one int64 scalar for each dimension of the result.
    """

    linear = "jointly"

    def _result_shape(self, x: Variable, kind: TensorType, target: Shape) -> Shape:
        if kind.ndim > len(target):
            msg = f"Alloc: a value of rank {len(target)} at most is needed, got {x} of type {kind}. Add dimensions."
            raise ShapeError(msg)
        if any(n is not None and n < 0 for n in target):
            msg = f"Alloc: lengths must be 0 or more, got {target}."
            raise ShapeError(msg)
        own = (1,) * (len(target) - kind.ndim) + kind.shape
        for at, (n, m) in enumerate(zip(own, target, strict=True)):
            if n not in {1, None} and m is not None and n != m:
                msg = f"Alloc: dimension {at} of {x} has length {n} and cannot be broadcast to {m}."
                raise ShapeError(msg)
        return tuple(n if n not in {1, None} and m is None else m for n, m in zip(own, target, strict=True))

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the lengths that are given, which are errors where they are negative."""
        return [shapes.given(x) for x in node.inputs[1:]]

    def printed_form(self, node: Apply) -> Form:
        """Write ``alloc(x, n, m)``."""
        return Form.call("alloc", node.inputs)

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Return a new array."""
        x, *target = inputs
        output_storage[0][0] = np.array(np.broadcast_to(x, tuple(int(n) for n in target)))

    def vectorize_node(self, node: TensorNode, x: TensorVariable, *target: TensorVariable) -> Apply:
        """Broadcast each value of the batch."""
        batch = batch_ndim(node.inputs[0], x)
        checked = checked_lengths(node, target)
        return self.make_node(aligned(node.inputs[0], x, batch, len(target)), *lengths(x)[:batch], *checked)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Sum the cotangent back to the value's shape."""
        return [sum_to(cotangents[0], inputs[0]), *(None for _ in inputs[1:])]


@static_op
class SumTo(_ToLengths):
    """Sum over the dimensions that were broadcast: the transpose of broadcasting.

    Inputs: the tensor, then the lengths of the result, one int64 scalar for each of its dimensions. Dimensions in
    front that the result does not have are summed away; one whose length in the result is 1 is summed and kept; any
    other must have the same length. If nothing is to be summed, the result may be a view of the input.
    """

    linear = "jointly"

    view_map = {0: [0]}  # noqa: RUF012 - the contract of Op

    def _result_shape(self, x: Variable, kind: TensorType, target: Shape) -> Shape:
        if kind.ndim < len(target):
            msg = f"SumTo: a tensor of rank {len(target)} at least is needed, got {x} of type {kind}."
            raise ShapeError(msg)
        for at, (n, m) in enumerate(zip(kind.shape[kind.ndim - len(target) :], target, strict=True)):
            if m not in {1, None} and n is not None and n != m:
                msg = f"SumTo: dimension {at} of length {n} cannot be summed to length {m}."
                raise ShapeError(msg)
        return target

    def printed_form(self, node: Apply) -> Form:
        """Write ``sum_to(x, n, m)``."""
        return Form.call("sum_to", node.inputs)

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Return the sum."""
        x, *target = inputs
        output_storage[0][0] = sum_array_to(x, tuple(int(n) for n in target))

    def vectorize_node(self, node: TensorNode, x: TensorVariable, *target: TensorVariable) -> Apply:
        """Sum each value of the batch: first over the dimensions that it has too many, which stand behind the batch."""
        batch = batch_ndim(node.inputs[0], x)
        checked = checked_lengths(node, target)
        extra = x.ndim - batch - len(target)
        if extra:
            x = x.sum(axis=tuple(range(batch, batch + extra)), dtype=x.dtype, acc_dtype=x.dtype)
        return self.make_node(x, *lengths(x)[:batch], *checked)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Broadcast the cotangent to the input's shape."""
        return [Alloc()(cotangents[0], *lengths(inputs[0])), *(None for _ in inputs[1:])]


def sum_array_to(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return a NumPy array summed to a shape that it was broadcast from."""
    if x.shape == shape:
        return x
    extra = x.ndim - len(shape)
    for n, m in zip(x.shape[extra:], shape, strict=True):
        if m not in {1, n}:
            msg = f"shape {x.shape} cannot be summed to {shape}"
            raise ValueError(msg)
    axes = (*range(extra), *(d + extra for d, m in enumerate(shape) if m == 1 and x.shape[d + extra] != 1))
    total: np.ndarray = np.sum(x, axis=axes, keepdims=True, dtype=x.dtype)
    return total.reshape(shape)


def sum_to(x: TensorLike, like: TensorLike) -> TensorVariable:
    """Sum a tensor back to the run-time shape of another, which broadcasts to it.

    Rewriting takes the sum out where the shapes are certain to be equal: static shapes may change until then.

    Examples
    --------
    >>> tt.sum_to(np.ones((3, 2)), np.ones(2)).eval()
    array([3., 3.])
    """
    var, target = as_tensor_variable(x), as_tensor_variable(like)
    if var is target or (var.ndim == 0 and target.ndim == 0):
        return var
    result: TensorVariable = SumTo()(var, *lengths(target))
    return result


def alloc(value: TensorLike, *shape: TensorLike) -> TensorVariable:
    """Return a new tensor of the given lengths, filled with a value broadcast to it.

    Parameters
    ----------
    value
        A tensor or number.
    shape
        Integers or integer scalars.

    Examples
    --------
    >>> tt.alloc(5.0, 2, 2).eval()
    array([[5., 5.],
           [5., 5.]])
    """
    result: TensorVariable = Alloc()(as_tensor_variable(value), *as_lengths("alloc", list(shape)))
    return result


def broadcast_to(x: TensorLike, shape: TensorLike) -> TensorVariable:
    """Broadcast a tensor to a shape (as numpy.broadcast_to, but the result is a new array).

    Examples
    --------
    >>> tt.broadcast_to([1, 2], (2, 2)).eval()
    array([[1, 2],
           [1, 2]])
    """
    return alloc(x, *as_lengths("broadcast_to", shape))


def zeros(shape: TensorLike, dtype: DTypeLike | None = None) -> TensorVariable:
    """Return a tensor of zeros (dtype floatX if none is given).

    Examples
    --------
    >>> tt.zeros((2, 2)).eval()
    array([[0., 0.],
           [0., 0.]])
    """
    return alloc(np.zeros((), TensorType("floatX" if dtype is None else dtype).dtype), *as_lengths("zeros", shape))


def ones(shape: TensorLike, dtype: DTypeLike | None = None) -> TensorVariable:
    """Return a tensor of ones (dtype floatX if none is given).

    Examples
    --------
    >>> tt.ones((2, 2)).eval()
    array([[1., 1.],
           [1., 1.]])
    """
    return alloc(np.ones((), TensorType("floatX" if dtype is None else dtype).dtype), *as_lengths("ones", shape))


def full(shape: TensorLike, fill_value: TensorLike, dtype: DTypeLike | None = None) -> TensorVariable:
    """Return a tensor filled with a value (as numpy.full).

    Examples
    --------
    >>> tt.full((2, 2), 5.0).eval()
    array([[5., 5.],
           [5., 5.]])
    """
    value = as_tensor_variable(fill_value) if dtype is None else _filling(fill_value, dtype)
    return alloc(value, *as_lengths("full", shape))


def zeros_like(x: TensorLike, dtype: DTypeLike | None = None, *, shape: TensorLike | None = None) -> TensorVariable:
    """Return zeros of the shape and dtype of a tensor, or of another shape (as numpy.zeros_like).

    Examples
    --------
    >>> tt.zeros_like([3, 4]).eval()
    array([0, 0])
    """
    return full_like(x, 0, dtype, shape=shape)


def ones_like(x: TensorLike, dtype: DTypeLike | None = None, *, shape: TensorLike | None = None) -> TensorVariable:
    """Return ones of the shape and dtype of a tensor, or of another shape (as numpy.ones_like).

    Examples
    --------
    >>> tt.ones_like([3, 4]).eval()
    array([1, 1])
    """
    return full_like(x, 1, dtype, shape=shape)


def is_zeros(x: Variable) -> bool:
    """Whether a tensor was made by `zeros_like` or the like, as cotangents of outputs that do not matter are."""
    value = getattr(x.owner.inputs[0], "data", None) if x.owner is not None and isinstance(x.owner.op, Alloc) else None
    return isinstance(value, np.ndarray) and not value.any()


def full_like(
    x: TensorLike, fill_value: TensorLike, dtype: DTypeLike | None = None, *, shape: TensorLike | None = None
) -> TensorVariable:
    """Return a tensor of the shape and dtype of another, or of a shape that is given, filled with a value.

    Examples
    --------
    >>> tt.full_like([1, 2], 5).eval()
    array([5, 5])
    """
    var = as_tensor_variable(x)
    result_dtype = TensorType(var.dtype if dtype is None else dtype).dtype
    if shape is not None:
        return full(shape, fill_value, result_dtype)
    filled = alloc(_filling(fill_value, result_dtype), *lengths(var))
    if not is_composing():
        # Nothing of a scalar shows in its shape.
        filled.written_with = (var,)
    return filled


def _filling(value: TensorLike, dtype: DTypeLike) -> TensorVariable:
    """Return a fill value as a tensor of a dtype."""
    if not isinstance(value, Variable):
        return constant(value, dtype=dtype)
    var = as_tensor_variable(value)
    return var if var.dtype == TensorType(dtype).dtype else var.astype(dtype)
