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
# Fewer elements are stepped through in less time by doublings.
_MANY = 1 << 16
# Beside so many others, an axis is stepped through as a whole.
_BESIDE = 256


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


def stepped(doubled: Callable[..., torch.Tensor], axis: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return a linear recurrence of floats that goes through many elements in blocks; `doubled` takes others.

    Doublings go through all elements as often as their number has bits.
    """

    def run(decay: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        if x.numel() < _MANY or torch.compiler.is_compiling():
            return doubled(decay, x)
        if decay.shape != (*x.shape[:axis], x.shape[axis] - 1, *x.shape[axis + 1 :]):
            msg = "the decays do not fit the values"
            raise ValueError(msg)
        before = torch.cat([torch.zeros_like(x.narrow(axis, 0, 1)), decay], axis).movedim(axis, 0)
        return _in_blocks(before, x.movedim(axis, 0)).movedim(0, axis).contiguous()

    return run


def _in_blocks(decay: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return the recurrence along the first axis: within all blocks at once step by step, then from block to block."""
    n, others = x.shape[0], x.shape[1:]
    # A step costs two calls; more steps leave fewer blocks, which are stepped through in turn.
    steps = n if n <= 32 or x.numel() >= _BESIDE * n else min(n, 16 * max(2, round(n**0.2)))
    blocks = -(-n // steps)
    # By step, block and the other axes, in memory of their own; the last block may have less.
    h, decays = (_by_steps(v, steps, blocks) for v in (x, decay))
    values, products = h.unbind(0), decays.unbind(0)
    for j in range(1, steps):
        values[j].addcmul_(products[j], values[j - 1])
        if blocks > 1:
            products[j].mul_(products[j - 1])
    if blocks > 1:
        ends = _in_blocks(products[-1], values[-1])
        h[:, 1:].addcmul_(decays[:, 1:], ends[:-1])
    return h.transpose(0, 1).reshape(steps * blocks, *others)[:n]


def _by_steps(x: torch.Tensor, steps: int, blocks: int) -> torch.Tensor:
    n, others = x.shape[0], x.shape[1:]
    result = torch.empty((steps, blocks, *others), dtype=x.dtype, device=x.device)
    whole = n // steps
    result[:, :whole] = x[: whole * steps].reshape(whole, steps, *others).transpose(0, 1)
    if whole < blocks:
        rest = n - whole * steps
        result[:rest, whole] = x[whole * steps :]
        result[rest:, whole] = 0
    return result
