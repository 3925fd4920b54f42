"""Loops."""

from __future__ import annotations

from treadle.link.torch.loops import Loop
from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import Scan, TensorNode


@TORCH.register(Scan)
def scan(op: Scan, node: TensorNode) -> Lowered:
    """Lower to a loop that Python leads through compiled steps (see `treadle.link.torch.loops`)."""
    return Loop(op, node)
