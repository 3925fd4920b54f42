"""The distributions that PyTensor draws otherwise, with named dimensions."""

from __future__ import annotations

from treadle import named
from treadle.as_pytensor.adapters.draws import by_quantiles

cauchy = named.random.as_xrv(by_quantiles.cauchy)
gumbel = named.random.as_xrv(by_quantiles.gumbel)
