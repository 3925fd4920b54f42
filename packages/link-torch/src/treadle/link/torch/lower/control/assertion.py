"""Assertions: the program looks at a flag after the call."""

from __future__ import annotations

import torch

from treadle.link.torch.table import TORCH, Checked, Flag, Lowered
from treadle.tensor import CheckAndRaise, TensorNode


@TORCH.register(CheckAndRaise)
def check_and_raise(op: CheckAndRaise, node: TensorNode) -> Lowered:
    """Lower to the value, and a flag that is set where a condition is false."""

    def run(value: torch.Tensor, *conditions: torch.Tensor) -> tuple[Flag, torch.Tensor]:
        return torch.stack([x == 0 for x in conditions]).any() if conditions else None, value

    return Checked(run)
