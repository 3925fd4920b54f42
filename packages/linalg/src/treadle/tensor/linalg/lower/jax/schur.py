"""Schur forms on JAX, which has them on the CPU only; it returns NaN where LAPACK does not converge."""

from __future__ import annotations

from typing import NoReturn

import jax
import jax.numpy as jnp

from treadle.graph import Unsupported
from treadle.link.jax import JAX, Checked, Lowered, Results
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.schur import QZ, RealToComplexSchur, Schur
from treadle.tensor.linalg.lower.jax.matrices import broadcast_batches, finite, not_finite, settled

_REMEDY = "compile the function with mode C, NUMBA or VM"


@JAX.register(Schur)
def schur(op: Schur, node: TensorNode) -> Lowered:
    """Lower to jax.lax.linalg.schur; refuse an order of the eigenvalues."""
    if op.sort is not None:
        reason = "JAX has no Schur form with its eigenvalues in an order"
        raise Unsupported(reason, f"leave sort out, or {_REMEDY}")

    def run(a: jax.Array) -> Results | Checked[Results]:
        read, failed = finite(a)
        t, z = jax.lax.linalg.schur(read)
        return settled(op.on_error, failed | jnp.isnan(t).any((-2, -1)), t, z)

    return run


@JAX.register(QZ)
def qz(op: QZ, node: TensorNode) -> NoReturn:
    """Refuse: JAX has no generalised Schur form."""
    reason = "JAX has no generalised Schur form"
    raise Unsupported(reason, _REMEDY)


@JAX.register(RealToComplexSchur)
def rsf2csf(op: RealToComplexSchur, node: TensorNode) -> Lowered:
    """Lower to jax.scipy.linalg.rsf2csf."""
    dtype = node.outputs[0].type.dtype

    def run(t: jax.Array, z: jax.Array) -> Results | Checked[Results]:
        failed = not_finite(t, z)
        if t.shape[-1] == 0:
            # JAX looks at the last element.
            return settled(op.on_error, failed, *(x.astype(dtype) for x in broadcast_batches(t, z)))
        return settled(op.on_error, failed, *jax.scipy.linalg.rsf2csf(finite(t)[0], finite(z)[0]))

    return run
