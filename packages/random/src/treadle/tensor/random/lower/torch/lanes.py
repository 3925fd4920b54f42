"""Draws by rejection on PyTorch: a loop that runs while some element is rejected."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from treadle.link.torch import SIGN_BIT
from treadle.tensor import DrawLanes
from treadle.tensor.random.lower.torch.philox import Block, Stream, unit64


class TorchLanes(DrawLanes):
    """A batch of draws; words are int64."""

    xp: Any = torch

    def __init__(self, stream: Stream, shape: tuple[int, ...]) -> None:
        # Where the draws come from.
        self._stream = stream
        # The batch's shape.
        self._shape = shape
        self._count = math.prod(shape)

    def flat(self, x: torch.Tensor) -> torch.Tensor:
        """Return a value for each element."""
        return x.expand(self._shape).reshape(-1)

    def blocks(self, attempt: torch.Tensor | int) -> Block:
        """Return the numbers of each element's block."""
        return self._stream.blocks(self._count, attempt)

    def unit(self, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
        """Return a number in [0, 1) for two halves of 64 bits."""
        return unit64(low, high)

    def as_float(self, word: torch.Tensor) -> torch.Tensor:
        """Return integers as float64."""
        return word.to(torch.float64)

    def as_integer(self, x: torch.Tensor) -> torch.Tensor:
        """Return float64 as int64."""
        return x.to(torch.int64)

    def number(self, value: float) -> torch.Tensor:
        """Return a float64."""
        return torch.full((), value, dtype=torch.float64, device=self._stream.position.device)

    def loop(
        self, proceeds: Callable[..., torch.Tensor], body: Callable[..., tuple[torch.Tensor, ...]], *start: torch.Tensor
    ) -> Sequence[torch.Tensor]:
        """Return the values after ``body(*values)`` while ``proceeds(*values)``."""
        if torch.compiler.is_compiling():
            # The values keep their strides, and share no memory.
            initial = tuple([x.clone(memory_format=torch.contiguous_format) for x in start])
            final: tuple[torch.Tensor, ...] = torch.while_loop(proceeds, body, initial)
            return final
        values = start
        while bool(proceeds(*values)):
            values = body(*values)
        return values

    def integers(self, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
        """Return integers from low to high - 1, where int64 stands for uint64."""
        m = high - low - 1
        narrow = (m >> 31) == 0
        width = torch.where(narrow, m, 0) + 1
        # 2**64 is twice (2**63 - 1), and 2.
        excess = (torch.full_like(width, 2**63 - 1) % width * 2 + 2) % width
        mask = m
        for shift in (1, 2, 4, 8, 16, 32):
            mask = mask | mask >> shift
        most = m ^ SIGN_BIT
        low, m, narrow, width, excess, mask, most = map(self.flat, (low, m, narrow, width, excess, mask, most))

        def attempt(words: Block) -> tuple[torch.Tensor, torch.Tensor]:
            w0, w1, _, _ = words
            a = w0 * width
            b = w1 * width + (a >> 32)
            masked = (w0 | w1 << 32) & mask
            uneven = ((b & (2**32 - 1)) == 0) & ((a & (2**32 - 1)) < excess)
            rejected = torch.where(narrow, uneven, (masked ^ SIGN_BIT) > most)
            return low + torch.where(narrow, b >> 32, masked), rejected

        draws: torch.Tensor = self.attempts(attempt, torch.ones_like(narrow), torch.zeros_like(m))
        return draws
