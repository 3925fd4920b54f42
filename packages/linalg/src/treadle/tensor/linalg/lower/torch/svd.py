"""Singular values on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Lowered
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.svd import SVD
from treadle.tensor.linalg.lower.torch.matrices import Found, finite, settled


@TORCH.register(SVD)
def svd(op: SVD, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.svd."""

    def run(a: torch.Tensor) -> Found:
        a, failed = finite(a)
        if not op.compute_uv:
            return failed, torch.linalg.svdvals(a)
        return failed, *torch.linalg.svd(a, full_matrices=op.full_matrices)

    return settled(op.on_error, run)
