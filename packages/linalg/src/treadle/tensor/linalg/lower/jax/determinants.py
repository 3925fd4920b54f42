"""Determinants on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from treadle.link.jax import JAX, Lowered
from treadle.tensor import TensorNode
from treadle.tensor.linalg.determinants import Det, SLogDet
from treadle.tensor.linalg.lower.jax.lu_factors import sign_and_size


@JAX.register(Det)
def det(op: Det, node: TensorNode) -> Lowered:
    """Lower to the product of pivots, or to the exponential of the logarithm where that over- or underflows."""

    def run(a: jax.Array) -> jax.Array:
        sign, log, product = sign_and_size(a)
        is_exact = jnp.isfinite(product) & (product != 0)
        return jnp.where(is_exact, product, sign * jnp.exp(log).astype(a.dtype))

    return run


@JAX.register(SLogDet)
def slogdet(op: SLogDet, node: TensorNode) -> Lowered:
    """Lower to the signs and logarithms of pivots."""
    return lambda a: sign_and_size(a)[:2]
