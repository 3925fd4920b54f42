"""The functions that JAX and PyTorch share, on PyTorch's tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

from treadle.link.torch.looking import all_finite
from treadle.tensor import ArrayFunctions

S = TypeVar("S")


def _repeated(step: Callable[[S], S], start: S, times: int) -> S:
    for _ in range(times):
        start = step(start)
    return start


class _Functions(ArrayFunctions):
    """The functions, with what differs on PyTorch."""

    def fmod(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the remainder, which torch.fmod has as NaN where x / y overflows: by multiples of y at first."""
        near = torch.fmod(x, y)
        if all_finite(near):
            return near
        step = 2.0**100 if y.dtype == torch.float32 else 2.0**1000
        far = torch.fmod(torch.fmod(torch.fmod(x, y * step * step), y * step), y)
        return torch.where(torch.isfinite(x) & (y != 0), far, near)


FUNCTIONS = _Functions(torch, torch.special, torch.complex, _repeated)
