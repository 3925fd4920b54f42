"""LU factors on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Checked, Flag, Lowered, Results
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.lu import LUFactor, LUSolve, PivotToPermutations
from treadle.tensor.linalg.lower.torch.matrices import Failed, Found, or_not_finite, settled


@TORCH.register(LUFactor)
def lu_factor(op: LUFactor, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.lu_factor_ex, which counts rows from 1."""

    def factored(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        factor, pivots, _ = torch.linalg.lu_factor_ex(a)
        return factor, pivots - 1

    def run(a: torch.Tensor) -> Found:
        return or_not_finite(False, a), *factored(a)

    return settled(op.on_error, run) if op.check_finite else factored


@TORCH.register(LUSolve)
def lu_solve(op: LUSolve, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.lu_solve."""

    def run(factor: torch.Tensor, pivots: torch.Tensor, b: torch.Tensor) -> Found:
        failed: Failed = (torch.diagonal(factor, dim1=-2, dim2=-1) == 0).any(-1) | _misplaced(pivots)
        if op.check_finite:
            failed = or_not_finite(failed, factor, b)
        batch = torch.broadcast_shapes(factor.shape[:-2], pivots.shape[:-1])
        left = factor.expand(*batch, *factor.shape[-2:])
        rows = _counted(pivots).expand(*batch, pivots.shape[-1])
        return failed, torch.linalg.lu_solve(left, rows, b, adjoint=op.adjoint)

    return settled(op.on_error, run)


@TORCH.register(PivotToPermutations)
def pivots_to_permutation(op: PivotToPermutations, node: TensorNode) -> Lowered:
    """Lower to torch.lu_unpack, which makes a matrix of a permutation."""

    def run(pivots: torch.Tensor) -> tuple[Flag, Results]:
        n = pivots.shape[-1]
        if not n:
            return None, pivots.to(torch.int64)
        chosen, _, _ = torch.lu_unpack(torch.zeros(*pivots.shape, n), _counted(pivots), unpack_data=False)
        return _misplaced(pivots).any(), chosen.argmax(-2 if op.inverse else -1)

    return Checked(run)


def _counted(pivots: torch.Tensor) -> torch.Tensor:
    """Return pivots counted from 1, clipped to the rows that exist."""
    return (pivots.clamp(0, max(pivots.shape[-1] - 1, 0)) + 1).to(torch.int32)


def _misplaced(pivots: torch.Tensor) -> torch.Tensor:
    """Return for each matrix whether a pivot is out of range."""
    return ((pivots < 0) | (pivots >= pivots.shape[-1])).any(-1)
