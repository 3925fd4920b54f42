"""Gauss's hypergeometric function: JAX's own, and the derivative of its series."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy import special

from treadle.link.jax.mapped_axes import while_loop
from treadle.link.jax.scalars import SCALARS

Sums = tuple[jax.Array, jax.Array, jax.Array, jax.Array]
# How many terms, the last ones, the sums, and which of these go on.
State = tuple[jax.Array, Any, Any, Sums, jax.Array]
Continued = tuple[jax.Array, jax.Array, Any]


MOST_TERMS = 100_000
START, FAR = 0.9, 0.99

SCALARS.register("hyp2f1", {"f": special.hyp2f1})


@SCALARS.function("hyp2f1_series_slope", kinds="f")
def _series_slope(by: jax.Array, a: jax.Array, b: jax.Array, c: jax.Array, z: jax.Array, away: jax.Array) -> jax.Array:
    """The derivative by a (by = 0) or c, as the scalar op's implementation computes it."""
    far = (z > FAR) & (away > 0)
    sums = _sums(by, a, b, c, jnp.where(far, START, z))
    slope = jnp.where(far, _continued(by, a, b, c, jnp.where(far, away, 1.0), sums), sums[2])
    return jnp.where((z >= 0) & (away > 0), slope, jnp.nan)


def _sums(by: jax.Array, a: jax.Array, b: jax.Array, c: jax.Array, z: jax.Array) -> Sums:
    """The series, its derivative by z, and the derivatives of both by a parameter."""
    # Up to there a factor may be next to 0, or a divisor, and terms that were small may grow again.
    turn = jnp.maximum(jnp.maximum(-a, -b), -c)
    possible = (turn < MOST_TERMS) & jnp.isfinite(a) & jnp.isfinite(b) & jnp.isfinite(c)

    def step(state: State) -> State:
        n, term, slope, sums, unsettled = state
        ratio = (b + n) / (c + n) * z / (n + 1)
        slope = jnp.where(by == 0, slope * (a + n) + term, (slope - term / (c + n)) * (a + n)) * ratio
        term = term * (a + n) * ratio
        # Each element's sum ends by itself, whatever stands beside it.
        terms = (term, (n + 1) * term, slope, (n + 1) * slope)
        f, df, s, ds = (jnp.where(unsettled, old + new, old) for old, new in zip(sums, terms, strict=True))
        # A slope may happen to be 0 while the terms go on.
        size = (n + 1) * jnp.maximum(jnp.abs(slope), jnp.abs(term))
        grows = (n < turn) | (jnp.abs((a + n) * ratio) >= 1)
        goes_on = (size > 0) & (size < jnp.inf) & (grows | (size > 1e-17 * jnp.abs(ds)))
        return n + 1, term, slope, (f, df, s, ds), unsettled & goes_on

    one, zero = jnp.ones_like(z), jnp.zeros_like(z)
    start = (jnp.zeros((), z.dtype), one, zero, (one, zero, zero, zero), possible & (z < 1))
    *_, sums, unsettled = while_loop(lambda state: (state[0] < MOST_TERMS) & jnp.any(state[4]), step, start)
    f, df, s, ds = (jnp.where(possible & ~unsettled, each, jnp.nan) for each in sums)
    return f, df / z, s, ds / z


def _continued(by: jax.Array, a: jax.Array, b: jax.Array, c: jax.Array, end: jax.Array, sums: Sums) -> jax.Array:
    """The derivative at a distance from 1, continued in steps of half of it by the differential equation."""

    def step(state: Continued) -> Continued:
        away, left, (f, df, s, ds) = state
        going = (away > end) & (left > 0)
        at, h = 1 - away, jnp.where(going, jnp.minimum(away - end, away / 2), away / 2)

        def term(state: Any) -> Any:
            k, (f0, s0), (f1, s1), sums, left, was_small, unsettled = state
            left = left - unsettled
            scale, drag = at * away * (k + 1) * (k + 2) / h, ((2 * away - 1) * k + c - (a + b + 1) * at) * (k + 1)
            pull = (k + a) * (k + b) * h
            source = jnp.where(by == 0, (k + b) * h * f0 + at * (k + 1) * f1, -(k + 1) * f1)
            f2, s2 = (pull * f0 - drag * f1) / scale, (pull * s0 - drag * s1 + source) / scale
            terms = (f2, (k + 2) * f2, s2, (k + 2) * s2)
            f, df, s, ds = (jnp.where(unsettled, old + new, old) for old, new in zip(sums, terms, strict=True))
            # One of them may happen to be 0 while the others go on.
            is_small = ~((k + 2) * jnp.maximum(jnp.abs(f2), jnp.abs(s2)) > 1e-17 * jnp.abs(ds))
            goes_on = unsettled & ~(is_small & was_small) & (left > 0)
            return k + 1, (f1, s1), (f2, s2), (f, df, s, ds), left, is_small, goes_on

        first = (f + df * h, df * h, s + ds * h, ds * h)
        start = (jnp.zeros((), at.dtype), (f, s), (df * h, ds * h), first, left, jnp.zeros(end.shape, bool), going)
        *_, scaled_sums, left, _, _ = while_loop(lambda state: jnp.any(state[-1]), term, start)
        scaled = (scaled_sums[0], scaled_sums[1] / h, scaled_sums[2], scaled_sums[3] / h)
        continued = tuple(jnp.where(going, new, old) for new, old in zip(scaled, (f, df, s, ds), strict=True))
        return jnp.where(going, away - h, away), left, continued

    start = (jnp.full_like(end, 1 - START), jnp.full(end.shape, MOST_TERMS), sums)
    _, left, continued = while_loop(lambda state: jnp.any((state[0] > end) & (state[1] > 0)), step, start)
    return jnp.where(left > 0, continued[2], jnp.nan)
