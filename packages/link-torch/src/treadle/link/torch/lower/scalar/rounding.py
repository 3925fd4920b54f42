"""Rounding; integers are whole already."""

from __future__ import annotations

from typing import Any

import torch

from treadle.link.torch.lower.scalar.kernels import KERNELS


def _half_away(x: Any) -> Any:
    whole = torch.trunc(x)
    return torch.where(torch.abs(x - whole) >= 0.5, whole + torch.sign(x), whole)


for _name in ("ceil", "floor", "trunc", "round_half_to_even", "round_half_away_from_zero"):
    KERNELS.function(_name, "biu", torch.clone)
KERNELS.function("round_half_to_even", "f", torch.round)
KERNELS.function("round_half_away_from_zero", "f", _half_away)
