"""What the rules of ops leave out when they are vectorised: ops without a rule, and results without a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import lazy_module
from treadle.tensor.arguments.signatures import safe_signature
from treadle.tensor.batches.batching import complete
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from treadle.graph import Apply, Op, VectorizerTable
    from treadle.tensor.batches import blockwise
    from treadle.tensor.variables.variable import TensorNode, TensorVariable
else:
    # It is for ops of other packages.
    blockwise = lazy_module("treadle.tensor.batches.blockwise")


def in_a_loop(op: Op, node: TensorNode, *inputs: TensorVariable) -> Apply:
    """Apply an op that knows nothing of batches to one part after another."""
    ranks = [[x.ndim for x in side] for side in (node.inputs, node.outputs)]
    return blockwise.Blockwise(op, safe_signature(*ranks)).make_node(*inputs)


def register(table: VectorizerTable) -> None:
    """Register how tensors get the batch dimensions that they lack; the rules are methods of the ops."""
    table.register_completion(TensorType)(complete)
    table.register_default(TensorType)(in_a_loop)
