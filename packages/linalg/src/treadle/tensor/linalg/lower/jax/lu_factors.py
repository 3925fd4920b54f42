"""LU factors of stacks of matrices, for lowerings of what is computed from them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from treadle.tensor.linalg.lower.jax.matrices import broadcast_batches


def is_singular(factor: jax.Array) -> jax.Array:
    """Return for each matrix whether its factor has a zero on the diagonal."""
    return jnp.any(jnp.diagonal(factor, axis1=-2, axis2=-1) == 0, axis=-1)


def lu_solved(factor: jax.Array, permutation: jax.Array, b: jax.Array, trans: int = 0) -> jax.Array:
    """Solve with LU factors and their row order; `trans` is 1 for the transpose, 2 for the conjugate transpose."""
    left, right = broadcast_batches(factor, b)
    order = jnp.broadcast_to(permutation, (*left.shape[:-2], permutation.shape[-1]))
    if trans == 0:
        x = jnp.take_along_axis(right, order[..., None], axis=-2)
        x = lax.linalg.triangular_solve(left, x, left_side=True, lower=True, unit_diagonal=True)
        return lax.linalg.triangular_solve(left, x, left_side=True, lower=False)
    is_conjugate = trans == 2
    x = lax.linalg.triangular_solve(left, right, left_side=True, transpose_a=True, conjugate_a=is_conjugate)
    x = lax.linalg.triangular_solve(
        left, x, left_side=True, lower=True, unit_diagonal=True, transpose_a=True, conjugate_a=is_conjugate
    )
    return jnp.take_along_axis(x, jnp.argsort(order, axis=-1)[..., None], axis=-2)
