"""Matrix products."""

from __future__ import annotations

import torch

from treadle.link.torch.programs.storage import converter, kind, to_output_dtype, working
from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import MatMul, TensorNode


@TORCH.register(MatMul)
def matmul(op: MatMul, node: TensorNode) -> Lowered:
    """Lower to torch.matmul; integers and bool are multiplied in int64, float16 in float32, and rounded once."""
    out = node.outputs[0].type
    if kind(out.dtype) in "fc" and {out.dtype, *(x.type.dtype for x in node.inputs)} == {working(out.dtype)}:
        # Without frames of Python around it. It refuses inner lengths that differ.
        plain: Lowered = torch.matmul
        return plain
    dtype = "int64" if kind(out.dtype) in "bi" else working(out.dtype)
    left, right = (converter(x.type.dtype, dtype) for x in node.inputs)
    to_output = converter("int64", "bool") if out.dtype == "bool" else to_output_dtype(out.dtype)

    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        if a.shape[-1] != b.shape[-2]:
            msg = "the inner lengths differ"
            raise ValueError(msg)
        return to_output(torch.matmul(left(a), right(b)))

    return run
