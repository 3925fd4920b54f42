"""Powers, exponentials and logarithms."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from treadle.link.torch.scalars import SCALARS, ByDtypes, Kernel, TensorFunction
from treadle.link.torch.table import Checked

SCALARS.register("pow", {"f": torch.pow})
for _name in ("exp", "log", "log10", "sqrt"):
    SCALARS.register(_name, {"c": getattr(torch, _name)})


@SCALARS.function("expm1", kinds="f")
def _expm1(x: torch.Tensor) -> torch.Tensor:
    """Compute near 0 by the hyperbolic tangent: compiled code makes exp(x) - 1 of expm1, which loses all digits."""
    t = torch.tanh(0.5 * x)
    return torch.where(x == 0, x, torch.where(torch.abs(x) < 1, 2 * t / (1 - t), torch.expm1(x)))


@SCALARS.function("pow", kinds="u")
def unsigned_power(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A power of uint64, modulo 2^64: the exponent's halves apart, since torch.pow takes it for a signed number."""
    low = torch.bitwise_and(b, 2**32 - 1)
    high = torch.bitwise_and(torch.bitwise_right_shift(b, 32), 2**32 - 1)
    return torch.pow(a, low) * torch.pow(torch.pow(a, torch.full_like(a, 2**32)), high)


@SCALARS.function("pow", kinds="i")
@ByDtypes
def integer_power(loops: Sequence[str]) -> Kernel:
    """A power of integers; a negative exponent is an error, as in NumPy."""
    if loops[-1].startswith("u"):
        plain: TensorFunction = torch.pow
        return plain

    def power(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return (b < 0).any(), torch.pow(a, torch.clamp(b, min=0))

    return Checked(power)
