"""ExtractDiag on JAX."""

from __future__ import annotations

import jax.numpy as jnp

from treadle.link.jax.table import JAX, Lowered
from treadle.tensor import ExtractDiag, TensorNode


@JAX.register(ExtractDiag)
def extract_diag(op: ExtractDiag, node: TensorNode) -> Lowered:
    """Lower to jnp.diagonal."""
    return lambda x: jnp.diagonal(x, op.offset, op.axis1, op.axis2)
