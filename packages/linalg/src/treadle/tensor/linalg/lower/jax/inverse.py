"""Inverses of matrices on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from treadle.link.jax import JAX, Checked, Lowered, Results
from treadle.tensor import TensorNode
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.lower.jax.lu_factors import is_singular, lu_solved
from treadle.tensor.linalg.lower.jax.matrices import not_finite, settled


@JAX.register(MatrixInverse)
def inverse(op: MatrixInverse, node: TensorNode) -> Lowered:
    """Lower to LU factors, and a solve for the identity."""

    def run(a: jax.Array) -> Results | Checked[Results]:
        factor, _, permutation = lax.linalg.lu(a)
        failed = is_singular(factor)
        identity = jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)
        x = lu_solved(factor, permutation, identity)
        return settled(op.on_error, failed | not_finite(a) if op.check_finite else failed, x)

    return run
