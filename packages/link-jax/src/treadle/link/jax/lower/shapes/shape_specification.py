"""SpecifyShape on JAX: shapes are known while tracing, so that is when they are checked."""

from __future__ import annotations

import jax
import numpy as np

from treadle.link.jax.table import JAX, Lowered
from treadle.tensor import ShapeError, SpecifyShape, TensorNode


@JAX.register(SpecifyShape)
def specify_shape(op: SpecifyShape, node: TensorNode) -> Lowered:
    """Check the lengths, and return the tensor itself."""

    def run(x: jax.Array, *lengths: np.ndarray) -> jax.Array:
        for d, n in zip(op.axes, lengths, strict=True):
            if x.shape[d] != int(n):
                msg = f"dimension {d} must have length {int(n)}, got shape {x.shape}"
                raise ShapeError(msg)
        return x

    return run
