"""Parts and neighbours of floating-point numbers, and roots."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from treadle.link.torch.scalars import SCALARS, ByDtypes, TensorFunction


@SCALARS.function("frexp_exponent", kinds="f")
def frexp_exponent(x: torch.Tensor) -> torch.Tensor:
    """The exponent, from the bits: PyTorch's compiler makes no code of torch.frexp."""
    wide = torch.abs(x).to(torch.float64)
    tiny = wide < 2.0**-1022
    bits = torch.where(tiny, wide * 2.0**54, wide).view(torch.int64)
    found = torch.bitwise_right_shift(bits, 52) - 1022 - torch.where(tiny, 54, 0)
    return torch.where((wide == 0) | ~torch.isfinite(wide), 0, found)


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
    """X 2^n, by up to three powers of two that are numbers; only the last product is rounded."""
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
