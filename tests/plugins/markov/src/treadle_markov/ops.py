"""NormalizeRows: the op and its function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import treadle.tensor as tt
from treadle.graph import Op, static_op

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, Type, Variable

__all__ = ["NormalizeRows", "normalize_rows"]

# What the op promises, tensor.assume states and the rules of this package ask for: no element is below 0, and each row
# sums to 1. It is about matrices.
tt.FACTS.add("row_stochastic")


@static_op
class NormalizeRows(Op):
    """Rows, along the last dimension, divided by their sums."""

    def as_input(self, value: Any) -> Variable:
        """Take anything that can be made a tensor."""
        return tt.as_tensor_variable(value)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type: float32 or float64, with at least one dimension."""
        (kind,) = types
        if not isinstance(kind, tt.TensorType) or kind.ndim == 0 or kind.dtype not in {"float32", "float64"}:
            msg = f"normalize_rows: rows of float32 or float64 are needed, got {kind}. Cast or reshape it."
            raise tt.TensorTypeError(msg)
        return [kind]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Divide with NumPy."""
        (x,) = inputs
        output_storage[0][0] = x / x.sum(axis=-1, keepdims=True)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> Sequence[Any]:
        """Return the input's shape."""
        return [shapes[0]]

    def vectorize_node(self, node: Apply, *inputs: Variable) -> Apply:
        """Apply the op: it takes any number of leading dimensions."""
        return self.make_node(*inputs)

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise rows of probabilities where no element of the input is below 0."""
        if fact not in {"row_stochastic", "nonnegative"} or output.owner is None:
            return False
        return holds("nonnegative", output.owner.inputs[0])

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Divide by the sums: what other backends compute, and what derivatives go through."""
        x = tt.as_tensor_variable(inputs[0])
        return [x / x.sum(axis=-1, keepdims=True)]


def normalize_rows(x: tt.TensorLike) -> tt.TensorVariable:
    """Return x with each row, along the last dimension, divided by its sum."""
    result: tt.TensorVariable = NormalizeRows()(x)
    return result
