"""Inverses of matrices on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Lowered
from treadle.tensor import TensorNode
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.lower.torch.matrices import Found, or_not_finite, settled


@TORCH.register(MatrixInverse)
def inverse(op: MatrixInverse, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.inv_ex."""

    def run(a: torch.Tensor) -> Found:
        x, info = torch.linalg.inv_ex(a)
        return or_not_finite(info, a) if op.check_finite else info, x

    return settled(op.on_error, run)
