"""The gamma function and functions made of it: PyTorch's own, with SciPy's values at poles and infinities."""

from __future__ import annotations

import torch

from treadle.link.torch.scalars import SCALARS

SCALARS.register("digamma", {"f": torch.special.digamma})


@SCALARS.function("gammaln", kinds="f")
def _gammaln(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x == -torch.inf, x, torch.special.gammaln(x))


@SCALARS.function("gamma", kinds="f")
def _gamma(x: torch.Tensor) -> torch.Tensor:
    whole = torch.floor(x)
    made = torch.where(x > 0, 1.0, _sign(x)) * torch.exp(torch.special.gammaln(x))
    made = torch.where((x < 0) & (x == whole), torch.nan, made)
    return torch.where(x == 0, torch.copysign(torch.full_like(x, torch.inf), x), made)


def _sign(x: torch.Tensor) -> torch.Tensor:
    """Return the sign of the gamma function, which changes at every pole."""
    return torch.where((x > 0) | (torch.remainder(torch.floor(x), 2) == 0), 1.0, -1.0).to(x.dtype)


@SCALARS.function("tri_gamma", kinds="f")
def _tri_gamma(x: torch.Tensor) -> torch.Tensor:
    return _polygamma(torch.ones_like(x), x)


@SCALARS.function("polygamma", kinds="f")
def _polygamma(n: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """By Hurwitz's zeta function (DLMF 25.11.12); below 0 by its sum over both sides, which has period 1."""
    s = n + 1
    sign = torch.where(torch.remainder(s, 2) == 0, 1.0, -1.0).to(x.dtype)
    rest = x - torch.floor(x)
    pole = (x <= 0) & ((rest == 0) | (x == -torch.inf))
    below = x < 0
    safe = torch.where(pole, 0.5, rest)
    # The distances to both poles, which are exact next to them; between them the largest terms may cancel.
    above = torch.where(pole | ~below, 0.5, torch.ceil(x) - x)
    poles = safe**-s + sign * above**-s
    rest = (_zeta(s, 1 + safe) + sign * _zeta(s, 1 + above)) - sign * _zeta(s, torch.where(below, 1 - x, 1.0))
    total = torch.where(below, poles + rest, _zeta(s, torch.where(below, 1.0, x)))
    total = torch.where(pole, torch.inf, torch.where(x == torch.inf, 0.0, total))
    made = sign * torch.exp(torch.special.gammaln(s)) * total
    made = torch.where((n >= 1) & (n < torch.inf) & (n == torch.floor(n)), made, torch.nan)
    return torch.where(n == 0, torch.special.digamma(x), made)


def _zeta(s: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Return Hurwitz's zeta function; of a large number by the first terms of its expansion, where q**-s is 0."""
    large = torch.where(q > 1e9, q, 1e9)
    return torch.where(q > 1e9, large ** (1 - s) * (1 / (s - 1) + 0.5 / large), torch.special.zeta(s, q))


@SCALARS.function("poch", kinds="f")
def _poch(z: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    made = _sign(z) * _sign(z + m) * torch.exp(torch.special.gammaln(z + m) - torch.special.gammaln(z))
    return torch.where(m == 0, 1.0, made)
