"""Triangular systems on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Lowered
from treadle.tensor import TensorNode
from treadle.tensor.linalg.lower.torch.matrices import Failed, Found, or_not_finite, settled
from treadle.tensor.linalg.triangular_systems import SolveTriangular


@TORCH.register(SolveTriangular)
def solve_triangular(op: SolveTriangular, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.solve_triangular."""
    outside = -1 if op.unit_diagonal else 0

    def run(a: torch.Tensor, b: torch.Tensor) -> Found:
        read = torch.tril(a, outside) if op.lower else torch.triu(a, -outside)
        x = torch.linalg.solve_triangular(read, b, upper=not op.lower, unitriangular=op.unit_diagonal)
        if op.unit_diagonal:
            failed: Failed = False
        else:
            failed = (torch.diagonal(read, dim1=-2, dim2=-1) == 0).any(-1)
        if op.check_finite:
            failed = or_not_finite(failed, read, b)
        return failed if failed is False else failed.expand(x.shape[:-2]), x

    return settled(op.on_error, run)
