"""The gamma function and functions made of it: JAX's own, with SciPy's values at poles and infinities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
from jax.scipy import special

from treadle.link.jax.scalars import SCALARS

if TYPE_CHECKING:
    import jax


@SCALARS.function("gammaln", kinds="f")
def _gammaln(x: jax.Array) -> jax.Array:
    return jnp.where(x == -jnp.inf, x, special.gammaln(x))


@SCALARS.function("digamma", kinds="f")
def _digamma(x: jax.Array) -> jax.Array:
    return jnp.where(x == 0, jnp.copysign(jnp.inf, -x), special.digamma(x))
