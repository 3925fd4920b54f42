"""Error functions and the normal distribution: JAX's own; the bodies of erfinv and log_ndtr are more accurate."""

from __future__ import annotations

from jax import lax
from jax.scipy import special

from treadle.link.jax.scalars import SCALARS

SCALARS.register("erf", {"f": lax.erf})
SCALARS.register("erfc", {"f": lax.erfc})
SCALARS.register("ndtri", {"f": special.ndtri})
