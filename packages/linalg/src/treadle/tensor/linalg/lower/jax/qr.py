"""QR factors on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from treadle.link.jax import JAX, Checked, Lowered, Results, convert
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.qr import QR, HouseholderProduct
from treadle.tensor.linalg.lower.jax.matrices import finite, settled


@JAX.register(QR)
def qr(op: QR, node: TensorNode) -> Lowered:
    """Lower to jax.lax.linalg.qr; the Householder vectors to jnp.linalg.qr."""

    def run(a: jax.Array) -> Results | Checked[Results]:
        a, failed = finite(a)
        order: tuple[jax.Array, ...] = ()
        if op.pivoting:
            q, r, p = jax.lax.linalg.qr(a, pivoting=True, full_matrices=op.mode == "full")
            if not a.shape[-2]:
                # JAX leaves the order of the columns open where they have no elements.
                p = jnp.broadcast_to(jnp.arange(a.shape[-1]), p.shape)
            order = (convert(p, "int32"),)
            if op.mode == "raw":
                a = jnp.take_along_axis(a, p[..., None, :], -1)
        elif op.mode != "raw":
            q, r = jax.lax.linalg.qr(a, full_matrices=op.mode == "full")
        if op.mode == "raw":
            h, tau = jnp.linalg.qr(a, mode="raw")
            vectors = jnp.matrix_transpose(h)
            return settled(op.on_error, failed, vectors, tau, jnp.triu(vectors[..., : tau.shape[-1], :]), *order)
        if op.mode == "r":
            below = a.shape[-2] - r.shape[-2]
            return settled(op.on_error, failed, jnp.pad(r, [(0, 0)] * (r.ndim - 2) + [(0, below), (0, 0)]), *order)
        return settled(op.on_error, failed, q, r, *order)

    return run


@JAX.register(HouseholderProduct)
def householder_product(op: HouseholderProduct, node: TensorNode) -> Lowered:
    """Lower to jax.lax.linalg.householder_product."""

    def run(a: jax.Array, tau: jax.Array) -> jax.Array:
        batch = jnp.broadcast_shapes(a.shape[:-2], tau.shape[:-1])
        a, tau = jnp.broadcast_to(a, (*batch, *a.shape[-2:])), jnp.broadcast_to(tau, (*batch, tau.shape[-1]))
        return jax.lax.linalg.householder_product(a, tau)

    return run
