"""Block diagonal matrices."""

from __future__ import annotations

from treadle.link.numba import TABLE, GraphWriter
from treadle.tensor import TensorNode
from treadle.tensor.linalg.lower.numba.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices
from treadle.tensor.linalg.structured.block_diagonal import BlockDiagonal

# The rules take complex numbers too.
TAKES_COMPLEX = True


@TABLE.register(BlockDiagonal)
def lower_block_diagonal(op: BlockDiagonal, node: TensorNode, writer: GraphWriter) -> None:
    """Fill the result with zeros, then copy the blocks into it."""
    each = range(op.n_inputs)
    rows, columns = (" + ".join(f"{name}{k}" for k in each) for name in "mn")
    lines = [
        f"width = {columns}",
        f"for i in range(({rows}) * width):",
        f"    whole[i] = {writer.storage(node.outputs[0]).memory}(0)",
        "start = 0",
    ]
    for k in each:
        lines += [
            f"for i in range(m{k}):",
            f"    for j in range(n{k}):",
            f"        whole[start + i * width + j] = block{k}[i * n{k} + j]",
            f"start = start + m{k} * width + n{k}",
        ]
    operands = [MatrixOperand(f"block{k}") for k in each]
    write_matrices(
        op, node, writer, MatrixBody(operands=operands, results=[MatrixResult("whole")], text="\n".join(lines))
    )
