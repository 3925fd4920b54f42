"""Accumulations."""

from __future__ import annotations

from collections.abc import Callable

import torch

from treadle.graph import Apply
from treadle.link.torch.programs.storage import SIGN_BIT, converter, kind, to_output_dtype, working
from treadle.link.torch.table import TORCH
from treadle.tensor import Accumulation, tensors

# Of truth values a sum is "or", a product "and".
_OF_TRUTH = {"sum": "max", "prod": "min"}


def _run(x: torch.Tensor, what: str, axis: int) -> torch.Tensor:
    if what == "sum":
        return torch.cumsum(x, dim=axis)
    if what == "prod":
        return torch.cumprod(x, dim=axis)
    if what == "logaddexp":
        return torch.logcumsumexp(x, dim=axis)
    return (torch.cummax(x, dim=axis) if what == "max" else torch.cummin(x, dim=axis)).values


@TORCH.register(Accumulation)
def accumulation(op: Accumulation, node: Apply) -> Callable[[torch.Tensor], torch.Tensor]:
    """Lower to PyTorch's cumulative functions: integers in int64, for the result to wrap; float16 in float32."""
    dtype = working(op.dtype)
    first = converter(tensors(node.inputs)[0].type.dtype, dtype)
    last = converter(dtype, op.dtype)
    to_output, what, of = to_output_dtype(dtype), op.kind, kind(dtype)
    if of == "b":
        what = _OF_TRUTH.get(what, what)
    flipped = of == "u" and what in {"max", "min"}

    def run(x: torch.Tensor) -> torch.Tensor:
        values = first(x)
        if of == "b":
            return _run(values.to(torch.uint8), what, op.axis) != 0
        if flipped:
            return torch.bitwise_xor(_run(torch.bitwise_xor(values, SIGN_BIT), what, op.axis), SIGN_BIT)
        return last(to_output(_run(values, what, op.axis)))

    return run
