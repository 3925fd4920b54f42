"""Copies and views."""

from __future__ import annotations

from treadle.graph import DeepCopyOp, ViewOp
from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import TensorNode


@TORCH.register(DeepCopyOp)
def deep_copy(op: DeepCopyOp, node: TensorNode) -> Lowered:
    """Lower to clone."""
    return lambda x: x.clone()


@TORCH.register(ViewOp)
def view(op: ViewOp, node: TensorNode) -> Lowered:
    """Lower to the tensor itself."""
    return lambda x: x
