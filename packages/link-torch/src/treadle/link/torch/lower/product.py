"""Matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from treadle.link.torch.storage import converted, converter, kind, to_output_dtype, working
from treadle.link.torch.table import TORCH
from treadle.tensor import Gemm, MatMul

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@TORCH.register(MatMul)
def matmul(op: MatMul, node: Apply) -> Callable[..., Any]:
    """Lower to torch.matmul; integers and bool are multiplied in int64, float16 in float32, and rounded once."""
    del op
    out: Any = node.outputs[0].type
    kinds: list[Any] = [x.type for x in node.inputs]
    dtype = "int64" if kind(out.dtype) in "bi" else working(out.dtype)
    conversions = [converter(t.dtype, dtype) for t in kinds]
    to_output = converter("int64", "bool") if out.dtype == "bool" else to_output_dtype(out.dtype)

    def run(a: Any, b: Any) -> Any:
        if a.shape[-1] != b.shape[-2]:
            msg = "the inner lengths differ"
            raise ValueError(msg)
        return converted(torch.matmul(converted(a, conversions[0]), converted(b, conversions[1])), to_output)

    return run


@TORCH.register(Gemm)
def gemm(op: Gemm, node: Apply) -> Callable[..., Any]:
    """Lower to a product, scaled and added."""
    del op, node

    def run(c: Any, alpha: Any, a: Any, b: Any, beta: Any) -> Any:
        return beta * c + alpha * torch.matmul(a, b)

    return run
