"""Schur forms, which PyTorch does not have."""

from __future__ import annotations

from typing import NoReturn

from treadle.graph import Unsupported
from treadle.link.torch import TORCH
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.schur import QZ, RealToComplexSchur, Schur


@TORCH.register(Schur)
@TORCH.register(QZ)
@TORCH.register(RealToComplexSchur)
def schur(op: Schur | QZ | RealToComplexSchur, node: TensorNode) -> NoReturn:
    """Refuse: PyTorch has no Schur forms."""
    reason = "PyTorch has no Schur forms"
    raise Unsupported(reason, "use eig, which it has, or compile the function with mode C, NUMBA or VM")
