"""The largest element, which also has one of no elements."""

from __future__ import annotations

from collections.abc import Callable

import torch

from treadle.graph import Apply
from treadle.link.torch.table import TORCH
from treadle.tensor import Peak


@TORCH.register(Peak)
def peak(op: Peak, node: Apply) -> Callable[[torch.Tensor], torch.Tensor]:
    """Lower to amax, and to minus infinity where it would refuse."""
    axes = list(op.axes)

    def run(x: torch.Tensor) -> torch.Tensor:
        if not axes:
            return x
        for d in axes:
            if x.shape[d] == 0:
                return torch.full([1 if i in axes else n for i, n in enumerate(x.shape)], -torch.inf).to(x)
        return torch.amax(x, dim=axes, keepdim=True)

    return run
