"""Bitwise functions and shifts."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from treadle.link.torch.programs.storage import width
from treadle.link.torch.scalars import SCALARS, ByDtypes, TensorFunction

for _name, _function in (("and", "and"), ("or", "or"), ("xor", "xor"), ("invert", "not")):
    SCALARS.register(_name, {"biu": getattr(torch, f"bitwise_{_function}")})


@SCALARS.function("left_shift", kinds="iu")
@ByDtypes
def left_shift(loops: Sequence[str]) -> TensorFunction:
    """Shift to the left; by the width or more, or by a negative number, it is 0."""
    bits = width(loops[-1])

    def shift(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        inside = (b >= 0) & (b < bits)
        shifted = torch.bitwise_left_shift(a, torch.where(inside, b, torch.zeros_like(b)))
        return torch.where(inside, shifted, torch.zeros_like(a))

    return shift


@SCALARS.function("right_shift", kinds="i")
@ByDtypes
def right_shift(loops: Sequence[str]) -> TensorFunction:
    """Shift to the right, keeping the sign; by the width or more it is the sign, 0 or -1."""
    bits = width(loops[-1])
    signed = not loops[-1].startswith("u")

    def shift(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        inside = (b >= 0) & (b < bits)
        shifted = torch.bitwise_right_shift(a, torch.where(inside, b, torch.zeros_like(b)))
        far = torch.where(a < 0, torch.full_like(a, -1), torch.zeros_like(a)) if signed else torch.zeros_like(a)
        return torch.where(inside, shifted, far)

    return shift


@SCALARS.function("right_shift", kinds="u")
def unsigned_right_shift(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Shift uint64 bits to the right, zeros coming in: one place first, which clears the sign, then the rest."""
    inside = (b > 0) & (b < 64)
    once = torch.bitwise_and(torch.bitwise_right_shift(a, 1), 2**63 - 1)
    shifted = torch.bitwise_right_shift(once, torch.where(inside, b - 1, torch.zeros_like(b)))
    return torch.where(inside, shifted, torch.where(b == 0, a, torch.zeros_like(a)))
