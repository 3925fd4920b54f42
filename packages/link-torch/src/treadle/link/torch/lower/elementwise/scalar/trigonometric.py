"""Trigonometric and hyperbolic functions: PyTorch's own, for floats found by name, for complex numbers from a list."""

from __future__ import annotations

import torch

from treadle.link.torch.scalars import SCALARS

for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    SCALARS.register(_name, {"c": getattr(torch, _name)})


@SCALARS.function("arctanh", kinds="f")
def _arctanh(x: torch.Tensor) -> torch.Tensor:
    """Compute from log1p: compiled code of atanh loses the digits of small numbers."""
    size = torch.abs(x)
    return torch.copysign(0.5 * torch.log1p(2 * size / (1 - size)), x)
