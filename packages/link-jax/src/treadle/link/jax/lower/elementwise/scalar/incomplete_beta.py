"""The incomplete beta function: JAX's own, and its inverse by bisection."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax.nn import sigmoid
from jax.scipy import special

from treadle.link.jax.lower.elementwise.scalar.incomplete_gamma import LEAST, bisected, repeated
from treadle.link.jax.scalars import SCALARS
from treadle.tensor import beta_tail_integral

# The logit of the largest number below 1.
MOST = 37.0


@SCALARS.function("betaincinv", kinds="f")
def _betaincinv(a: jax.Array, b: jax.Array, p: jax.Array) -> jax.Array:
    def below(y: jax.Array) -> jax.Array:
        return special.betainc(a, b, sigmoid(y)) < p

    found = jnp.where((p == 0) | (p == 1), p, sigmoid(bisected(below, a, LEAST, MOST)))
    return jnp.where((a > 0) & (b > 0) & (p >= 0) & (p <= 1), found, jnp.nan)


SCALARS.register("beta_tail_moment", {"f": partial(beta_tail_integral, jnp, repeat=repeated)})
SCALARS.register("betainc", {"f": special.betainc})
