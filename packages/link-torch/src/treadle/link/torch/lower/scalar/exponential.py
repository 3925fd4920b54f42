"""Powers, exponentials and logarithms; the stable functions by formulas that cannot overflow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from treadle.link.torch.lower.scalar.kernels import KERNELS
from treadle.link.torch.table import Checked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LOG_2 = math.log(2.0)

KERNELS.function("sqr", "iufc", lambda x: x * x)
KERNELS.function("pow", "fc", torch.pow)
# Compiled code makes 0.0 of expm1(-0.0).
KERNELS.function("expm1", "f", lambda x: torch.where(x == 0, x, torch.expm1(x)))
for _name in ("exp", "log", "log10", "sqrt", "reciprocal"):
    KERNELS.function(_name, "c", getattr(torch, _name))


def _sigmoid(x: Any) -> Any:
    e = torch.exp(-torch.abs(x))
    return torch.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _softplus(x: Any) -> Any:
    return torch.maximum(x, torch.zeros_like(x)) + torch.log1p(torch.exp(-torch.abs(x)))


def _log1mexp(x: Any) -> Any:
    return torch.where(x > -LOG_2, torch.log(-torch.expm1(x)), torch.log1p(-torch.exp(x)))


def _logaddexp(a: Any, b: Any) -> Any:
    """The larger one plus log1p of the exponential of minus the distance; equal ones, infinities too, apart."""
    return torch.where(a == b, a + LOG_2, torch.maximum(a, b) + torch.log1p(torch.exp(-torch.abs(a - b))))


KERNELS.function("sigmoid", "f", _sigmoid)
KERNELS.function("softplus", "f", _softplus)
KERNELS.function("log1mexp", "f", _log1mexp)
KERNELS.function("logaddexp", "f", _logaddexp)


@KERNELS.register("pow", "u")
def unsigned_power(loops: Sequence[str]) -> Callable[..., Any]:
    """A power of uint64, modulo 2^64: the exponent's halves apart, since torch.pow takes it for a signed number."""
    del loops

    def power(a: Any, b: Any) -> Any:
        low = torch.bitwise_and(b, 2**32 - 1)
        high = torch.bitwise_and(torch.bitwise_right_shift(b, 32), 2**32 - 1)
        return torch.pow(a, low) * torch.pow(torch.pow(a, torch.full_like(a, 2**32)), high)

    return power


@KERNELS.register("pow", "i")
def integer_power(loops: Sequence[str]) -> Callable[..., Any] | Checked:
    """A power of integers; a negative exponent is an error, as in NumPy."""
    if loops[-1].startswith("u"):
        plain: Callable[..., Any] = torch.pow
        return plain

    def power(a: Any, b: Any) -> tuple[Any, Any]:
        return (b < 0).any(), torch.pow(a, torch.clamp(b, min=0))

    return Checked(power)
