"""Linear systems on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Lowered
from treadle.tensor import TensorNode
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.lower.torch.matrices import Found, or_not_finite, settled


@TORCH.register(Solve)
def solve(op: Solve, node: TensorNode) -> Lowered:
    """Lower to LU or Cholesky factors, and a solve with them."""

    def run(a: torch.Tensor, b: torch.Tensor) -> Found:
        half = a if op.assume_a == "gen" else torch.tril(a) if op.lower else torch.triu(a)
        if op.assume_a == "pos":
            factor, info = torch.linalg.cholesky_ex(half if op.lower else half.mH)
            x = torch.cholesky_solve(b, factor)
        elif op.assume_a == "gen" and b.ndim == a.ndim:
            x, info = torch.linalg.solve_ex(a, b)
        else:
            factor, pivots, info = torch.linalg.lu_factor_ex(_whole(op, half))
            x = torch.linalg.lu_solve(factor, pivots, b)
        return or_not_finite(info, half, b) if op.check_finite else info, x

    return settled(op.on_error, run)


def _whole(op: Solve, half: torch.Tensor) -> torch.Tensor:
    """Return the full matrix of which one triangle is read."""
    if op.assume_a == "gen":
        return half
    beside = torch.tril(half, -1) if op.lower else torch.triu(half, 1)
    if op.assume_a == "her" and half.is_complex():
        diagonal = half - beside
        return beside + beside.mH + torch.complex(diagonal.real, torch.zeros_like(diagonal.real))
    return half + beside.mT
