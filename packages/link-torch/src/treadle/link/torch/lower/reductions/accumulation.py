"""Accumulations and linear recurrences."""

from __future__ import annotations

from collections.abc import Callable

import torch

from treadle.graph import Apply
from treadle.link.torch.programs.storage import SIGN_BIT, converter, kind, to_output_dtype, working
from treadle.link.torch.table import TORCH
from treadle.tensor import Accumulation, LinearRecurrence, tensors

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


@TORCH.register(LinearRecurrence)
def linear_recurrence(op: LinearRecurrence, node: Apply) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Lower to doublings: after each, every element counts twice as many of those before it."""
    half = tensors(node.outputs)[0].type.dtype == "float16"
    axis = op.axis

    def run(decay: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        h = x.to(torch.float32) if half else x
        n = x.shape[axis]
        decays = decay.to(h.dtype)
        step = 1
        while step < n:
            first, later = torch.narrow(h, axis, 0, step), torch.narrow(h, axis, step, n - step)
            h = torch.cat([first, later + decays * torch.narrow(h, axis, 0, n - step)], dim=axis)
            # Element t of `rest` is the product of the decays between t and t + step.
            if 2 * step < n:
                decays = torch.narrow(decays, axis, 0, n - 2 * step) * torch.narrow(decays, axis, step, n - 2 * step)
            step = 2 * step
        return h.to(torch.float16) if half else h

    return run
