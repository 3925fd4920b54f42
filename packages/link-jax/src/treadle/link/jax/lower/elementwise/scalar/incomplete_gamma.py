"""Incomplete gamma functions: JAX's own, and their inverses by bisection."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy import special

from treadle.link.jax.scalars import SCALARS
from treadle.tensor import NEWTON_STEPS, gamma_tail_integral

# A range of logarithms that holds those of all float64 numbers is halved so often.
STEPS = 64
LEAST, MOST = -746.0, 710.0


@SCALARS.function("gammainc", kinds="f")
def _gammainc(a: jax.Array, x: jax.Array) -> jax.Array:
    return _at_ends(a, x, special.gammainc(a, x), 0.0)


@SCALARS.function("gammaincc", kinds="f")
def _gammaincc(a: jax.Array, x: jax.Array) -> jax.Array:
    return _at_ends(a, x, special.gammaincc(a, x), 1.0)


def _at_ends(a: jax.Array, x: jax.Array, inner: jax.Array, at_zero: float) -> jax.Array:
    """Return SciPy's values where the shape or the argument is 0 or infinite."""
    inner = jnp.where((x == 0) | (a == jnp.inf), at_zero, jnp.where((x == jnp.inf) | (a == 0), 1 - at_zero, inner))
    both = ((x == 0) & (a == 0)) | ((x == jnp.inf) & (a == jnp.inf))
    return jnp.where(both | ~(a >= 0) | ~(x >= 0), jnp.nan, inner)


def bisected(below: Callable[[jax.Array], jax.Array], like: jax.Array, low: float, high: float) -> jax.Array:
    """Return where a condition that holds from `low` on ends."""

    def halve(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        middle = (ends[0] + ends[1]) / 2
        lower = below(middle)
        return jnp.where(lower, middle, ends[0]), jnp.where(lower, ends[1], middle)

    start = jnp.full_like(like, low), jnp.full_like(like, high)
    found: tuple[jax.Array, jax.Array] = lax.fori_loop(0, STEPS, halve, start)
    return found[0]


@SCALARS.function("gammaincinv", kinds="f")
def _gammaincinv(a: jax.Array, p: jax.Array) -> jax.Array:
    return _inverse(a, p, 1 - p, jnp.where(p == 0, 0.0, jnp.inf), p)


@SCALARS.function("gammainccinv", kinds="f")
def _gammainccinv(a: jax.Array, q: jax.Array) -> jax.Array:
    return _inverse(a, 1 - q, q, jnp.where(q == 0, jnp.inf, 0.0), q)


def _inverse(a: jax.Array, p: jax.Array, q: jax.Array, at_ends: jax.Array, given: jax.Array) -> jax.Array:
    light = p <= q

    def below(y: jax.Array) -> jax.Array:
        x = jnp.exp(y)
        return jnp.where(light, special.gammainc(a, x) < p, special.gammaincc(a, x) > q)

    inside = (a > 0) & (a < jnp.inf) & (given > 0) & (given < 1)
    ends = (a >= 0) & ((given == 0) | (given == 1))
    return jnp.where(inside, jnp.exp(bisected(below, a, LEAST, MOST)), jnp.where(ends, at_ends, jnp.nan))


def repeated(step: Callable[[jax.Array], jax.Array], start: jax.Array) -> jax.Array:
    """Take a step as often as integrals over tails need it."""
    found: jax.Array = lax.fori_loop(0, NEWTON_STEPS, lambda _, x: step(x), start)
    return found


SCALARS.register("gamma_tail_moment", {"f": partial(gamma_tail_integral, jnp, repeat=repeated)})
