"""Cholesky factors on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Lowered
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.cholesky import Cholesky, CholeskySolve
from treadle.tensor.linalg.lower.torch.matrices import not_finite, settled


@TORCH.register(Cholesky)
def cholesky(op: Cholesky, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.cholesky_ex."""

    def run(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        read = torch.tril(a) if op.lower else torch.tril(a.mH)
        factor, info = torch.linalg.cholesky_ex(read)
        failed = info != 0
        if op.check_finite:
            failed = failed | not_finite(read)
        return failed, factor if op.lower else factor.mH.resolve_conj()

    return settled(op.on_error, run)


@TORCH.register(CholeskySolve)
def cholesky_solve(op: CholeskySolve, node: TensorNode) -> Lowered:
    """Lower to torch.cholesky_solve."""

    def solve(factor: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.cholesky_solve(b, factor, upper=not op.lower)

    def run(factor: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return not_finite(torch.tril(factor) if op.lower else torch.triu(factor), b), solve(factor, b)

    return settled(op.on_error, run) if op.check_finite else solve
