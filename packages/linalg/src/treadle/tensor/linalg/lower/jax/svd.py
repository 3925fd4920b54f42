"""Singular values on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from treadle.link.jax import JAX, Checked, Lowered, Results
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.svd import SVD
from treadle.tensor.linalg.lower.jax.matrices import finite, settled


@JAX.register(SVD)
def svd(op: SVD, node: TensorNode) -> Lowered:
    """Lower to jnp.linalg.svd, which gives NaN where LAPACK does not converge."""

    def run(a: jax.Array) -> Results | Checked[Results]:
        a, failed = finite(a)
        if not op.compute_uv:
            s = jnp.linalg.svd(a, compute_uv=False)
            return settled(op.on_error, failed | jnp.isnan(s).any(-1), s)
        u, s, vh = jnp.linalg.svd(a, full_matrices=op.full_matrices)
        return settled(op.on_error, failed | jnp.isnan(s).any(-1), u, s, vh)

    return run
