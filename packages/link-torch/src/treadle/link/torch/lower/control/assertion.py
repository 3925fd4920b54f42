"""Assertions: the program looks at a flag after the call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from treadle.link.torch.table import TORCH, Checked
from treadle.tensor import CheckAndRaise

if TYPE_CHECKING:
    from treadle.link.torch.table import Flag, Lowered
    from treadle.tensor import TensorNode


@TORCH.register(CheckAndRaise)
def check_and_raise(op: CheckAndRaise, node: TensorNode) -> Lowered:
    """Lower to the value, and a flag that is set where a condition is false."""

    def run(value: torch.Tensor, *conditions: torch.Tensor) -> tuple[Flag, torch.Tensor]:
        return torch.stack([x == 0 for x in conditions]).any() if conditions else None, value

    return Checked(run)
