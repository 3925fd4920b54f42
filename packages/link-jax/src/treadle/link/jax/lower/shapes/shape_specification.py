"""SpecifyShape on JAX: shapes are known while tracing, so that is when they are checked."""

from __future__ import annotations

import jax
import numpy as np

from treadle.link.jax.table import JAX, Lowered
from treadle.tensor import SpecifyShape, TensorNode


@JAX.register(SpecifyShape)
def specify_shape(op: SpecifyShape, node: TensorNode) -> Lowered:
    """Check the lengths, and return the tensor itself."""

    def run(x: jax.Array, *lengths: np.ndarray) -> jax.Array:
        for d, n in zip(op.axes, lengths, strict=True):
            if x.shape[d] != int(n):
                raise op.error(x.shape, lengths, d)
        return x

    return run
