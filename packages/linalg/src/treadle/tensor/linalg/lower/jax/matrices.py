"""Handling of matrices without a result, for lowerings of ops on stacks of matrices."""

from __future__ import annotations

from functools import reduce

import jax
import jax.numpy as jnp

from treadle.link.jax import Checked, Results


def settled(on_error: str, failed: jax.Array, *results: jax.Array) -> Results | Checked[Results]:
    """Return results with NaN in place of those of matrices that failed (0 in integers), or flagged for an error.

    `on_error` is the op's; `failed` says for each matrix of the stack whether it has no result.
    """
    if on_error == "raise":
        return Checked(results[0] if len(results) == 1 else results, failed.any())
    filled = tuple(
        jnp.where(failed.reshape(*failed.shape, *[1] * (x.ndim - failed.ndim)), _missing(x), x) for x in results
    )
    return filled[0] if len(filled) == 1 else filled


def _missing(x: jax.Array) -> jax.Array:
    return jnp.asarray(jnp.nan if jnp.issubdtype(x.dtype, jnp.inexact) else 0, x.dtype)


def not_finite(*stacks: jax.Array) -> jax.Array:
    """Return for each matrix of stacks, broadcast together, whether it has NaN or infinities."""
    return reduce(jnp.logical_or, (~jnp.isfinite(x).all((-2, -1)) for x in stacks))


def broadcast_batches(*stacks: jax.Array) -> list[jax.Array]:
    """Return stacks of matrices with the dimensions before the last two broadcast together."""
    batch = jnp.broadcast_shapes(*(x.shape[:-2] for x in stacks))
    return [jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in stacks]


def finite(a: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return matrices with zeros for those that hold NaN or infinities, and which ones these are."""
    failed = not_finite(a)
    return jnp.where(failed[..., None, None], jnp.zeros((), a.dtype), a), failed
