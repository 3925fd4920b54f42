"""Documented ops that make tensors of scalars: MakeVector and AllocEmpty. `stack` and `empty` make other ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Apply, Form, static_op
from treadle.tensor.arrangement.array_functions import empty
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.joins.common_shapes import broadcast_arrays
from treadle.tensor.joins.joining import stack
from treadle.tensor.ops.tensor_op import Derivatives, Discrete, TensorOp, Variables
from treadle.tensor.shapes.batch_dims import refuse_batched
from treadle.tensor.shapes.shape import LENGTHS_AFTER_FIRST, as_lengths, static_lengths
from treadle.tensor.types.conversion import as_tensor_variable, constant, cotangent_of, is_smooth, tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import FunctionGraph, Variable
    from treadle.tensor.ops.known_values import Known
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = ["AllocEmpty", "MakeVector", "make_vector"]


@static_op
class MakeVector(TensorOp):
    """A vector of scalars.

    Parameters
    ----------
    dtype
        Dtype of the vector, which the scalars are converted to; one that holds them.
    """

    linear = "jointly"
    linear_count = None

    dtype: str = "int64"

    dtype_fields = ("dtype",)

    def make_node(self, *inputs: TensorLike) -> Apply:
        """Return the node.

        Raises
        ------
        TensorTypeError
            If an input is no scalar, or the dtype does not hold it.
        """
        scalars = [as_tensor_variable(x) for x in inputs]
        common = np.result_type(self.dtype, *(x.type.numpy_dtype for x in scalars))
        if common != np.dtype(self.dtype) or any(x.ndim for x in scalars):
            got = ", ".join(f"{x} of type {x.type}" for x in scalars)
            msg = f"{self}: scalars that {self.dtype} holds are needed, got {got}. Cast them, or use stack."
            raise TensorTypeError(msg)
        parts = [cast(x, self.dtype) for x in scalars]
        return Apply(self, parts, [TensorType(self.dtype, (len(parts),)).make_variable()])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Put the numbers into an array."""
        output_storage[0][0] = np.array(inputs, self.dtype)

    def printed_form(self, node: Apply) -> Form:
        """Write ``make_vector(x, y)``."""
        return Form.call("make_vector", node.inputs)

    def known_values(self, node: Apply, known: Callable[[Variable], Known]) -> Known:
        """Return the scalars that are known."""
        return [(known(x) or [None])[0] for x in node.inputs]

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the number of scalars."""
        return [shapes.fixed(len(node.inputs))]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Stack the scalars."""
        return [stack(tensors(inputs)) if inputs else constant(np.empty(0, self.dtype))]

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> TensorVariable:
        """Stack along a last dimension, behind the batch that the scalars broadcast to."""
        return stack(broadcast_arrays(*inputs), axis=-1) if inputs else self()

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Give each scalar its element of the cotangent."""
        (ct,) = tensors(cotangents)
        return [cotangent_of(x, ct[i]) if is_smooth(x) else None for i, x in enumerate(tensors(inputs))]


def make_vector(*scalars: TensorLike) -> TensorVariable:
    """Return a vector of scalars, in the dtype that holds all of them."""
    variables = [as_tensor_variable(x) for x in scalars]
    dtype = np.result_type(*(x.type.numpy_dtype for x in variables)) if variables else np.dtype("int64")
    vector: TensorVariable = MakeVector(dtype.name)(*variables)
    return vector


@static_op
class AllocEmpty(Discrete, TensorOp):
    """A new array of given lengths, whose values do not matter: zeros.

    Inputs: one int64 scalar for each dimension.

    Parameters
    ----------
    dtype
        Dtype of the array.
    """

    dtype: str

    dtype_fields = ("dtype",)
    static_inputs = (0, *LENGTHS_AFTER_FIRST)
    _output_type_depends_on_input_value = True

    def make_node(self, *inputs: TensorLike) -> Apply:
        """Return the node; lengths that are constant become part of the type."""
        lengths = as_lengths(str(self), list(inputs))
        return Apply(self, lengths, [TensorType(self.dtype, static_lengths(lengths)).make_variable()])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Return a new array."""
        output_storage[0][0] = np.zeros([int(n) for n in inputs], self.dtype)

    def printed_form(self, node: Apply) -> Form:
        """Write ``alloc_empty(n, m, dtype=float64)``."""
        return Form.call("alloc_empty", node.inputs, {"dtype": self.dtype})

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the lengths that are given."""
        return [shapes.given(x) for x in tensors(node.inputs)]

    def do_constant_folding(self, fgraph: FunctionGraph | None, node: Apply) -> bool:
        """Keep the node, as documented: programs that read loops look for it at the start of a loop's states."""
        return False

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Fill with zeros."""
        return [empty(list(tensors(inputs)), self.dtype)]

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Apply:
        """Return the node of the same lengths, which all of a batch must share."""
        refuse_batched(zip(node.inputs, inputs, strict=True), "lengths")
        return self.make_node(*inputs)
