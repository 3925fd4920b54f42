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
        read = jnp.tril(a) if op.lower else jnp.tril(a.mT.conj())
        factor = lax.linalg.cholesky(read, symmetrize_input=False)
        failed = jnp.isnan(jnp.diagonal(factor, axis1=-2, axis2=-1)).any(-1)
        if op.check_finite:
            failed = failed | not_finite(read)
        return settled(op.on_error, failed, jnp.tril(factor) if op.lower else jnp.tril(factor).mT.conj())

    return run


@JAX.register(CholeskySolve)
def cholesky_solve(op: CholeskySolve, node: TensorNode) -> Lowered:
    """Lower to two triangular solves."""

    def run(factor: jax.Array, b: jax.Array) -> Results | Checked[Results]:
        read, right = broadcast_batches(jnp.tril(factor) if op.lower else jnp.triu(factor), b)
        solve = partial(lax.linalg.triangular_solve, read, left_side=True, lower=op.lower)
        turned = partial(solve, transpose_a=True, conjugate_a=True)
        x = turned(solve(right)) if op.lower else solve(turned(right))
        if not op.check_finite:
            return x
        return settled(op.on_error, not_finite(read, right), x)

    return run
