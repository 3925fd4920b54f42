"""Special functions: PyTorch's own, with SciPy's values at poles and infinities, and what these are made into.

Bessel functions of any order are computed by their integrals, the incomplete beta function by its body. So is erfinv,
of which PyTorch's loses half its digits near 1.
"""

from __future__ import annotations

import math
from functools import partial

import torch

from treadle.link.torch.lower.elementwise.scalar.array_functions import FUNCTIONS
from treadle.link.torch.scalars import SCALARS
from treadle.tensor import beta_tail_integral, gamma_tail_integral

for _name in ("i0", "i1", "gammaln", "tri_gamma", "polygamma", "gammaincinv", "gammainccinv"):
    SCALARS.register(_name, {"f": getattr(FUNCTIONS, _name)})
for _name in ("i0e", "i1e", "erf", "erfc", "erfcx", "ndtri", "digamma"):
    SCALARS.register(_name, {"f": getattr(torch.special, _name)})
for _name in ("j0", "j1", "y0", "y1"):
    SCALARS.register(_name, {"f": getattr(torch.special, f"bessel_{_name}")})
for _name in ("k0", "k1"):
    SCALARS.register(_name, {"f": getattr(torch.special, f"modified_bessel_{_name}")})
    SCALARS.register(f"{_name}e", {"f": getattr(torch.special, f"scaled_modified_bessel_{_name}")})
# Above this the number itself is the result, to the last digit; by PyTorch's own threshold to nine digits.
SCALARS.register("softplus", {"f": partial(torch.nn.functional.softplus, threshold=40.0)})
SCALARS.register("sigmoid", {"f": torch.sigmoid})
SCALARS.register("gamma_tail_moment", {"f": partial(gamma_tail_integral, torch)})
SCALARS.register("beta_tail_moment", {"f": partial(beta_tail_integral, torch)})


@SCALARS.function("ndtr", kinds="f")
def _ndtr(x: torch.Tensor) -> torch.Tensor:
    """Compute from erfc, which keeps the digits of small values; PyTorch's own loses all of them."""
    return torch.mul(x, -math.sqrt(0.5)).erfc_().mul_(0.5)


@SCALARS.function("gamma", kinds="f")
def _gamma(x: torch.Tensor) -> torch.Tensor:
    value = torch.where(x > 0, 1.0, _sign_of_gamma(x)) * torch.exp(torch.special.gammaln(x))
    value = torch.where((x < 0) & (x == torch.floor(x)), torch.nan, value)
    return torch.where(x == 0, torch.copysign(torch.full_like(x, torch.inf), x), value)


def _sign_of_gamma(x: torch.Tensor) -> torch.Tensor:
    """Return the sign of the gamma function, which changes at every pole."""
    return torch.where((x > 0) | (torch.remainder(torch.floor(x), 2) == 0), 1.0, -1.0).to(x.dtype)


@SCALARS.function("poch", kinds="f")
def _poch(z: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    size = torch.exp(torch.special.gammaln(z + m) - torch.special.gammaln(z))
    return torch.where(m == 0, 1.0, _sign_of_gamma(z) * _sign_of_gamma(z + m) * size)


# From this shape on the lighter tail of the gamma density is integrated: PyTorch's own functions are off by 1e-9.
_LARGE = 20.0


def _tail(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return the lighter tail for large shapes."""
    a, x = torch.broadcast_tensors(torch.clamp(a.double(), min=_LARGE), x.double())
    off = (x - a) / a
    r = 1 / (a * a)
    stirling = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / a
    density = torch.sqrt(a / (2 * torch.pi)) * torch.exp(a * (torch.log1p(off) - off) - stirling)
    return density * gamma_tail_integral(torch, torch.zeros_like(a), a, x)


@SCALARS.function("gammainc", kinds="f")
def _gammainc(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    tail = _tail(a, x)
    inside = torch.where(a > _LARGE, torch.where(x <= a, tail, 1 - tail), torch.special.gammainc(a, x)).to(x.dtype)
    return FUNCTIONS.at_ends(a, x, inside, 0.0)


@SCALARS.function("gammaincc", kinds="f")
def _gammaincc(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    tail = _tail(a, x)
    inside = torch.where(a > _LARGE, torch.where(x <= a, 1 - tail, tail), torch.special.gammaincc(a, x)).to(x.dtype)
    return FUNCTIONS.at_ends(a, x, inside, 1.0)
