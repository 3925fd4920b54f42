"""RepeatedPositions on JAX: NumPy values, as they are known while tracing."""

from __future__ import annotations

import numpy as np

from treadle.link.jax.table import JAX, Lowered
from treadle.tensor import RepeatedPositions, TensorNode


@JAX.register(RepeatedPositions)
def repeated_positions(op: RepeatedPositions, node: TensorNode) -> Lowered:
    """Repeat with NumPy."""
    return lambda counts, n: op.of(np.asarray(counts), int(n))
