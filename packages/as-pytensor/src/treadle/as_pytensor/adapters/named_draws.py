"""The distributions that PyTensor draws otherwise, with named dimensions."""

from __future__ import annotations

from treadle import named
from treadle.as_pytensor.adapters import draws

cauchy = named.random.as_xrv(draws.cauchy)
gumbel = named.random.as_xrv(draws.gumbel)
