"""The distributions that PyTensor draws otherwise, with named dimensions."""

from __future__ import annotations

from treadle.as_pytensor.adapters import draws
from treadle.named.random import as_xrv

cauchy = as_xrv(draws.cauchy)
gumbel = as_xrv(draws.gumbel)
