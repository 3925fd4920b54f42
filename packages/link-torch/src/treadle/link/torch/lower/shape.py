"""Shapes as values, and Reshape. Where a length decides another shape it stays a Python integer (see `planning`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from treadle.link.torch.table import TORCH
from treadle.tensor import Reshape, Shape, ShapeI

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


def length_tensor(n: int, device: Any) -> Any:
    """Return a length as an int64 tensor."""
    return torch.full((), n, dtype=torch.int64, device=device)


@TORCH.register(Shape)
def shape(op: Shape, node: Apply) -> Callable[..., Any]:
    """Lower to a vector of lengths."""
    del op, node

    def lengths(x: Any) -> Any:
        if x.dim() == 0:
            return torch.zeros(0, dtype=torch.int64, device=x.device)
        return torch.stack([length_tensor(n, x.device) for n in x.shape])

    return lengths


@TORCH.register(ShapeI)
def shape_i(op: ShapeI, node: Apply) -> Callable[..., Any]:
    """Lower to one length."""
    del node
    axis = op.axis
    return lambda x: length_tensor(x.shape[axis], x.device)


@TORCH.register(Reshape)
def reshape(op: Reshape, node: Apply) -> Callable[..., Any]:
    """Lower to reshape."""
    del op, node
    return lambda x, *lengths: x.reshape(lengths)
