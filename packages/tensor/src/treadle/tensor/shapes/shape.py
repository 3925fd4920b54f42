"""Shapes as values: Shape and ShapeI, and Reshape."""

from __future__ import annotations

import math
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np

from treadle.config import text_of
from treadle.graph import Apply, Constant, Form, Op, as_index, static_op
from treadle.tensor.arguments.axes import normalize_axis
from treadle.tensor.arguments.values import as_choice, as_integer, known_integer
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.ops.known_values import known_value
from treadle.tensor.ops.tensor_op import Derivatives, Discrete, Natural, TensorOp, Variables
from treadle.tensor.shapes.batch_dims import batch_ndim
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.tensor_type import MOST_DIMENSIONS, TensorType, as_rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from treadle.graph import Type, Variable
    from treadle.tensor.ops.known_values import Known
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = ["Reshape", "Shape", "ShapeI", "flatten", "reshape", "shape", "shape_i"]

LENGTH = "int64"
# Positions of inputs that are lengths, where all after the first are; there are no more dimensions.
LENGTHS_AFTER_FIRST = tuple(range(1, MOST_DIMENSIONS + 1))


@static_op
class Shape(Discrete, TensorOp):
    """The shape of a tensor, as a vector of int64."""

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a vector as long as the rank."""
        (x,) = types
        return [TensorType(LENGTH, (getattr(x, "ndim", 0),))]

    def printed_form(self, node: Apply) -> Form:
        """Write ``x.shape``."""
        return Form.member(node.inputs[0], ".shape").in_latex(r"\operatorname{shape}\left(#1\right)", node.inputs)

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Return the array's shape."""
        output_storage[0][0] = np.array(inputs[0].shape, LENGTH)

    def known_values(self, node: TensorNode, known: Callable[[Variable], Known]) -> Known:
        """Return the lengths that are part of the type."""
        return list(node.inputs[0].type.shape)

    def influence_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that a shape does not depend on the elements."""
        return self.connection_pattern(node)

    def vectorize_node(self, node: TensorNode, x: TensorVariable) -> TensorVariable:
        """Return the shape behind the batch: it is the same for all of it, so that its lengths stay scalars."""
        shape: TensorVariable = self(x)
        return shape[batch_ndim(node.inputs[0], x) :]


@static_op
class ShapeI(Natural, TensorOp):
    """The length of one dimension, as an int64 scalar."""

    axis: int

    integer_fields = ("axis",)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a scalar type."""
        (x,) = types
        if not 0 <= self.axis < getattr(x, "ndim", 0):
            normalize_axis("shape_i", self.axis, getattr(x, "ndim", 0))
        return [TensorType(LENGTH, ())]

    def printed_form(self, node: Apply) -> Form:
        """Write ``x.shape[0]``."""
        form = Form.member(node.inputs[0], f".shape[{self.axis}]")
        return form.in_latex(rf"\operatorname{{len}}_{{{self.axis}}}\left(#1\right)", node.inputs)

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Return one length."""
        output_storage[0][0] = np.array(inputs[0].shape[self.axis], LENGTH)

    def known_values(self, node: TensorNode, known: Callable[[Variable], Known]) -> Known:
        """Return the length, if it is part of the type."""
        return [node.inputs[0].type.shape[self.axis]]

    def influence_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that a length does not depend on the elements."""
        return self.connection_pattern(node)

    def vectorize_node(self, node: TensorNode, x: TensorVariable) -> TensorVariable:
        """Return the length of the dimension behind the batch."""
        return shape_i(x, self.axis + batch_ndim(node.inputs[0], x))


def shape(x: TensorLike) -> TensorVariable:
    """Return the shape of a tensor as a vector of int64.

    Examples
    --------
    >>> tt.shape(np.ones((2, 3))).eval()
    array([2, 3])
    """
    result: TensorVariable = Shape()(x)
    return result


def shape_i(x: TensorLike, axis: int) -> TensorVariable:
    """Return the length of one dimension as an int64 scalar; a constant only for a constant (see `lengths`).

    Examples
    --------
    >>> tt.shape_i(np.ones((2, 3)), 1).eval()
    array(3)
    """
    var = as_tensor_variable(x)
    at = normalize_axis("shape_i", axis, var.ndim)
    if isinstance(var, Constant):
        return constant(var.data.shape[at], dtype=LENGTH)
    result: TensorVariable = length_op(at)(var)
    return result


@lru_cache(maxsize=256)
def length_op(axis: int) -> ShapeI:
    """Return an op that graphs have again and again: one object need be checked, hashed and numbered once."""
    return ShapeI(axis)


