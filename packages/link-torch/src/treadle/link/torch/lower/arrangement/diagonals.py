"""Matrices of diagonals on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import AllocDiag, TensorNode


@TORCH.register(AllocDiag)
def alloc_diag(op: AllocDiag, node: TensorNode) -> Lowered:
    """Lower to torch.diagonal_scatter: one operation, where the op decomposes into ten."""
    offset = op.offset

    def run(x: torch.Tensor, n: int, m: int) -> torch.Tensor:
        zeros = x.new_zeros((*x.shape[:-1], n, m))
        count = max(min(n + min(offset, 0), m - max(offset, 0)), 0)
        if not count:
            return zeros
        return torch.diagonal_scatter(zeros, x.expand(*x.shape[:-1], count), offset, -2, -1)

    return run
