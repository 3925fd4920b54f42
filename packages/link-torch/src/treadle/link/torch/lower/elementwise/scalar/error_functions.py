"""Error functions and the normal distribution: PyTorch's own, but for erfinv, which loses half its digits near 1."""

from __future__ import annotations

import torch

from treadle.link.torch.scalars import SCALARS

for _name in ("erf", "erfc"):
    SCALARS.register(_name, {"f": getattr(torch, _name)})
for _name in ("erfcx", "ndtri"):
    SCALARS.register(_name, {"f": getattr(torch.special, _name)})
