"""Choices between branches."""

from __future__ import annotations

import torch

from treadle.graph import IfElse
from treadle.link.torch.table import TORCH, Lowered, Results
from treadle.tensor import TensorNode


@TORCH.register(IfElse)
def ifelse(op: IfElse, node: TensorNode) -> Lowered:
    """Lower to a choice made in Python, between the compiled stretches (see `treadle.link.torch.control_flow`)."""
    count = op.n_outs

    def run(condition: torch.Tensor, *values: torch.Tensor) -> Results:
        branch = values[:count] if bool(condition) else values[count:]
        return branch[0] if count == 1 else branch

    return run
