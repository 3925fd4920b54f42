"""Shapes as values, and Reshape. Where a length decides another shape it stays a Python integer (see `planning`)."""

from __future__ import annotations

import torch

from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import Reshape, Shape, ShapeI, TensorNode


def length_tensor(n: int, device: torch.device) -> torch.Tensor:
    """Return a length as an int64 tensor."""
    return torch.full((), n, dtype=torch.int64, device=device)


@TORCH.register(Shape)
def shape(op: Shape, node: TensorNode) -> Lowered:
    """Lower to a vector of lengths."""

    def lengths(x: torch.Tensor) -> torch.Tensor:
        if x.dim() == 0:
            return torch.zeros(0, dtype=torch.int64, device=x.device)
        return torch.stack([length_tensor(n, x.device) for n in x.shape])

    return lengths


@TORCH.register(ShapeI)
def shape_i(op: ShapeI, node: TensorNode) -> Lowered:
    """Lower to one length."""
    return lambda x: length_tensor(x.shape[op.axis], x.device)


@TORCH.register(Reshape)
def reshape(op: Reshape, node: TensorNode) -> Lowered:
    """Lower to reshape."""
    return lambda x, *lengths: x.reshape(lengths)
