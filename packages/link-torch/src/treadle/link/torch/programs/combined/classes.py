"""Losses of classes: gradients through the logarithm of softmax, numbers of each row's class, and their positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import torch

from treadle.graph import Apply, FunctionGraph, Variable
from treadle.link.torch.programs.patterns import both_orders, made_by
from treadle.tensor import DimShuffle, LogSoftmax, Reduction, Softmax, TensorVariable, tensors

# A function, and the tensors that it takes.
Found: TypeAlias = tuple[Callable[..., torch.Tensor], Sequence[Variable]]

_of_log_softmax = torch.ops.aten._log_softmax_backward_data


def through_log_softmax(fgraph: FunctionGraph, out: TensorVariable) -> Found | None:
    """Return g - softmax(x) sum(g) along one axis, where the logarithm of softmax(x) is there too."""
    difference = made_by(out, "sub")
    if not difference:
        return None
    slope, product = difference
    for shares, total in both_orders(made_by(product, "mul")):
        node = shares.owner
        if node is None or not isinstance(node.op, Softmax) or len(node.op.axes) != 1:
            continue
        (axis,), (x,) = node.op.axes, tensors(node.inputs)
        logarithm = _log_softmax_of(fgraph, x, axis)
        same = slope.type.dtype == x.type.dtype == out.type.dtype and slope.type.ndim == x.type.ndim
        if logarithm is not None and same and _is_sum(total, slope, axis):
            return partial(_backwards, axis), (slope, logarithm)
    return None


def _log_softmax_of(fgraph: FunctionGraph, x: Variable, axis: int) -> Variable | None:
    for client in fgraph.clients[x]:
        node = client[0]
        if isinstance(node, Apply) and node.op == LogSoftmax((axis,)):
            return node.outputs[0]
    return None


def _is_sum(total: TensorVariable, of: TensorVariable, axis: int) -> bool:
    """Whether a tensor is the sum of another along an axis, which is kept with length 1."""
    outer = total.owner
    node = outer.inputs[0].owner if outer is not None and isinstance(outer.op, DimShuffle) else None
    if node is None or outer is None or not isinstance(node.op, Reduction) or node.op.kind != "sum":
        return False
    ndim = of.type.ndim
    order = (*range(axis), "x", *range(axis, ndim - 1))
    plain = {node.op.dtype, node.op.acc_dtype} == {of.type.dtype}
    return plain and node.op.axes == (axis,) and node.inputs[0] is of and outer.op == DimShuffle(order, ndim - 1)


def _backwards(axis: int, slope: torch.Tensor, logarithm: torch.Tensor) -> torch.Tensor:
    if slope.shape != logarithm.shape:
        slope = slope.expand(logarithm.shape)
    result: torch.Tensor = _of_log_softmax(slope, logarithm, axis, logarithm.dtype)
    return result
