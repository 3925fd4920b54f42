"""Triangular systems on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from treadle.link.jax import JAX, Checked, Lowered, Results
from treadle.tensor import TensorNode
from treadle.tensor.linalg.lower.jax.matrices import broadcast_batches, not_finite, settled
from treadle.tensor.linalg.triangular_systems import SolveTriangular


@JAX.register(SolveTriangular)
def solve_triangular(op: SolveTriangular, node: TensorNode) -> Lowered:
    """Lower to lax.linalg.triangular_solve."""
    outside = -1 if op.unit_diagonal else 0

    def run(a: jax.Array, b: jax.Array) -> Results | Checked[Results]:
        read, right = broadcast_batches(jnp.tril(a, outside) if op.lower else jnp.triu(a, -outside), b)
        x = lax.linalg.triangular_solve(
            read, right, left_side=True, lower=op.lower, unit_diagonal=op.unit_diagonal
        )  # fmt: skip
        failed = jnp.zeros(read.shape[:-2], bool)
        if not op.unit_diagonal:
            failed = (jnp.diagonal(read, axis1=-2, axis2=-1) == 0).any(-1)
        if op.check_finite:
            failed = failed | not_finite(read, right)
        return settled(op.on_error, failed, x)

    return run
