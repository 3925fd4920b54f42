"""Softmax, its logarithm, and logsumexp: the largest element is taken out first, unless it is infinite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from treadle.graph import Unsupported
from treadle.link.torch.storage import kind, to_output_dtype, working
from treadle.link.torch.table import TORCH
from treadle.tensor import LogSoftmax, LogSumExp, Softmax

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply


def _shifted(x: Any, axes: Sequence[int]) -> tuple[Any, Any]:
    top = x
    if axes:
        for d in axes:
            if x.shape[d] == 0:
                return x, torch.zeros_like(x).sum(dim=axes, keepdim=True)
        top = torch.amax(x, dim=axes, keepdim=True)
    top = torch.where(torch.isfinite(top), top, torch.zeros_like(top))
    return x - top, top


def _sum(x: Any, axes: Sequence[int]) -> Any:
    return torch.sum(x, dim=axes, keepdim=True) if axes else x


def _softmax(x: Any, axes: Sequence[int]) -> Any:
    e = torch.exp(_shifted(x, axes)[0])
    return e / _sum(e, axes)


def _log_softmax(x: Any, axes: Sequence[int]) -> Any:
    shifted, _ = _shifted(x, axes)
    return shifted - torch.log(_sum(torch.exp(shifted), axes))


def _logsumexp(x: Any, axes: Sequence[int]) -> Any:
    shifted, top = _shifted(x, axes)
    result = torch.log(_sum(torch.exp(shifted), axes)) + top
    for d in reversed(axes):
        result = result.squeeze(d)
    return result


def _in_dtype(function: Callable[[Any, Sequence[int]], Any], axes: tuple[int, ...], node: Apply) -> Callable[..., Any]:
    kind_of: Any = node.inputs[0].type
    if kind(kind_of.dtype) != "f":
        msg = "only real floating-point numbers are normalised"
        raise Unsupported(msg)
    first, last = to_output_dtype(working(kind_of.dtype)), to_output_dtype(kind_of.dtype)
    over = list(axes)
    return lambda x: last(function(first(x), over))


@TORCH.register(Softmax)
def softmax(op: Softmax, node: Apply) -> Callable[..., Any]:
    """Lower to exp(x) over its sum."""
    return _in_dtype(_softmax, op.axes, node)


@TORCH.register(LogSoftmax)
def log_softmax(op: LogSoftmax, node: Apply) -> Callable[..., Any]:
    """Lower to x - logsumexp(x)."""
    return _in_dtype(_log_softmax, op.axes, node)


@TORCH.register(LogSumExp)
def logsumexp(op: LogSumExp, node: Apply) -> Callable[..., Any]:
    """Lower to log(sum(exp(x)))."""
    return _in_dtype(_logsumexp, op.axes, node)
