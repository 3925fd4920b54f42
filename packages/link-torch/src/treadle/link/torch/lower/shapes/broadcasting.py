"""Broadcasting to lengths, and summing back to lengths."""

from __future__ import annotations

import torch

from treadle.link.torch.lower.reductions.reduction import total
from treadle.link.torch.programs.storage import to_output_dtype
from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import Alloc, SumTo, TensorNode


@TORCH.register(Alloc)
def alloc(op: Alloc, node: TensorNode) -> Lowered:
    """Lower to expand; programs copy results that share memory."""

    def expand(x: torch.Tensor, *lengths: int) -> torch.Tensor:
        for n in lengths:
            # PyTorch takes -1 for "as it is".
            if n < 0:
                msg = "a length must be 0 or more"
                raise ValueError(msg)
        return x.expand(lengths)

    return expand


@TORCH.register(SumTo)
def sum_to(op: SumTo, node: TensorNode) -> Lowered:
    """Lower to a sum over the dimensions that differ, which are known when the program is traced."""
    out = node.outputs[0].type
    dtype = out.dtype
    to_output = to_output_dtype(dtype)

    def back(x: torch.Tensor, *lengths: int) -> torch.Tensor:
        extra = x.dim() - len(lengths)
        axes = list(range(extra))
        for d, m in enumerate(lengths):
            n = x.shape[d + extra]
            if n != m:
                if m != 1:
                    msg = "the shape cannot be summed to these lengths"
                    raise ValueError(msg)
                axes.append(d + extra)
        return to_output(total(x, axes, dtype)).reshape(lengths) if axes else x

    return back
