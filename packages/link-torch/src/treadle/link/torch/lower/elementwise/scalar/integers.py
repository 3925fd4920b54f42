"""Functions of integers."""

from __future__ import annotations

from typing import cast

import torch

from treadle.link.torch.lower.elementwise.scalar.arithmetic import unsigned_mod
from treadle.link.torch.scalars import SCALARS, TensorFunction

_remainder = cast("TensorFunction", unsigned_mod.make(("uint64", "uint64")))
SCALARS.register("gcd", {"i": lambda a, b: torch.abs(torch.gcd(a, b))})


@SCALARS.function("gcd", kinds="u")
def unsigned_gcd(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Divide three times: the second remainder, and what it leaves, are numbers without the highest bit."""
    first = _remainder(a, b)
    second = _remainder(b, first)
    third = _remainder(first, second)
    rest = torch.where(second == 0, first, torch.gcd(second, third))
    return torch.where(b == 0, a, torch.where(first == 0, b, rest))
