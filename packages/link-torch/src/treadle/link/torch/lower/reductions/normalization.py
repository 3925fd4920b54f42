"""Logsumexp, and the largest element, which also has one of no elements.

Softmax is left to its formula: the library's own is NaN along the whole axis of an infinite element.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from treadle.graph import Apply, Unsupported
from treadle.link.torch.table import TORCH
from treadle.tensor import LogSumExp, Peak, TensorNode


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


@TORCH.register(LogSumExp)
def logsumexp(op: LogSumExp, node: TensorNode) -> Callable[[torch.Tensor], torch.Tensor]:
    """Lower to logsumexp."""
    dtype = node.inputs[0].type.dtype
    axes = list(op.axes)
    if not axes:
        msg = "PyTorch takes no axes for all"
        raise Unsupported(msg)
    if dtype == "float16":
        return lambda x: torch.logsumexp(x.to(torch.float32), axes).to(torch.float16)
    return lambda x: torch.logsumexp(x, axes)
