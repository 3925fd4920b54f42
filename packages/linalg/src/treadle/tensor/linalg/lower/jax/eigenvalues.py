"""Eigenvalues and eigenvectors on JAX, which returns NaN where LAPACK does not converge."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from treadle.link.jax import JAX, Checked, Lowered, Results
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.eigenvalues import Eig, Eigvals
from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import Eigh, Eigvalsh
from treadle.tensor.linalg.lower.jax.matrices import finite, settled


@JAX.register(Eigh)
@JAX.register(Eigvalsh)
def of_hermitian(op: Eigh | Eigvalsh, node: TensorNode) -> Lowered:
    """Lower to jnp.linalg.eigh, or eigvalsh."""
    vectors = len(node.outputs) == 2

    def run(a: jax.Array) -> Results | Checked[Results]:
        read, failed = finite(jnp.tril(a) if op.lower else jnp.triu(a))
        compute = jnp.linalg.eigh if vectors else jnp.linalg.eigvalsh
        results = compute(read, UPLO=op.uplo, symmetrize_input=False)
        w, *v = results if vectors else (results,)
        return settled(op.on_error, failed | jnp.isnan(w).any(-1), w, *v)

    return run


@JAX.register(Eig)
@JAX.register(Eigvals)
def of_square(op: Eig | Eigvals, node: TensorNode) -> Lowered:
    """Lower to jnp.linalg.eig, or eigvals."""
    vectors = len(node.outputs) == 2

    def run(a: jax.Array) -> Results | Checked[Results]:
        read, failed = finite(a)
        w, *v = jnp.linalg.eig(read) if vectors else (jnp.linalg.eigvals(read),)
        return settled(op.on_error, failed | jnp.isnan(w).any(-1), w, *v)

    return run
