"""Incomplete gamma functions: PyTorch's own, and their inverses by bisection."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from treadle.link.torch.scalars import SCALARS
from treadle.tensor import gamma_tail_integral

# A range of logarithms that holds those of all float64 numbers is halved so often.
STEPS = 64
LEAST, MOST = -746.0, 710.0
# From this shape on the lighter tail is integrated.
LARGE = 20.0


def lower(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return gammainc where neither operand is 0 or infinite."""
    tail = _tail(a, x)
    return torch.where(a > LARGE, torch.where(x <= a, tail, 1 - tail), torch.special.gammainc(a, x)).to(x.dtype)


def upper(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return gammaincc where neither operand is 0 or infinite."""
    tail = _tail(a, x)
    return torch.where(a > LARGE, torch.where(x <= a, 1 - tail, tail), torch.special.gammaincc(a, x)).to(x.dtype)


def _tail(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return the lighter tail for shapes above `LARGE`, where PyTorch's own functions are off by 1e-9."""
    a, x = torch.broadcast_tensors(torch.clamp(a.double(), min=LARGE), x.double())
    off = (x - a) / a
    r = 1 / (a * a)
    stirling = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / a
    density = torch.sqrt(a / (2 * torch.pi)) * torch.exp(a * (torch.log1p(off) - off) - stirling)
    return density * gamma_tail_integral(torch, torch.zeros_like(a), a, x)


@SCALARS.function("gammainc", kinds="f")
def _gammainc(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return _at_ends(a, x, lower(a, x), 0.0)


@SCALARS.function("gammaincc", kinds="f")
def _gammaincc(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return _at_ends(a, x, upper(a, x), 1.0)


def _at_ends(a: torch.Tensor, x: torch.Tensor, inner: torch.Tensor, at_zero: float) -> torch.Tensor:
    """Return SciPy's values where the shape or the argument is 0 or infinite."""
    inner = torch.where((x == torch.inf) | (a == 0), 1 - at_zero, inner)
    inner = torch.where((x == 0) | (a == torch.inf), at_zero, inner)
    both = ((x == 0) & (a == 0)) | ((x == torch.inf) & (a == torch.inf))
    return torch.where(both | ~(a >= 0) | ~(x >= 0), torch.nan, inner)


def bisected(
    below: Callable[[torch.Tensor], torch.Tensor], like: torch.Tensor, low: float, high: float
) -> torch.Tensor:
    """Return where a condition that holds from `low` on ends."""
    ends = torch.full_like(like, low), torch.full_like(like, high)
    for _ in range(STEPS):
        middle = (ends[0] + ends[1]) / 2
        lower = below(middle)
        ends = torch.where(lower, middle, ends[0]), torch.where(lower, ends[1], middle)
    return ends[0]


@SCALARS.function("gammaincinv", kinds="f")
def _gammaincinv(a: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    return _inverse(a, p, 1 - p, torch.where(p == 0, 0.0, torch.inf), p)


@SCALARS.function("gammainccinv", kinds="f")
def _gammainccinv(a: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    return _inverse(a, 1 - q, q, torch.where(q == 0, torch.inf, 0.0), q)


def _inverse(
    a: torch.Tensor, p: torch.Tensor, q: torch.Tensor, at_ends: torch.Tensor, given: torch.Tensor
) -> torch.Tensor:
    a, p, q = torch.broadcast_tensors(a, p, q)
    light = p <= q

    def below(y: torch.Tensor) -> torch.Tensor:
        x = torch.exp(y)
        return torch.where(light, torch.special.gammainc(a, x) < p, torch.special.gammaincc(a, x) > q)

    inside = (a > 0) & (a < torch.inf) & (given > 0) & (given < 1)
    ends = (a >= 0) & ((given == 0) | (given == 1))
    at_ends = torch.where(ends, at_ends.to(p.dtype), torch.nan)
    return torch.where(inside, torch.exp(bisected(below, a, LEAST, MOST)), at_ends)


SCALARS.register("gamma_tail_moment", {"f": partial(gamma_tail_integral, torch)})
