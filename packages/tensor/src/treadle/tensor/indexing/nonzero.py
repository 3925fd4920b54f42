"""What a mask picks: the check of its lengths, and the positions of its true elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Apply, static_op
from treadle.tensor.control.assertion import CheckAndRaise
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.errors import IndexingError, TensorTypeError
from treadle.tensor.ops.tensor_op import Discrete, Natural, TensorOp
from treadle.tensor.shapes.batch_dims import refuse_batched
from treadle.tensor.shapes.shape import LENGTH, lengths
from treadle.tensor.types.conversion import tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Type, Variable
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

__all__ = ["CheckMask", "Nonzero"]


_OF_LENGTHS = CheckAndRaise(IndexError, "a mask is given for dimensions of other lengths")


@static_op
class CheckMask(Discrete, TensorOp):
    """A mask as it is, where it is as long as the dimensions that it picks from; else an IndexError.

    Inputs are the mask and, for each of its last dimensions, the length that it must have.
    """

    view_map = {0: [0]}  # noqa: RUF012 - the contract of Op

    def make_node(self, *inputs: object) -> Apply:
        """Return the node."""
        mask, *lengths = (self.as_input(v) for v in inputs)
        if mask.dtype != "bool" or mask.ndim < len(lengths):
            msg = f"{self}: a boolean mask of rank {len(lengths)} or more is needed, got {mask} of type {mask.type}."
            raise IndexingError(msg)
        return Apply(self, [mask, *lengths], [mask.type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Compare the lengths."""
        mask, *lengths = inputs
        batch = mask.ndim - len(lengths)
        for d, (n, length) in enumerate(zip(mask.shape[batch:], lengths, strict=True)):
            if n != length:
                msg = f"a mask of length {n} in its dimension {d} is given for a dimension of length {int(length)}"
                raise IndexError(msg)
        output_storage[0][0] = mask

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Check the lengths with `CheckAndRaise`."""
        mask, *wanted = tensors(inputs)
        own = lengths(mask)[mask.ndim - len(wanted) :]
        return [_OF_LENGTHS(mask, *(eq(n, length) for n, length in zip(own, wanted, strict=True)))]

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the mask's lengths."""
        return shapes.of(node.inputs[0])

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> TensorVariable:
        """Check the last dimensions of all masks of a batch at once."""
        refuse_batched(zip(node.inputs[1:], inputs[1:], strict=True), "the lengths that a mask must have")
        checked: TensorVariable = self(*inputs)
        return checked


@static_op
class Nonzero(Natural, TensorOp):
    """Positions of the true elements of a mask, in C order: a vector of int64 for each dimension."""

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a vector type for each dimension."""
        (mask,) = types
        if not isinstance(mask, TensorType) or mask.dtype != "bool" or not mask.ndim:
            msg = f"{self}: a boolean tensor of rank 1 or more is needed, got one of type {mask}."
            raise TensorTypeError(msg)
        return [TensorType(LENGTH, (0 if 0 in mask.shape else None,)) for _ in mask.shape]

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Search with NumPy."""
        for cell, positions in zip(output_storage, np.nonzero(inputs[0]), strict=True):
            cell[0] = np.ascontiguousarray(positions, LENGTH)

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return a length that all results share, known only when the program runs."""
        return [shapes.atom("length", node.outputs[0], 0)]

    def vectorize_node(self, node: TensorNode, mask: TensorVariable) -> Apply:
        """Refuse masks that differ: each would pick another number of elements.

        Raises
        ------
        VectorizeError
            If the mask has batch dimensions.
        """
        refuse_batched([(node.inputs[0], mask)], "the number of elements that a mask picks")
        return self.make_node(mask)
