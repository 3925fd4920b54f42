"""Ranges on JAX."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from treadle.link.jax.casting import convert
from treadle.link.jax.open_lengths import as_length, is_open
from treadle.link.jax.table import JAX, Array, Lowered
from treadle.tensor import ARange, TensorNode, range_length


@JAX.register(ARange)
def arange(op: ARange, node: TensorNode) -> Lowered:
    """Lower to start + i * difference, the difference of the first two elements in the result's dtype (NumPy's way)."""
    dtype = np.dtype(op.dtype)
    # float16 is computed in float32 and rounded; complex numbers and bool have no ranges of their own in XLA.
    inner = np.dtype("float32") if dtype == np.float16 else dtype

    def run(start: np.ndarray, stop: np.ndarray, step: np.ndarray) -> Array:
        if dtype.kind in "bc":
            return np.arange(start.item(), stop.item(), step.item(), dtype=dtype)
        if any(map(is_open, (start, stop, step))):
            return jnp.arange(as_length(start), as_length(stop), as_length(step), dtype=dtype)
        with np.errstate(all="ignore"):
            first = np.asarray(start).astype(dtype).astype(inner)
            second = np.asarray(start + step).astype(dtype).astype(inner)
            difference = second - first
        count = lax.iota("int64", range_length(start, stop, step))
        return convert(first + convert(count, inner) * difference, dtype)

    return run
