"""Triangular systems on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Lowered, all_finite, can_look
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
        diagonal = torch.diagonal(read, dim1=-2, dim2=-1)
        failed: Failed = False
        if not op.unit_diagonal and not (can_look(diagonal) and diagonal.all().item()):
            failed = (diagonal == 0).any(-1)
        # Where the solution and the matrix are finite, so was the right side.
        if failed is False and op.check_finite and all_finite(x) and all_finite(read):
            return False, x
        if op.check_finite:
            failed = or_not_finite(failed, read, b)
        return failed if failed is False else failed.expand(x.shape[:-2]), x

    return settled(op.on_error, run)
