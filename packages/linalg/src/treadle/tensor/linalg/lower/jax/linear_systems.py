"""Linear systems on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from treadle.link.jax import JAX, Checked, Lowered, Results
from treadle.tensor import TensorNode
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.lower.jax.lu_factors import is_singular, lu_solved
from treadle.tensor.linalg.lower.jax.matrices import broadcast_batches, not_finite, settled
from treadle.tensor.linalg.lower.jax.small_matrices import factored, is_small


@JAX.register(Solve)
def solve(op: Solve, node: TensorNode) -> Lowered:
    """Lower to LU or Cholesky factors and triangular solves.

    JAX has no factors of symmetric indefinite matrices. LU factors of small ones are written out.
    """

    def run(a: jax.Array, b: jax.Array) -> Results | Checked[Results]:
        half = a if op.assume_a == "gen" else jnp.tril(a) if op.lower else jnp.triu(a)
        if op.assume_a == "pos":
            factor = lax.linalg.cholesky(half if op.lower else half.mT.conj(), symmetrize_input=False)
            failed = jnp.isnan(jnp.diagonal(factor, axis1=-2, axis2=-1)).any(-1)
            left, right = broadcast_batches(factor, b)
            x = lax.linalg.triangular_solve(left, right, left_side=True, lower=True)
            x = lax.linalg.triangular_solve(left, x, left_side=True, lower=True, transpose_a=True, conjugate_a=True)
        elif is_small(half):
            small = factored(_whole(op, half))
            failed, x = small.is_singular, small.solved(b)
        else:
            factor, _, permutation = lax.linalg.lu(_whole(op, half))
            failed = is_singular(factor)
            x = lu_solved(factor, permutation, b)
        return settled(op.on_error, failed | not_finite(half, b) if op.check_finite else failed, x)

    return run


def _whole(op: Solve, half: jax.Array) -> jax.Array:
    """Return the full matrix of which one triangle is read."""
    if op.assume_a == "gen":
        return half
    beside = jnp.tril(half, -1) if op.lower else jnp.triu(half, 1)
    diagonal = half - beside
    if op.assume_a == "her":
        return beside + beside.mT.conj() + diagonal.real.astype(half.dtype)
    return half + beside.mT
