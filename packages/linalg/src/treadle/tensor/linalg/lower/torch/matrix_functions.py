"""Exponentials of matrices on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Lowered
from treadle.tensor import TensorNode
from treadle.tensor.linalg.functions.matrix_functions import Expm


@TORCH.register(Expm)
def expm(op: Expm, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.matrix_exp."""

    def run(a: torch.Tensor) -> torch.Tensor:
        finite = torch.isfinite(a).all(-1, keepdim=True).all(-2, keepdim=True)
        return torch.where(finite, torch.linalg.matrix_exp(torch.where(finite, a, 0)), torch.nan)

    return run
