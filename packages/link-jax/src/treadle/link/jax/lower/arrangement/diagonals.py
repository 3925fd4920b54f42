"""Matrices of diagonals on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from treadle.link.jax.open_lengths import as_length, has_open
from treadle.link.jax.table import JAX, Lowered
from treadle.tensor import AllocDiag, TensorNode


@JAX.register(AllocDiag)
def alloc_diag(op: AllocDiag, node: TensorNode) -> Lowered:
    """Lower to a choice between a column and zeros, or to a write by position where lengths are open.

    What the op decomposes into writes at a distance of n + 1 elements, which is no part for all lengths.
    """
    down, right = max(-op.offset, 0), max(op.offset, 0)

    def run(x: jax.Array, *size: np.ndarray) -> jax.Array:
        n, m = map(as_length, size)
        batch = x.shape[:-1]
        if has_open((*x.shape, n, m)):
            at = jnp.arange(jax.core.max_dim(jax.core.min_dim(n - down, m - right), 0))
            return jnp.zeros((*batch, n, m), x.dtype).at[..., at + down, at + right].set(x)
        count = max(min(n - down, m - right), 0)
        if not count:
            return jnp.zeros((*batch, n, m), x.dtype)
        amounts = [*[(0, 0, 0)] * len(batch), (down, n - count - down, 0)]
        column = lax.pad(jnp.broadcast_to(x, (*batch, count)), jnp.zeros((), x.dtype), amounts)
        on_diagonal = lax.iota("int64", n)[:, None] == lax.iota("int64", m) - op.offset
        return jnp.where(on_diagonal, column[..., None], jnp.zeros((), x.dtype))

    return run
