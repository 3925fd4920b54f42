"""Eigenvalues and eigenvectors on JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from treadle.link.jax.table import JAX, Checked
from treadle.tensor import Eigh, Eigvalsh

if TYPE_CHECKING:
    from treadle.link.jax.table import Lowered, Results
    from treadle.tensor import TensorNode


@JAX.register(Eigh)
@JAX.register(Eigvalsh)
def of_hermitian(op: Eigh | Eigvalsh, node: TensorNode) -> Lowered:
    """Lower to jnp.linalg.eigh."""
    vectors, failing = len(node.outputs) == 2, op.on_error == "raise"

    def run(a: jax.Array) -> Results | Checked[Results]:
        read = jnp.tril(a) if op.lower else jnp.triu(a)
        failed = ~jnp.isfinite(read).all((-2, -1))
        # Of what is not finite LAPACK may make numbers.
        read = jnp.where(failed[..., None, None], jnp.zeros((), a.dtype), read)
        if vectors:
            w, v = jnp.linalg.eigh(read, UPLO=op.uplo, symmetrize_input=False)
            failed |= jnp.isnan(w).any(-1)
            found: Results = (_marked(w, failed), _marked(v, failed))
        else:
            w = jnp.linalg.eigvalsh(read, UPLO=op.uplo, symmetrize_input=False)
            failed |= jnp.isnan(w).any(-1)
            found = _marked(w, failed)
        return Checked(found, failed.any()) if failing else found

    return run


def _marked(x: jax.Array, failed: jax.Array) -> jax.Array:
    """Return results with NaN for each matrix that has none."""
    return jnp.where(jnp.expand_dims(failed, range(failed.ndim, x.ndim)), jnp.full((), jnp.nan, x.dtype), x)
