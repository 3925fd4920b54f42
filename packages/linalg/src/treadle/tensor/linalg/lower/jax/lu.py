"""LU factors on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from treadle.link.jax import JAX, Checked, Lowered, Results
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.lu import LUFactor, LUSolve, PivotToPermutations
from treadle.tensor.linalg.lower.jax.lu_factors import is_singular, lu_solved
from treadle.tensor.linalg.lower.jax.matrices import not_finite, settled
from treadle.tensor.linalg.lower.jax.small_matrices import SmallFactors, entries, factored, is_small, stacked


@JAX.register(LUFactor)
def lu_factor(op: LUFactor, node: TensorNode) -> Lowered:
    """Lower to lax.linalg.lu, or to the factors of small matrices written out."""

    def run(a: jax.Array) -> Results | Checked[Results]:
        if is_small(a):
            small = factored(a)
            factor, pivots = stacked(small.rows), jnp.stack(small.pivots, -1)
        else:
            factor, pivots, _ = lax.linalg.lu(a)
        return settled(op.on_error, not_finite(a), factor, pivots) if op.check_finite else (factor, pivots)

    return run


@JAX.register(LUSolve)
def lu_solve(op: LUSolve, node: TensorNode) -> Lowered:
    """Lower to two triangular solves."""

    def run(factor: jax.Array, pivots: jax.Array, b: jax.Array) -> Results | Checked[Results]:
        n = factor.shape[-1]
        failed = is_singular(factor) | _misplaced(pivots)
        if op.check_finite:
            failed = failed | not_finite(factor, b)
        if is_small(factor):
            small = SmallFactors(entries(factor), [pivots[..., k] for k in range(n)])
            return settled(op.on_error, failed, small.solved(b, op.adjoint))
        order = lax.linalg.lu_pivots_to_permutation(jnp.clip(pivots, 0, max(n - 1, 0)), n)
        return settled(op.on_error, failed, lu_solved(factor, order, b, 2 if op.adjoint else 0))

    return run


@JAX.register(PivotToPermutations)
def pivots_to_permutation(op: PivotToPermutations, node: TensorNode) -> Lowered:
    """Lower to lax.linalg.lu_pivots_to_permutation."""

    def run(pivots: jax.Array) -> Checked[Results]:
        n = pivots.shape[-1]
        order = lax.linalg.lu_pivots_to_permutation(jnp.clip(pivots, 0, max(n - 1, 0)).astype("int32"), n)
        result = order if op.inverse else jnp.argsort(order, axis=-1)
        return Checked(result.astype("int64"), _misplaced(pivots).any())

    return run


def _misplaced(pivots: jax.Array) -> jax.Array:
    """Return for each matrix whether a pivot is out of range."""
    return ((pivots < 0) | (pivots >= pivots.shape[-1])).any(-1)
