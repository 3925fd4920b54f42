"""Modified Bessel functions of orders 0 and 1: JAX's own. The others are computed by their integrals."""

from __future__ import annotations

from jax.scipy import special

from treadle.link.jax.scalars import SCALARS

for _name in ("i0", "i0e", "i1", "i1e"):
    SCALARS.register(_name, {"f": getattr(special, _name)})
