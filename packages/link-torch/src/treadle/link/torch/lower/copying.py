"""Copies and views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import DeepCopyOp, ViewOp
from treadle.link.torch.table import TORCH

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@TORCH.register(DeepCopyOp)
def deep_copy(op: DeepCopyOp, node: Apply) -> Callable[..., Any]:
    """Lower to clone."""
    del op, node
    return lambda x: x.clone()


@TORCH.register(ViewOp)
def view(op: ViewOp, node: Apply) -> Callable[..., Any]:
    """Lower to the tensor itself."""
    del op, node
    return lambda x: x
