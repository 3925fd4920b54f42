"""Casts, choices, rounding, and elementary functions where PyTorch's own, or their compiled code, are not right.

All others are found by NumPy's names, for floats; for complex numbers they are listed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from treadle.link.torch.looking import can_look
from treadle.link.torch.scalars import SCALARS, ByDtypes, TensorFunction
from treadle.tensor import ALL_KINDS, CASTS

# Operands are converted to the dtype of the result before.
for _name in ("identity", *(cast.name for cast in CASTS.values())):
    SCALARS.register(_name, {ALL_KINDS: torch.clone})
SCALARS.register("second", {ALL_KINDS: lambda x, y: torch.broadcast_tensors(x, y)[1]})

for _name in ("ceil", "floor", "trunc", "round_half_to_even"):
    SCALARS.register(_name, {"biu": torch.clone})
SCALARS.register("round_half_to_even", {"f": torch.round})

for _name in ("exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"):
    SCALARS.register(_name, {"c": getattr(torch, _name)})


@SCALARS.function("expm1", kinds="f")
def _expm1(x: torch.Tensor) -> torch.Tensor:
    """Compute compiled code near 0 by the hyperbolic tangent: it takes exp(x) - 1 for expm1, which loses all digits."""
    if can_look(x):
        return torch.expm1(x)
    t = torch.tanh(0.5 * x)
    return torch.where(x == 0, x, torch.where(torch.abs(x) < 1, 2 * t / (1 - t), torch.expm1(x)))


@SCALARS.function("arctanh", kinds="f")
def _arctanh(x: torch.Tensor) -> torch.Tensor:
    """Compute compiled code from log1p: that of atanh loses the digits of small numbers."""
    if can_look(x):
        return torch.atanh(x)
    size = torch.abs(x)
    return torch.copysign(0.5 * torch.log1p(2 * size / (1 - size)), x)


@SCALARS.function("frexp_exponent", kinds="f")
def frexp_exponent(x: torch.Tensor) -> torch.Tensor:
    """The exponent, from the bits: PyTorch's compiler has no code for torch.frexp."""
    wide = torch.abs(x).to(torch.float64)
    tiny = wide < 2.0**-1022
    bits = torch.where(tiny, wide * 2.0**54, wide).view(torch.int64)
    exponent = torch.bitwise_right_shift(bits, 52) - 1022 - torch.where(tiny, 54, 0)
    return torch.where((wide == 0) | ~torch.isfinite(wide), 0, exponent)


@SCALARS.function("cbrt", kinds="f")
def cbrt(x: torch.Tensor) -> torch.Tensor:
    """The cube root of the number scaled by powers of eight, by a power and a step of Newton's method."""
    third = torch.div(frexp_exponent(x), 3, rounding_mode="floor")
    down = torch.bitwise_left_shift(1023 - third, 52).view(torch.float64)
    scaled = torch.abs(x).to(torch.float64) * down * down * down
    near = torch.pow(scaled, 1 / 3)
    near = near - (near * near * near - scaled) / (3 * near * near)
    root = near * torch.bitwise_left_shift(1023 + third, 52).view(torch.float64)
    return torch.where((x == 0) | ~torch.isfinite(x), x, torch.copysign(root.to(x.dtype), x))


# Of each dtype: the integer of its size, the bits of its mantissa, the bias of its exponent.
_LAYOUT = {"float32": (torch.int32, 23, 127), "float64": (torch.int64, 52, 1023)}


@SCALARS.function("ldexp", kinds="i")
@ByDtypes
def ldexp(loops: Sequence[str]) -> TensorFunction:
    """Compute x 2^n by up to three powers of two that are numbers; only the last product is rounded."""
    integer, mantissa, bias = _LAYOUT["float64" if loops[0] == "float64" else "float32"]

    def power(n: torch.Tensor) -> torch.Tensor:
        return torch.bitwise_left_shift((n + bias).to(integer), mantissa).view(getattr(torch, loops[0]))

    def scaled(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        left = torch.clamp(n, -4 * bias, 4 * bias)
        for _ in range(2):
            # A number scaled down stays normal, with all its bits, until the last step.
            step = torch.where(left > bias, bias, torch.where(left < 1 - bias, mantissa + 2 - bias, 0))
            x, left = x * power(step), left - step
        return x * power(torch.clamp(left, 1 - bias, bias))

    return scaled
