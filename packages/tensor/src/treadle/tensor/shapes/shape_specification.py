"""SpecifyShape: lengths that are declared, and checked when the program runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import text_of
from treadle.graph import Apply, Constant, Form, Operand, static_op
from treadle.tensor.arguments.axes import normalize_axes
from treadle.tensor.arguments.values import as_items, known_integer
from treadle.tensor.errors import ShapeError, SpecifiedShapeError, TensorTypeError
from treadle.tensor.ops.fields import fix_axes
from treadle.tensor.ops.tensor_op import Derivatives, TensorOp, Variables
from treadle.tensor.shapes.batch_dims import batch_ndim, checked_lengths
from treadle.tensor.shapes.shape import LENGTH, LENGTHS_AFTER_FIRST, Shape, as_lengths, length_inputs, static_lengths
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.none_and_slices import NoneTypeT
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.ops.known_values import Known
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = ["SpecifyShape", "specify_broadcastable", "specify_shape"]


@static_op
class SpecifyShape(TensorOp):
    """The tensor itself, some of whose lengths are checked when the program runs and are part of the type if constant.

    Inputs: the tensor, then one int64 scalar for each of the axes.

    Parameters
    ----------
    axes
        The dimensions whose lengths are given. Without any, a node takes a length, or None, for every dimension, as
        ``SpecifyShape()(x, 2, None)``.
    """

    promises_structure = False

    linear = "jointly"

    axes: tuple[int, ...] = ()

    view_map = {0: [0]}  # noqa: RUF012 - the contract of Op
    static_inputs = LENGTHS_AFTER_FIRST
    smooth_count = 1
    # Inputs that the shape depends on.
    shape_inputs = slice(None)
    _output_type_depends_on_input_value = True

    def __post_init__(self) -> None:
        """Bring the fields to one form."""
        fix_axes(self)

    def make_node(self, *inputs: object) -> Apply:
        """Return the node; lengths that are constant become part of the type."""
        if len(inputs) > 1 and not self.axes:
            given = [d for d, n in enumerate(inputs[1:]) if not _is_none(n)]
            if getattr(self.as_input(inputs[0]), "ndim", None) == len(inputs) - 1 and given:
                return replace(self, axes=tuple(given)).make_node(inputs[0], *[inputs[1 + d] for d in given])
        x, *sizes = (self.as_input(v) for v in inputs)
        length_inputs(self, sizes)
        if len(sizes) != len(self.axes) or any(not 0 <= d < x.ndim for d in self.axes):
            msg = (
                f"{self}: a tensor with these axes and a length for each are needed, got {', '.join(map(str, inputs))}."
            )
            raise TensorTypeError(msg)
        shape = list(x.type.shape)
        for d, n in zip(self.axes, static_lengths(sizes), strict=True):
            if n is not None and (n < 0 or shape[d] not in {None, n}):
                msg = (
                    f"specify_shape: {x} of type {x.type} cannot have length {n} in dimension {d}. Give the length "
                    "that it has, or None."
                )
                raise ShapeError(msg)
            shape[d] = shape[d] if n is None else n
        return Apply(self, [x, *sizes], [TensorType(x.dtype, tuple(shape)).make_variable()])

    def printed_form(self, node: Apply) -> Form:
        """Write ``specify_shape(x, (3, None))``."""
        x, *sizes = node.inputs
        by_axis = dict(zip(self.axes, sizes, strict=True))
        parts: list[str | Operand] = []
        for d in range(getattr(x.type, "ndim", 0)):
            parts += [", "] * (d > 0)
            parts.append(Operand(by_axis[d]) if d in by_axis else "None")
        end = ",))" if len(parts) == 1 else "))"
        return Form(["specify_shape(", Operand(x), ", (", *parts, end])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Check the lengths."""
        x, *sizes = inputs
        for d, n in zip(self.axes, sizes, strict=True):
            if x.shape[d] != n:
                raise self.error(x.shape, sizes, d)
        output_storage[0][0] = x

    def error(self, shape: Sequence[int], sizes: Sequence[Any], axis: int) -> SpecifiedShapeError:
        """Return the error for a tensor whose length along one of the axes is another than was said."""
        by_axis = {d: int(n) for d, n in zip(self.axes, sizes, strict=True)}
        specified = tuple(by_axis.get(d) for d in range(len(shape)))
        msg = f"dimension {axis} must have length {by_axis[axis]}, got shape {tuple(shape)}, expected {specified}"
        return SpecifiedShapeError(msg)

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise what holds for the tensor."""
        return output.owner is not None and holds(fact, output.owner.inputs[0])

    def known_values(self, node: Apply, known: Callable[[Variable], Known]) -> Known:
        """Return the tensor's elements."""
        return known(node.inputs[0])

    def symbolic_shape(self, node: TensorNode, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the tensor's own lengths; those that are constant are part of the type."""
        return shapes.of(node.inputs[0])

    def vectorize_node(self, node: TensorNode, x: TensorVariable, *sizes: TensorVariable) -> Apply:
        """Check the lengths behind the batch."""
        batch = batch_ndim(node.inputs[0], x)
        checked = checked_lengths(node, sizes)
        return SpecifyShape(tuple(d + batch for d in self.axes)).make_node(x, *checked)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Pass the cotangent on."""
        return [cotangents[0], *(None for _ in inputs[1:])]

    def __str__(self) -> str:
        return f"SpecifyShape{{{', '.join(map(str, self.axes))}}}"


def _is_none(length: object) -> bool:
    """Whether a length is left open: None, or the constant for it."""
    return length is None or isinstance(getattr(length, "type", None), NoneTypeT)


def specify_shape(x: TensorLike, shape: TensorLike | Sequence[TensorLike | None] | None) -> TensorVariable:
    """Return a tensor with declared lengths: they are checked when the program runs, constant ones are known at once.

    Where tracing backends know the shape earlier, they check it earlier.

    Parameters
    ----------
    x
        A tensor.
    shape
        For each dimension its length, an integer or an integer scalar, or None for an unknown one; one
        length for a vector; or a vector of known length.

    Raises
    ------
    ShapeError
        If the number of lengths is not the rank, or a length is known to be another one.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> tt.specify_shape(tt.matrix("x"), (None, 3)).type.shape
    (None, 3)
    """
    var = as_tensor_variable(x)
    if shape is None or known_integer(shape) is not None:
        items: list[TensorLike | None] = [shape]  # type: ignore[list-item]  # an integer or None
    elif isinstance(shape, list | tuple):
        items = list(shape)
    else:
        items = list(as_lengths("specify_shape", shape))  # type: ignore[arg-type]  # refuses anything else
    if len(items) != var.ndim:
        msg = (
            f"specify_shape: {var.ndim} lengths are needed for {var} of type {var.type}, got {text_of(shape)}. Give "
            "None for those that are not known."
        )
        raise ShapeError(msg)
    # None may also be a constant of the graph.
    specified = [
        (d, n) for d, n in enumerate(items) if n is not None and not (isinstance(n, Constant) and n.data is None)
    ]
    axes = [d for d, _ in specified]
    sizes = as_lengths("specify_shape", [n for _, n in specified])
    if not specified:
        return var
    result: TensorVariable = SpecifyShape(tuple(axes))(var, *sizes)
    return result


def held(x: TensorVariable, *axes: int) -> TensorVariable:
    """Return a tensor whose static lengths in some dimensions are fixed: replacements of other lengths are refused.

    What is built must not depend on static lengths, since a tensor of other lengths may be put in place of this one.
    Where it has to, as where a Python list of parts is made, it is built of this: other lengths are refused. A shape
    has as many elements whatever is put in place of its tensor, since ranks are kept.
    """
    if x.owner is not None and isinstance(x.owner.op, Shape):
        return x
    known = {d % x.ndim: x.type.shape[d] for d in axes}
    sizes = [constant(n, dtype=LENGTH) for n in known.values() if n is not None]
    result: TensorVariable = SpecifyShape(tuple(known))(x, *sizes)
    return result


def specify_broadcastable(x: TensorLike, *axes: int | Sequence[int]) -> TensorVariable:
    """Return a tensor declared to have length 1 in some dimensions (see `specify_shape`).

    Raises
    ------
    AxisError
        If an axis is out of range or named twice.

    Examples
    --------
    >>> tt.specify_broadcastable(tt.dmatrix("x"), 0).type.shape
    (1, None)
    """
    var = as_tensor_variable(x)
    named = axes[0] if len(axes) == 1 and isinstance(axes[0], list | tuple) else axes
    ones = normalize_axes("specify_broadcastable", tuple(as_items("specify_broadcastable: the axes", named)), var.ndim)
    return specify_shape(var, [1 if d in ones else None for d in range(var.ndim)])
