"""Copies, casts and choices."""

from __future__ import annotations

import torch

from treadle.link.torch.scalars import SCALARS
from treadle.tensor import CASTS


def _second(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.broadcast_tensors(x, y)[1]


# Operands are converted to the dtype of the result before.
for _cast in CASTS.values():
    SCALARS.register(_cast.name, {"biufc": torch.clone})
SCALARS.register("identity", {"biufc": torch.clone})
SCALARS.register("second", {"biufc": _second})
SCALARS.register("switch", {"biufc": torch.where})
