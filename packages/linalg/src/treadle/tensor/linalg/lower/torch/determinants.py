"""Determinants on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Lowered, all_finite, can_look
from treadle.tensor import TensorNode
from treadle.tensor.linalg.determinants import Det, SLogDet
from treadle.tensor.linalg.lower.torch.matrices import in_new_memory


@TORCH.register(Det)
def det(op: Det, node: TensorNode) -> Lowered:
    """Lower to the product of pivots, or to the exponential of the logarithm where that over- or underflows."""

    def run(a: torch.Tensor) -> torch.Tensor:
        if can_look(a):
            value = torch.linalg.det(a)
            # Of one matrix as a number, which takes a tenth of the time.
            near = value.item() if value.ndim == 0 else all_finite(value) and value.all().item()
            if near - near == 0 != near:
                return value
        sign, log, product = _sign_and_size(a)
        is_exact = torch.isfinite(product) & (product != 0)
        return torch.where(is_exact, product, sign * torch.exp(log))

    return in_new_memory(run)


@TORCH.register(SLogDet)
def slogdet(op: SLogDet, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.slogdet, or to the signs and logarithms of pivots where that is not finite."""

    def run(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if can_look(a):
            sign, log = torch.linalg.slogdet(a)
            if all_finite(log):
                return sign, log
        return _sign_and_size(a)[:2]

    return in_new_memory(run)


def _sign_and_size(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return signs of determinants, logarithms of their absolute values, and the products of pivots themselves."""
    factor, pivots, _ = torch.linalg.lu_factor_ex(a)
    entries = torch.diagonal(factor, dim1=-2, dim2=-1)
    size = torch.abs(entries)
    swaps = (pivots != torch.arange(1, a.shape[-1] + 1, dtype=pivots.dtype)).sum(-1)
    parity = 1 - 2 * (swaps % 2)
    if a.is_complex():
        units = entries / torch.where(size == 0, 1, size)
    else:
        units = torch.where(entries == 0, 0.0, torch.where(entries < 0, -1.0, 1.0)).to(a.dtype)
    return parity * units.prod(-1), torch.log(size).sum(-1), parity * entries.prod(-1)
