"""Gauss's hypergeometric function: JAX's own, and the derivative of its series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
from jax import lax
from jax.scipy import special

from treadle.link.jax.scalars import SCALARS

if TYPE_CHECKING:
    import jax

    State = tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]

MOST_TERMS = 100_000

SCALARS.register("hyp2f1", {"f": special.hyp2f1})


@SCALARS.function("hyp2f1_series_slope", kinds="f")
def _series_slope(by: jax.Array, a: jax.Array, b: jax.Array, c: jax.Array, z: jax.Array) -> jax.Array:
    """The derivative by a (by = 0) or c, term by term, as the scalar op's implementation computes it."""
    least = jnp.maximum(jnp.abs(a), jnp.maximum(jnp.abs(b), jnp.abs(c)))

    def step(state: State) -> State:
        n, term, slope, total, unsettled = state
        rest = (b + n) / (c + n) * z / (n + 1)
        slope = jnp.where(by == 0, slope * (a + n) + term, (slope - term / (c + n)) * (a + n)) * rest
        # Each element's sum ends by itself, whatever stands beside it.
        total = jnp.where(unsettled, total + slope, total)
        term = term * (a + n) * rest
        # A slope may happen to be 0 while the terms go on.
        moving = (jnp.maximum(jnp.abs(slope), jnp.abs(term)) > 1e-17 * jnp.abs(total)) & (z < 1)
        return n + 1, term, slope, total, unsettled & (moving | (n < least))

    def goes_on(state: State) -> jax.Array:
        return (state[0] < MOST_TERMS) & jnp.any(state[4])

    zero = jnp.zeros_like(z)
    start = (jnp.zeros((), z.dtype), jnp.ones_like(z), zero, zero, jnp.ones(z.shape, bool))
    total = lax.while_loop(goes_on, step, start)[3]
    return jnp.where((z >= 0) & (z < 1), total, jnp.nan)
