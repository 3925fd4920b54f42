"""Eigenvalues and eigenvectors on JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from treadle.link.jax.table import JAX, Checked
from treadle.tensor import Eig, Eigh, Eigvals, Eigvalsh

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.link.jax.table import Lowered, Results
    from treadle.tensor import MatrixOp, TensorNode


@JAX.register(Eigh)
@JAX.register(Eigvalsh)
def of_hermitian(op: Eigh | Eigvalsh, node: TensorNode) -> Lowered:
    """Lower to jnp.linalg.eigh."""
    del node

    def read(a: jax.Array) -> jax.Array:
        return jnp.tril(a) if op.lower else jnp.triu(a)

    if isinstance(op, Eigvalsh):
        return _guarded(op, lambda a: (jnp.linalg.eigvalsh(a, UPLO=op.uplo, symmetrize_input=False),), read)
    return _guarded(op, lambda a: tuple(jnp.linalg.eigh(a, UPLO=op.uplo, symmetrize_input=False)), read)


@JAX.register(Eig)
def eig(op: Eig, node: TensorNode) -> Lowered:
    """Lower to jnp.linalg.eig."""
    del node
    return _guarded(op, lambda a: tuple(jnp.linalg.eig(a)))


@JAX.register(Eigvals)
def eigvals(op: Eigvals, node: TensorNode) -> Lowered:
    """Lower to jnp.linalg.eigvals."""
    del node
    return _guarded(op, lambda a: (jnp.linalg.eigvals(a),))


def _guarded(
    op: MatrixOp,
    run: Callable[[jax.Array], tuple[jax.Array, ...]],
    read: Callable[[jax.Array], jax.Array] = lambda a: a,
) -> Lowered:
    """Return a function with NaN, or a flag, for matrices that are not finite in what is `read`."""

    def guarded(a: jax.Array) -> Results | Checked[Results]:
        part = read(a)
        failed = ~jnp.isfinite(part).all((-2, -1))
        # Of what is not finite LAPACK may make numbers, or none in any time.
        found = run(jnp.where(failed[..., None, None], jnp.zeros((), a.dtype), part))
        # Where LAPACK does not converge, JAX returns NaN.
        failed |= jnp.isnan(found[0]).any(-1)
        marked = tuple(
            jnp.where(jnp.expand_dims(failed, range(failed.ndim, x.ndim)), jnp.full((), jnp.nan, x.dtype), x)
            for x in found
        )
        results = marked if len(marked) > 1 else marked[0]
        return Checked(results, failed.any()) if op.on_error == "raise" else results

    return guarded
