"""Matrix products along a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.tensor.product import Gemm, MatMul
from treadle.tensor.scalar.arithmetic import add, mul
from treadle.tensor.vectorize.batching import aligned, most_batch

if TYPE_CHECKING:
    from treadle.graph import Apply, VectorizerTable


def vectorize_matmul(op: MatMul, node: Apply, *inputs: Any) -> Apply:
    """Multiply: batch dimensions are further dimensions of the stacks."""
    pairs = list(zip(node.inputs, inputs, strict=True))
    batch = most_batch(pairs)
    return op.make_node(*(aligned(old, new, batch) for old, new in pairs))


def vectorize_gemm(op: Gemm, node: Apply, *inputs: Any) -> Any:
    """Write out what BLAS has for single matrices only."""
    del op
    pairs = list(zip(node.inputs, inputs, strict=True))
    batch = most_batch(pairs)
    c, alpha, a, b, beta = (aligned(old, new, batch, 2) for old, new in pairs)
    return add(mul(beta, c), mul(alpha, MatMul()(a, b)))


def register(table: VectorizerTable) -> None:
    """Register the rules."""
    table.register(MatMul)(vectorize_matmul)
    table.register(Gemm)(vectorize_gemm)
