"""ExtractDiag."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from treadle.link.torch.table import TORCH
from treadle.tensor import ExtractDiag

if TYPE_CHECKING:
    from treadle.link.torch.table import Lowered
    from treadle.tensor import TensorNode


@TORCH.register(ExtractDiag)
def extract_diag(op: ExtractDiag, node: TensorNode) -> Lowered:
    """Lower to torch.diagonal, a view."""
    return lambda x: torch.diagonal(x, op.offset, op.axis1, op.axis2)
