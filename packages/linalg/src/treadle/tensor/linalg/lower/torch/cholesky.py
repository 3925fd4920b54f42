"""Cholesky factors on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Lowered, all_finite
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.cholesky import Cholesky, CholeskyPullback, CholeskySolve
from treadle.tensor.linalg.lower.torch.matrices import Found, or_not_finite, settled


@TORCH.register(Cholesky)
def cholesky(op: Cholesky, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.cholesky_ex."""

    def run(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        factor, info = torch.linalg.cholesky_ex(a if op.lower else a.mH)
        # NaN and infinities of a row reach its diagonal, if no row before has failed.
        if op.check_finite and not all_finite(factor.trace() if factor.ndim == 2 else factor):
            info = info | ~torch.isfinite(torch.diagonal(factor, dim1=-2, dim2=-1)).all(-1)
        return info, factor if op.lower else factor.mH.resolve_conj()

    return settled(op.on_error, run)


@TORCH.register(CholeskySolve)
def cholesky_solve(op: CholeskySolve, node: TensorNode) -> Lowered:
    """Lower to torch.cholesky_solve."""

    def solve(factor: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.cholesky_solve(b, factor, upper=not op.lower)

    def run(factor: torch.Tensor, b: torch.Tensor) -> Found:
        read = factor if all_finite(factor) else torch.tril(factor) if op.lower else torch.triu(factor)
        return or_not_finite(False, read, b), solve(factor, b)

    return settled(op.on_error, run) if op.check_finite else solve


@TORCH.register(CholeskyPullback)
def cholesky_pullback(op: CholeskyPullback, node: TensorNode) -> Lowered:
    """Lower to two triangular systems: half the time of what the op decomposes into, operation by operation."""

    def of_lower(factor: torch.Tensor, ct: torch.Tensor) -> torch.Tensor:
        turned = torch.tril(factor).mT
        product = turned @ torch.tril(ct)
        symmetric = torch.tril(product) + torch.tril(product, -1).mT
        once = torch.linalg.solve_triangular(turned, symmetric, upper=True)
        whole = torch.linalg.solve_triangular(turned, once.mT, upper=True)
        return (torch.tril(whole) + torch.tril(whole, -1)) / 2

    return of_lower if op.lower else lambda factor, ct: of_lower(factor.mT, ct.mT).mT