_MEMO: ContextVar[dict[TensorVariable, list[TensorVariable]] | None] = ContextVar("treadle.lengths", default=None)


@contextmanager
def shared_lengths() -> Iterator[None]:
    """Return a context in which `lengths` makes those of one variable once: gradients ask for them all the time."""
    token = _MEMO.set({})
    try:
        yield
    finally:
        _MEMO.reset(token)


def lengths(x: TensorLike) -> list[TensorVariable]:
    """Return the length of every dimension as a list of int64 scalars.

    A length that is part of the type is an expression of the tensor like any other: a tensor of another length may be
    put in its place later. `static_lengths` gives it for now, and rewriting makes it a number.
    """
    var = as_tensor_variable(x)
    memo = _MEMO.get()
    scalars = None if memo is None else memo.get(var)
    if scalars is None:
        if isinstance(var, Constant):
            scalars = [constant(n, dtype=LENGTH) for n in var.data.shape]
        else:
            scalars = [length_op(d)(var) for d in range(var.type.ndim)]
        if memo is not None:
            memo[var] = scalars
    return list(scalars)


def as_lengths(what: str, argument: TensorLike) -> list[TensorVariable]:
    """Return a shape argument as int64 scalars: an integer, a sequence of these, or a vector of known length."""
    if isinstance(argument, list | tuple | range) or (isinstance(argument, np.ndarray) and argument.ndim == 1):
        items = list(argument)
    else:
        var = as_tensor_variable(argument)
        if var.ndim == 0:
            items = [argument]
        elif var.ndim == 1 and var.type.shape[0] is not None:
            items = _elements(var, var.type.shape[0])
        else:
            msg = f"{what}: a shape of known length is needed, got {text_of(argument)} of type {var.type}. List them."
            raise TensorTypeError(msg)
    result = []
    for item in items:
        known = known_integer(item)
        var = constant(known, dtype=LENGTH) if known is not None else as_tensor_variable(item)
        if var.ndim != 0 or var.type.numpy_dtype.kind not in "iu":
            msg = f"{what}: lengths must be integer scalars, got {text_of(item)} of type {var.type}. Cast it to int64."
            raise TensorTypeError(msg)
        result.append(var if var.dtype == LENGTH else var.astype(LENGTH))
    return result


def _elements(var: TensorVariable, count: int) -> list[TensorLike]:
    """Return the elements of a vector of lengths."""
    if isinstance(var, Constant):
        return var.data.tolist()  # type: ignore[no-any-return]  # of a vector of integers
    if var.owner is not None and isinstance(var.owner.op, Shape):
        return list(lengths(var.owner.inputs[0]))
    return [var[i] for i in range(count)]


def static_lengths(variables: Sequence[Variable]) -> tuple[int | None, ...]:
    """Return each length as far as the types give it, else None.

    That is for types, which are inferred again when another tensor is put in place, and for errors. What is built must
    not depend on it.
    """
    return tuple(known_value(v) for v in variables)


def length_inputs(op: Op, inputs: Sequence[Variable]) -> None:
    """Check that the inputs of an op that are lengths are integer scalars."""
    for var in inputs:
        kind = var.type
        if not isinstance(kind, TensorType) or kind.ndim or kind.numpy_dtype.kind not in "iu":
            msg = f"{op}: a length must be an integer scalar, got {var} of type {kind}. Pass each length by itself."
            raise TensorTypeError(msg)


