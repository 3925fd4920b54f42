"""SpecifyShape: shapes are checked while tracing, when they are known."""

from __future__ import annotations

import torch

from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import SpecifyShape, TensorNode


@TORCH.register(SpecifyShape)
def specify_shape(op: SpecifyShape, node: TensorNode) -> Lowered:
    """Check the lengths, and return the tensor itself."""

    def run(x: torch.Tensor, *lengths: int) -> torch.Tensor:
        for d, n in zip(op.axes, lengths, strict=True):
            if x.shape[d] != n:
                msg = "a dimension does not have the length that is said"
                raise ValueError(msg)
        return x

    return run
