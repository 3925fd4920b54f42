"""Functions of matrices on PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from treadle.link.torch.table import TORCH
from treadle.tensor import Expm

if TYPE_CHECKING:
    from treadle.link.torch.table import Lowered
    from treadle.tensor import TensorNode


@TORCH.register(Expm)
def expm(op: Expm, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.matrix_exp."""
    del op, node

    def run(a: torch.Tensor) -> torch.Tensor:
        finite = torch.isfinite(a).all(-1, keepdim=True).all(-2, keepdim=True)
        return torch.where(finite, torch.linalg.matrix_exp(torch.where(finite, a, 0)), torch.nan)

    return run
