"""The functions that JAX and PyTorch share, on PyTorch's tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

from treadle.tensor import ArrayFunctions

S = TypeVar("S")


def _repeated(step: Callable[[S], S], start: S, times: int) -> S:
    for _ in range(times):
        start = step(start)
    return start


FUNCTIONS = ArrayFunctions(torch, torch.special, torch.complex, _repeated)
