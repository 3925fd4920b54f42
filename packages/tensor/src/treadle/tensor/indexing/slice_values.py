"""Slices as values of graphs: slices of variables, and the bounds by which a slice picks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import alias, text_of
from treadle.graph import Apply, Op, Variable, static_op
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.ops.tensor_op import Discrete
from treadle.tensor.shapes.batch_dims import refuse_batched
from treadle.tensor.shapes.shape import LENGTH
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.none_and_slices import NoneConst, NoneTypeT, SliceConstant, SliceType, slicetype
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Cell, Value
    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["MakeSlice", "SliceBounds", "make_slice"]


class _OfSlices(Discrete, Op):
    """Base of ops that take or make slices."""

    def vectorize_node(self, node: Apply, *inputs: Variable) -> Apply:
        """Return the node of the op again: its numbers must be the same for the whole batch."""
        pairs = ((a, b) for a, b in zip(node.inputs, inputs, strict=True) if isinstance(a.type, TensorType))
        refuse_batched(pairs, "the bounds of slices")  # type: ignore[arg-type]  # tensors
        return self.make_node(*inputs)


@static_op
class MakeSlice(_OfSlices):
    """A slice from start, stop and step: integers, integer scalars or None."""

    def make_node(self, *inputs: object) -> Apply:
        """Return the node for bounds, or for a slice that holds them; those that are left out are None."""
        arguments = list(inputs)
        if len(arguments) == 1 and isinstance(arguments[0], slice):
            arguments = [arguments[0].start, arguments[0].stop, arguments[0].step]
        if not 1 <= len(arguments) <= 3:
            msg = f"make_slice: start, stop and step are needed, got {len(arguments)} arguments. Leave some out."
            raise TensorTypeError(msg)
        bounds = [_as_bound(x) for x in (*arguments, None, None)[:3]]
        return Apply(self, bounds, [slicetype.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Make the slice."""
        output_storage[0][0] = slice(*(None if x is None else int(x) for x in inputs))


make_slice = alias(MakeSlice(), "make_slice")


def _as_bound(value: object) -> Variable:
    """Return a bound of a slice as a variable."""
    if value is None or (isinstance(value, Variable) and isinstance(value.type, NoneTypeT)):
        return NoneConst
    var = as_tensor_variable(value)  # type: ignore[arg-type]  # refuses anything else
    if var.ndim or var.type.numpy_dtype.kind not in "iu":
        msg = f"make_slice: bounds are integers, integer scalars or None, got {text_of(value)} of type {var.type}."
        raise TensorTypeError(msg)
    return var


@static_op
class SliceBounds(_OfSlices):
    """Start, stop and step by which a slice picks from a dimension of some length, as int64 scalars.

    They mean the same between brackets: a slice that goes down to the first element has a stop below every position.
    """

    def make_node(self, *inputs: object) -> Apply:
        """Return the node for a slice and a length."""
        picked, n = inputs
        if not isinstance(picked, Variable) or not isinstance(picked.type, SliceType):
            msg = f"{self}: a slice is needed, got {text_of(picked)}. Make one with make_slice."
            raise TensorTypeError(msg)
        length = as_tensor_variable(n)  # type: ignore[arg-type]  # refuses anything else
        return Apply(self, [picked, length], [TensorType(LENGTH, ()).make_variable() for _ in range(3)])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Count positions from the start."""
        picked, n = inputs
        start, stop, step = picked.indices(int(n))
        for cell, value in zip(output_storage, (start, stop if stop >= 0 else -int(n) - 1, step), strict=True):
            cell[0] = np.array(value, LENGTH)


def opened(value: Variable, n: TensorVariable) -> slice:
    """Return a variable slice of a dimension of length n as a slice of variables."""
    if isinstance(value, SliceConstant):
        result: slice = value.data
        return result
    node = value.owner
    if node is not None and isinstance(node.op, MakeSlice):
        return slice(*(None if isinstance(x.type, NoneTypeT) else x for x in node.inputs))
    return slice(*SliceBounds().make_node(value, n).outputs)
