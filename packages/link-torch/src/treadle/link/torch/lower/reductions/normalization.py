"""Softmax, its logarithm, logsumexp, and the largest element, which also has one of no elements."""

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


def _by_formula(x: torch.Tensor, axis: int, of_log: bool) -> torch.Tensor:
    """Return softmax along an axis, or its logarithm, in which an infinite element is not taken out."""
    if x.shape[axis] == 0:
        return torch.empty_like(x)
    top = torch.amax(x, dim=axis, keepdim=True)
    shifted = x - torch.where(torch.isfinite(top), top, 0)
    e = torch.exp(shifted)
    total = torch.sum(e, dim=axis, keepdim=True)
    return shifted - torch.log(total) if of_log else e / total


def _softmax(axis: int, of_log: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return softmax along an axis, or its logarithm, as a function of floats.

    The library's own function takes a third of the time of the formula. It is NaN along the whole axis of an infinite
    element, where the formula is NaN at that element alone. So the first element along each axis tells whether its
    results are those of the formula: NaN there has to be computed again.
    """
    along = torch.log_softmax if of_log else torch.softmax
    first = (*(slice(None),) * axis, 0)
    is_compiling = torch.compiler.is_compiling

    def run(x: torch.Tensor) -> torch.Tensor:
        # What is traced to be compiled has no values to look at; those on other devices would have to be waited for.
        if type(x) is not torch.Tensor or not x.is_cpu or is_compiling():
            return _by_formula(x, axis, of_log)
        result = along(x, axis)
        # Through NumPy, which takes a third of the time for few elements. The first NaN counts as the largest element.
        try:
            elements = result.numpy()[first]
            largest = elements.item(elements.argmax())
        except (IndexError, ValueError):
            return result  # there are no elements along the axis, or no such axes
        return result if largest == largest else _by_formula(x, axis, of_log)

    return run


@TORCH.register(Softmax)
@TORCH.register(LogSoftmax)
def softmax(op: Softmax | LogSoftmax, node: TensorNode) -> Callable[[torch.Tensor], torch.Tensor]:
    """Lower to softmax and log_softmax along one axis, or along all as one; those of float16 in float32."""
    kind, of_log = node.inputs[0].type, isinstance(op, LogSoftmax)
    if len(op.axes) == 1:
        run = _softmax(op.axes[0], of_log)
    elif op.axes and len(op.axes) == kind.ndim:
        along = _softmax(0, of_log)

        def run(x: torch.Tensor) -> torch.Tensor:
            return along(x.flatten()).view(x.shape)
    else:
        msg = "PyTorch has this along one axis, or along all"
        raise Unsupported(msg)
    return (lambda x: run(x.to(torch.float32)).to(torch.float16)) if kind.dtype == "float16" else run


@TORCH.register(LogSumExp)
def logsumexp(op: LogSumExp, node: TensorNode) -> Callable[[torch.Tensor], torch.Tensor]:
    """Lower to logsumexp."""
    dtype = node.inputs[0].type.dtype
    # One axis as a number, which takes less time than a list of it.
    axes = op.axes[0] if len(op.axes) == 1 else list(op.axes)
    if not op.axes:
        msg = "PyTorch takes no axes for all"
        raise Unsupported(msg)
    if dtype == "float16":
        return lambda x: torch.logsumexp(x.to(torch.float32), axes).to(torch.float16)
    return lambda x: torch.logsumexp(x, axes)
