"""Trigonometric and hyperbolic functions: PyTorch's own, for floats found by name, for complex numbers from a list."""

from __future__ import annotations

import torch

from treadle.link.torch.scalars import SCALARS

# Compiled code makes 0.0 of arctanh(-0.0).
SCALARS.register("arctanh", {"f": lambda x: torch.where(x == 0, x, torch.atanh(x))})
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    SCALARS.register(_name, {"c": getattr(torch, _name)})
