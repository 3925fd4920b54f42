"""ExtractDiag."""

from __future__ import annotations

import torch

from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import ExtractDiag, TensorNode


@TORCH.register(ExtractDiag)
def extract_diag(op: ExtractDiag, node: TensorNode) -> Lowered:
    """Lower to torch.diagonal, a view."""
    return lambda x: torch.diagonal(x, op.offset, op.axis1, op.axis2)
