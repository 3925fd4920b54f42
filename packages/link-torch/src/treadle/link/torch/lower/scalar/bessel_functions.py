"""Bessel functions of orders 0 and 1: PyTorch's own. Those of any order are computed by their integrals."""

from __future__ import annotations

import torch

from treadle.link.torch.scalars import SCALARS

for _name in ("j0", "j1", "y0", "y1"):
    SCALARS.register(_name, {"f": getattr(torch.special, f"bessel_{_name}")})
for _name in ("i0", "i0e", "i1", "i1e"):
    SCALARS.register(_name, {"f": getattr(torch.special, _name)})
for _name in ("k0", "k1"):
    SCALARS.register(_name, {"f": getattr(torch.special, f"modified_bessel_{_name}")})
    SCALARS.register(f"{_name}e", {"f": getattr(torch.special, f"scaled_modified_bessel_{_name}")})
