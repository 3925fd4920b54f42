"""Softmax, its logarithm, logsumexp, and the largest element, which also has one of no elements.

The library's own functions take a third of the time that their formulas take. Where an element is infinite, all of
softmax along the axis is NaN, as in SciPy; elsewhere only the infinite elements are.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from treadle.graph import Apply, Unsupported
from treadle.link.torch.table import TORCH
from treadle.tensor import LogSoftmax, LogSumExp, Peak, Softmax, TensorNode


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


@TORCH.register(Softmax)
@TORCH.register(LogSoftmax)
def softmax(op: Softmax | LogSoftmax, node: TensorNode) -> Callable[[torch.Tensor], torch.Tensor]:
    """Lower to softmax and log_softmax along one axis, or along all as one."""
    kind = node.inputs[0].type
    along = torch.softmax if isinstance(op, Softmax) else torch.log_softmax
    if len(op.axes) == 1:
        (axis,) = op.axes
        if kind.dtype == "float16":
            return lambda x: along(x, axis, torch.float32).to(torch.float16)
        return lambda x: along(x, axis)
    if kind.dtype == "float16" or kind.ndim != len(op.axes) or not op.axes:
        msg = "PyTorch has this along one axis, or along all"
        raise Unsupported(msg)
    return lambda x: along(x.flatten(), 0).view(x.shape)


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
