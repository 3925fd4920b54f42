"""Modified Bessel functions of orders 0 and 1: JAX's own. The others are computed by their integrals."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy import special

from treadle.link.jax.scalars import SCALARS

for _name in ("i0e", "i1e"):
    SCALARS.register(_name, {"f": getattr(special, _name)})


@SCALARS.function("i0", kinds="f")
def _i0(x: jax.Array) -> jax.Array:
    """Multiply by exp(|x|), which overflows before the result does: by its root, twice."""
    root = jnp.exp(jnp.abs(x) / 2)
    return special.i0e(x) * root * root


@SCALARS.function("i1", kinds="f")
def _i1(x: jax.Array) -> jax.Array:
    root = jnp.exp(jnp.abs(x) / 2)
    return special.i1e(x) * root * root
