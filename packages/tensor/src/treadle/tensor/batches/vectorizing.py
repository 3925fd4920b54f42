"""What the rules of ops leave out when they are vectorised: ops without a rule, and results without a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.arguments.signatures import safe_signature
from treadle.tensor.batches.batching import complete
from treadle.tensor.batches.blockwise import Blockwise
from treadle.tensor.batches.reshaping import vectorize_reshape
from treadle.tensor.shapes.shape import Reshape
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from treadle.graph import Apply, Op, VectorizerTable
    from treadle.tensor.variables.variable import TensorNode, TensorVariable


def in_a_loop(op: Op, node: TensorNode, *inputs: TensorVariable) -> Apply:
    """Apply an op that knows nothing of batches to one part after another."""
    ranks = [[x.ndim for x in side] for side in (node.inputs, node.outputs)]
    return Blockwise(op, safe_signature(*ranks)).make_node(*inputs)


def register(table: VectorizerTable) -> None:
    """Register the rules that no method of an op says, and how tensors get the batch dimensions that they lack."""
    table.register(Reshape)(vectorize_reshape)
    table.register_completion(TensorType)(complete)
    table.register_default(TensorType)(in_a_loop)
