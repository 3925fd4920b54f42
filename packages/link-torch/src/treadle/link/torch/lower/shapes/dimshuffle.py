"""DimShuffle: views."""

from __future__ import annotations

import torch

from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import DimShuffle, TensorNode


@TORCH.register(DimShuffle)
def dimshuffle(op: DimShuffle, node: TensorNode) -> Lowered:
    """Lower to permute, after taking the dropped dimensions at their only position, and new dimensions."""
    dropped = op.dropped
    kept = [d for d in range(op.ndim) if d not in dropped]
    order = [kept.index(d) for d in op.order if isinstance(d, int)]
    new = [at for at, d in enumerate(op.order) if not isinstance(d, int)]

    def rearrange(x: torch.Tensor) -> torch.Tensor:
        for d in reversed(dropped):
            if x.shape[d] != 1:
                msg = "a dropped dimension must have length 1"
                raise ValueError(msg)
            x = x.select(d, 0)
        x = x.permute(order)
        for at in new:
            x = x.unsqueeze(at)
        return x

    return rearrange
