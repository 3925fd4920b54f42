"""Rounding; integers are whole already."""

from __future__ import annotations

import torch

from treadle.link.torch.scalars import SCALARS

for _name in ("ceil", "floor", "trunc", "round_half_to_even"):
    SCALARS.register(_name, {"biu": torch.clone})
SCALARS.register("round_half_to_even", {"f": torch.round})
