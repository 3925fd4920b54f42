"""Loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.torch.loops import Loop
from treadle.link.torch.table import TORCH
from treadle.tensor import Scan

if TYPE_CHECKING:
    from treadle.link.torch.table import Lowered
    from treadle.tensor import TensorNode


@TORCH.register(Scan)
def scan(op: Scan, node: TensorNode) -> Lowered:
    """Lower to a loop that Python leads through compiled steps (see `treadle.link.torch.loops`)."""
    return Loop(op, node)
