"""Singular values on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch.matrices import finite, settled
from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import SVD, TensorNode


@TORCH.register(SVD)
def svd(op: SVD, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.svd."""

    def run(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a, failed = finite(a)
        if not op.compute_uv:
            return failed, torch.linalg.svdvals(a)
        return failed, *torch.linalg.svd(a, full_matrices=op.full_matrices)

    return settled(op.on_error, run)
