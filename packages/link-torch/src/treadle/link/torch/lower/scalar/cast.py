"""Copies and choices; casts are conversions, see `treadle.link.torch.lower.elemwise`."""

from __future__ import annotations

from typing import Any

import torch

from treadle.link.torch.lower.scalar.kernels import KERNELS


def _second(x: Any, y: Any) -> Any:
    return torch.broadcast_tensors(x, y)[1]


KERNELS.function("identity", "biufc", torch.clone)
KERNELS.function("second", "biufc", _second)
KERNELS.function("switch", "biufc", torch.where)