@static_op
class Reshape(TensorOp):
    """The same elements, in C order, in another shape; the result may be a view.

    Inputs: the tensor, then one int64 scalar for each dimension of the result; one of them may be -1.
    """

    linear = "jointly"

    ndim: int

    view_map = {0: [0]}  # noqa: RUF012 - the contract of Op
    static_inputs = LENGTHS_AFTER_FIRST
    smooth_count = 1
    _output_type_depends_on_input_value = True
    integer_fields = ("ndim",)

    def make_node(self, *inputs: object) -> Apply:
        """Return the node; a shape whose lengths are constant becomes part of the type."""
        x, *shape = (self.as_input(v) for v in inputs)
        length_inputs(self, shape)
        return Apply(self, [x, *shape], [self._result_type(x, shape).make_variable()])

    def _result_type(self, x: Variable, shape: Sequence[Variable]) -> TensorType:
        kind = x.type
        if not isinstance(kind, TensorType) or len(shape) != self.ndim:
            msg = f"{self}: a tensor and {self.ndim} lengths are needed, got {x} and {len(shape)} lengths."
            raise TensorTypeError(msg)
        target = static_lengths(shape)
        if sum(n == -1 for n in target) > 1 or any(n is not None and n < -1 for n in target):
            msg = f"{self}: lengths must be 0 or more, and one of them may be -1, got {target}."
            raise ShapeError(msg)
        size = None if None in kind.shape else math.prod(n for n in kind.shape if n is not None)
        known = [n for n in target if n not in {None, -1}]
        product = math.prod(n for n in known if n is not None)
        free = len(target) - len(known)
        fits = size is None or (size == product if free == 0 else (product > 0 and size % product == 0) or size == 0)
        if not fits:
            msg = f"{self}: {size} elements of {x} of type {kind} do not fit shape {target}. Check the lengths."
            raise ShapeError(msg)
        if free == 1 and size is not None and product > 0:
            target = tuple(size // product if n in {None, -1} else n for n in target)
        return TensorType(kind.dtype, tuple(None if n == -1 else n for n in target))

    def printed_form(self, node: Apply) -> Form:
        """Write ``x.reshape(2, -1)``."""
        x, *sizes = node.inputs
        return Form.method(x, "reshape", sizes or ["()"])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Return the array in the other shape."""
        x, *shape = inputs
        output_storage[0][0] = x.reshape([int(n) for n in shape])

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the lengths that are given, and what is left for -1."""
        requested = [shapes.of_scalar(x) for x in node.inputs[1:]]
        result = list(requested)
        size = shapes.of(node.inputs[0])
        for d, n in enumerate(requested):
            if not shapes.is_natural(n):
                inferred = shapes.divided(size, [other for i, other in enumerate(requested) if i != d])
                result[d] = inferred if shapes.value(n) == -1 else shapes.atom("either", n, inferred)
        return result

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Give the cotangent the input's shape."""
        x = inputs[0]
        back = reshape(cotangents[0], lengths(x), ndim=getattr(x, "ndim", 0))
        return [back, *(None for _ in inputs[1:])]


def reshape(
    x: TensorLike, newshape: TensorLike, ndim: int | None = None, *, order: Literal["C", "F"] = "C"
) -> TensorVariable:
    """Give a tensor another shape with the same elements (as numpy.reshape).

    Parameters
    ----------
    x
        A tensor.
    newshape
        Integers or integer scalars, one of them may be -1; or a vector of them.
    ndim
        Rank of the result, needed for a vector of unknown length.
    order
        Which index of either tensor runs fastest: the last with ``"C"``, the first with ``"F"``.

    Raises
    ------
    ShapeError
        If the static shapes show that the number of elements differs.

    Examples
    --------
    >>> tt.reshape([1, 2, 3, 4], (2, -1)).eval()
    array([[1, 2],
           [3, 4]])
    """
    var = as_tensor_variable(x)
    rank = None if ndim is None else as_rank("reshape: ndim", ndim)
    if rank is not None and not isinstance(newshape, list | tuple):
        vector = as_tensor_variable(newshape)
        newshape = [vector[i] for i in range(rank)] if vector.ndim == 1 else [newshape]
    sizes = as_lengths("reshape", newshape)
    if rank is not None and len(sizes) != rank:
        msg = f"reshape: ndim is {rank}, but {len(sizes)} lengths are given. Make them agree."
        raise ShapeError(msg)
    result: TensorVariable
    if as_choice("reshape: order", order, ("C", "F")) == "F":
        result = Reshape(len(sizes))(var.transpose(), *reversed(sizes))
        return result.transpose()
    result = Reshape(len(sizes))(var, *sizes)
    return result


def flatten(x: TensorLike, ndim: SupportsIndex = 1) -> TensorVariable:
    """Return the tensor with all dimensions from the `ndim`-th on joined into one.

    Examples
    --------
    >>> tt.flatten([[1, 2], [3, 4]]).eval()
    array([1, 2, 3, 4])
    """
    var = as_tensor_variable(x)
    rank = as_integer("flatten: ndim", ndim)
    if not 1 <= rank <= max(var.ndim, 1):
        msg = f"flatten: ndim must lie between 1 and {max(var.ndim, 1)}, got {rank}. Pass one of these."
        raise ShapeError(msg)
    kept = lengths(var)
    last = -1 if rank == 1 else product_of(kept[rank - 1 :])
    return reshape(var, [*kept[: rank - 1], last], ndim=rank)


def product_of(items: Sequence[TensorVariable]) -> Any:
    """Return how many elements dimensions of these lengths have together; 1 without dimensions."""
    known = [as_index(n) for n in items]
    result: Any = math.prod(n for n in known if n is not None)
    for item, n in zip(items, known, strict=True):
        if n is None:
            result = item if result == 1 else result * item
    return result
