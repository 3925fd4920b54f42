"""RepeatedPositions on JAX: known while tracing, so they are NumPy values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.link.jax.table import JAX
from treadle.tensor import RepeatedPositions

if TYPE_CHECKING:
    from treadle.link.jax.table import Array, Lowered
    from treadle.tensor import TensorNode


@JAX.register(RepeatedPositions)
def repeated_positions(op: RepeatedPositions, node: TensorNode) -> Lowered:
    """Repeat with NumPy."""

    def run(counts: np.ndarray, n: np.ndarray) -> Array:
        return op.of(np.asarray(counts), int(n))

    return run
