"""Philox 4x32-10 on PyTorch's tensors, as `treadle.tensor.random.generators.philox` defines it.

PyTorch has no arithmetic of unsigned integers: numbers of 32 bits stand in int64.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

# The four numbers of 32 bits of a block, or of a counter.
Block = Sequence[torch.Tensor]


MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
INCREMENTS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
_MASK = 2**32 - 1


class Stream:
    """The blocks of one key and stream from a position on: the state holds the three as int64."""

    def __init__(self, state: torch.Tensor) -> None:
        key, stream, self.position = state.unbind()
        self.key = (_low(key), _high(key))
        self.stream = _low(stream)

    def blocks(self, n: int, attempt: torch.Tensor | int = 0) -> Block:
        """Return the numbers of the first n blocks, each of shape (n,)."""
        at = self.position + torch.arange(n, dtype=torch.int64, device=self.position.device)
        attempts = attempt.to(torch.int64) if isinstance(attempt, torch.Tensor) else torch.full_like(at, attempt)
        return philox((_low(at), _high(at), self.stream.expand(n), attempts.expand(n)), self.key)


def philox(counter: Block, key: tuple[torch.Tensor, torch.Tensor]) -> Block:
    """Return the numbers of blocks."""
    c0, c1, c2, c3 = counter
    # All at once, as the compiler takes its time for each operation.
    rounds = torch.arange(ROUNDS, device=c0.device)
    first, second = (_low(k + rounds * step).unbind() for k, step in zip(key, INCREMENTS, strict=True))
    for k0, k1 in zip(first, second, strict=True):
        (high0, low0), (high1, low1) = (_product(c, m) for c, m in zip((c0, c2), MULTIPLIERS, strict=True))
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
    return c0, c1, c2, c3


def _product(x: torch.Tensor, multiplier: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the two halves of the product of numbers of 32 bits.

    The multiplier less 2**32 is small enough for the product to fit in int64: overflow is undefined in the C++ that
    torch.compile writes.
    """
    p = x * (multiplier - 2**32)
    return (p >> 32) + x, _low(p)


def bits32(stream: Stream, n: int) -> torch.Tensor:
    """Return n numbers of 32 bits, four from each block."""
    return interleaved(stream.blocks(-(-n // 4)), n)


def interleaved(parts: Sequence[torch.Tensor], n: int) -> torch.Tensor:
    """Return the first n of: the first elements of all parts, then the second ones, and so on."""
    return torch.stack(tuple(parts), dim=-1).reshape(-1)[:n]


def unit64(low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Return numbers of 64 bits, given by halves, as float64 in [0, 1)."""
    return ((high << 21) + (low >> 11)).to(torch.float64) * 2.0**-53


def unit32(bits: torch.Tensor) -> torch.Tensor:
    """Return numbers of 32 bits as float32 in [0, 1)."""
    return (bits >> 8).to(torch.float32) * 2.0**-24


def _low(x: torch.Tensor) -> torch.Tensor:
    return x & _MASK


def _high(x: torch.Tensor) -> torch.Tensor:
    return (x >> 32) & _MASK
