"""RepeatedPositions on JAX: known while tracing, so they are NumPy values."""

from __future__ import annotations

import numpy as np

from treadle.link.jax.table import JAX, Array, Lowered
from treadle.tensor import RepeatedPositions, TensorNode


@JAX.register(RepeatedPositions)
def repeated_positions(op: RepeatedPositions, node: TensorNode) -> Lowered:
    """Repeat with NumPy."""

    def run(counts: np.ndarray, n: np.ndarray) -> Array:
        return op.of(np.asarray(counts), int(n))

    return run
