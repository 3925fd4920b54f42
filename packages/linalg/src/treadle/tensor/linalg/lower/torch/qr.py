"""QR factors on PyTorch."""

from __future__ import annotations

import torch

from treadle.graph import Unsupported
from treadle.link.torch import TORCH, Lowered
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.qr import QR, HouseholderProduct
from treadle.tensor.linalg.lower.torch.matrices import Found, finite, settled


@TORCH.register(QR)
def qr(op: QR, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.qr; the Householder vectors to torch.geqrf."""
    if op.pivoting:
        msg = "PyTorch has no QR factors with exchanged columns"
        raise Unsupported(msg, "take qr without pivoting, or svd")

    def run(a: torch.Tensor) -> Found:
        a, failed = finite(a)
        if op.mode == "raw":
            vectors, tau = torch.geqrf(a)
            return failed, vectors, tau, torch.triu(vectors[..., : tau.shape[-1], :])
        if op.mode == "r":
            r = torch.linalg.qr(a, mode="r").R
            return failed, torch.nn.functional.pad(r, (0, 0, 0, a.shape[-2] - r.shape[-2]))
        q, r = torch.linalg.qr(a, mode="complete" if op.mode == "full" else "reduced")
        return failed, q, r

    return settled(op.on_error, run)


@TORCH.register(HouseholderProduct)
def householder_product(op: HouseholderProduct, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.householder_product."""

    def run(a: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
        batch = torch.broadcast_shapes(a.shape[:-2], tau.shape[:-1])
        return torch.linalg.householder_product(a.expand(*batch, *a.shape[-2:]), tau.expand(*batch, tau.shape[-1]))

    return run
