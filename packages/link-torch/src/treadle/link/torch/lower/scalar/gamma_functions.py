"""The gamma function and functions made of it: PyTorch's own, with SciPy's values at poles and infinities."""

from __future__ import annotations

import torch

from treadle.link.torch.scalars import SCALARS

SCALARS.register("digamma", {"f": torch.special.digamma})


@SCALARS.function("gammaln", kinds="f")
def _gammaln(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x == -torch.inf, x, torch.special.gammaln(x))
