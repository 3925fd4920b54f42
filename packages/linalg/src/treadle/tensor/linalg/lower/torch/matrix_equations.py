"""Equations for matrices on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Checked, Lowered
from treadle.tensor import TensorNode
from treadle.tensor.linalg.functions.matrix_equations import Sylvester


@TORCH.register(Sylvester)
def sylvester(op: Sylvester, node: TensorNode) -> Lowered | Checked:
    """Lower to a linear system for all elements of the solution: PyTorch has no Schur form."""

    def run(a: torch.Tensor, b: torch.Tensor, q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2])
        a, b, q = (x.expand(*batch, *x.shape[-2:]) for x in (a, b, q))
        good = torch.isfinite(a).flatten(-2).all(-1) & torch.isfinite(b).flatten(-2).all(-1)
        good = good & torch.isfinite(q).flatten(-2).all(-1)
        a, b, q = (torch.where(good[..., None, None], x, 0) for x in (a, b, q))
        m, n = q.shape[-2], q.shape[-1]
        rows, columns = (torch.eye(k, dtype=q.dtype, device=q.device) for k in (m, n))
        matrix = a[..., :, None, :, None] * columns[:, None, :] + rows[:, None, :, None] * b.mT[..., None, :, None, :]
        factor, pivots, _ = torch.linalg.lu_factor_ex(matrix.reshape(*batch, m * n, m * n))
        x = torch.linalg.lu_solve(factor, pivots, q.reshape(*batch, m * n, 1)).reshape(*batch, m, n)
        if m * n:
            sizes = factor.diagonal(dim1=-2, dim2=-1).abs()
            good = good & (sizes.amin(-1) > torch.finfo(q.dtype).eps * sizes.amax(-1))
        return ~good.all(), torch.where(good[..., None, None], x, torch.nan)

    return Checked(run) if op.on_error == "raise" else lambda a, b, q: run(a, b, q)[1]
