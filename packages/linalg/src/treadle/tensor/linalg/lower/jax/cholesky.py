"""Cholesky factors on JAX."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from treadle.link.jax import JAX, Checked, Lowered, Results
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.cholesky import Cholesky, CholeskySolve
from treadle.tensor.linalg.lower.jax.matrices import broadcast_batches, not_finite, settled


@JAX.register(Cholesky)
def cholesky(op: Cholesky, node: TensorNode) -> Lowered:
    """Lower to lax.linalg.cholesky, which gives NaN for matrices that are not positive definite."""

    def run(a: jax.Array) -> Results | Checked[Results]:
        # JAX reads the lower triangle only, and returns zeros above.
        factor = lax.linalg.cholesky(a if op.lower else a.mT.conj(), symmetrize_input=False)
        pivots = jnp.diagonal(factor, axis1=-2, axis2=-1)
        # What is not finite below the diagonal makes a pivot NaN; on the diagonal it is a pivot that is not finite.
        failed = ~(jnp.isfinite(pivots) if op.check_finite else pivots == pivots).all(-1)
        return settled(op.on_error, failed, factor if op.lower else factor.mT.conj())

    return run


@JAX.register(CholeskySolve)
def cholesky_solve(op: CholeskySolve, node: TensorNode) -> Lowered:
    """Lower to two triangular solves."""
    made_by = node.inputs[0].owner
    # Such factors are finite, or NaN throughout, and lead to NaN throughout.
    is_checked = made_by is not None and isinstance(made_by.op, Cholesky) and made_by.op.check_finite

    def run(factor: jax.Array, b: jax.Array) -> Results | Checked[Results]:
        left, right = broadcast_batches(factor, b)
        # JAX reads the triangle only.
        solve = partial(lax.linalg.triangular_solve, left, left_side=True, lower=op.lower)
        turned = partial(solve, transpose_a=True, conjugate_a=True)
        x = turned(solve(right)) if op.lower else solve(turned(right))
        if not op.check_finite:
            return x
        if is_checked:
            return settled(op.on_error, not_finite(right), x)
        read = jnp.tril(factor) if op.lower else jnp.triu(factor)
        return settled(op.on_error, not_finite(read, right), x)

    return run
