"""Bitwise functions and shifts."""

from __future__ import annotations

import torch

from treadle.link.torch.lower.elementwise.scalar.array_functions import FUNCTIONS
from treadle.link.torch.programs.storage import width
from treadle.link.torch.scalars import SCALARS, ByDtypes

for _name, _function in (("and", "and"), ("or", "or"), ("xor", "xor"), ("invert", "not")):
    SCALARS.register(_name, {"biu": getattr(torch, f"bitwise_{_function}")})


SCALARS.register("left_shift", {"iu": ByDtypes(lambda loops: FUNCTIONS.left_shift(width(loops[-1])))})
SCALARS.register(
    "right_shift",
    {"i": ByDtypes(lambda loops: FUNCTIONS.right_shift(width(loops[-1]), not loops[-1].startswith("u")))},
)


@SCALARS.function("right_shift", kinds="u")
def unsigned_right_shift(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Shift uint64 bits to the right, zeros coming in: one place first, which clears the sign, then the rest."""
    inside = (b > 0) & (b < 64)
    once = torch.bitwise_and(torch.bitwise_right_shift(a, 1), 2**63 - 1)
    shifted = torch.bitwise_right_shift(once, torch.where(inside, b - 1, torch.zeros_like(b)))
    return torch.where(inside, shifted, torch.where(b == 0, a, torch.zeros_like(a)))
