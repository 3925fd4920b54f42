"""Bessel functions of orders 0 and 1: PyTorch's own. Those of any order are computed by their integrals."""

from __future__ import annotations

import torch

from treadle.link.torch.scalars import SCALARS

for _name in ("j0", "j1", "y0", "y1"):
    SCALARS.register(_name, {"f": getattr(torch.special, f"bessel_{_name}")})
for _name in ("i0e", "i1e"):
    SCALARS.register(_name, {"f": getattr(torch.special, _name)})
for _name in ("k0", "k1"):
    SCALARS.register(_name, {"f": getattr(torch.special, f"modified_bessel_{_name}")})
    SCALARS.register(f"{_name}e", {"f": getattr(torch.special, f"scaled_modified_bessel_{_name}")})


@SCALARS.function("i0", kinds="f")
def _i0(x: torch.Tensor) -> torch.Tensor:
    """Multiply by exp(|x|), which overflows before the result does: by its root, twice."""
    root = torch.exp(torch.abs(x) / 2)
    return torch.special.i0e(x) * root * root


@SCALARS.function("i1", kinds="f")
def _i1(x: torch.Tensor) -> torch.Tensor:
    root = torch.exp(torch.abs(x) / 2)
    return torch.special.i1e(x) * root * root
