"""The gamma function and functions made of it: JAX's own, with SciPy's values at poles and infinities."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy import special

from treadle.link.jax.scalars import SCALARS


@SCALARS.function("gamma", kinds="f")
def _gamma(x: jax.Array) -> jax.Array:
    pole = (x == jnp.floor(x)) & (x < 0)
    return jnp.where(pole, jnp.nan, jnp.where(x == 0, jnp.copysign(jnp.inf, x), special.gamma(x)))


@SCALARS.function("gammaln", kinds="f")
def gammaln(x: jax.Array) -> jax.Array:
    """Return the logarithm of the gamma function's absolute value."""
    return jnp.where(x == -jnp.inf, x, special.gammaln(x))


@SCALARS.function("digamma", kinds="f")
def _digamma(x: jax.Array) -> jax.Array:
    return jnp.where(x == 0, jnp.copysign(jnp.inf, -x), special.digamma(x))


@SCALARS.function("tri_gamma", kinds="f")
def _tri_gamma(x: jax.Array) -> jax.Array:
    return _polygamma(jnp.ones_like(x), x)


@SCALARS.function("polygamma", kinds="f")
def _polygamma(n: jax.Array, x: jax.Array) -> jax.Array:
    """By Hurwitz's zeta function (DLMF 25.11.12); below 0 by its sum over both sides, which has period 1."""
    s = n + 1
    sign = jnp.where(s % 2 == 0, 1.0, -1.0).astype(x.dtype)
    rest = x - jnp.floor(x)
    pole = (x <= 0) & ((rest == 0) | (x == -jnp.inf))
    below = x < 0
    safe = jnp.where(pole, 0.5, rest)
    # The distances to both poles, which are exact next to them; between them the largest terms may cancel.
    above = jnp.where(pole | ~below, 0.5, jnp.ceil(x) - x)
    poles = safe**-s + sign * above**-s
    rest = (_zeta(s, 1 + safe) + sign * _zeta(s, 1 + above)) - sign * _zeta(s, jnp.where(below, 1 - x, 1))
    total = jnp.where(below, poles + rest, _zeta(s, jnp.where(below, 1, x)))
    total = jnp.where(pole, jnp.inf, jnp.where(x == jnp.inf, 0, total))
    made = sign * special.gamma(s) * total
    made = jnp.where((n >= 1) & (n < jnp.inf) & (n == jnp.floor(n)), made, jnp.nan)
    return jnp.where(n == 0, _digamma(x), made)


def _zeta(s: jax.Array, q: jax.Array) -> jax.Array:
    """Return Hurwitz's zeta function; of a large number by the first terms of its expansion, where q**-s is 0."""
    large = jnp.where(q > 1e9, q, 1e9)
    return jnp.where(q > 1e9, large ** (1 - s) * (1 / (s - 1) + 0.5 / large), special.zeta(s, q))


SCALARS.register("poch", {"f": special.poch})
