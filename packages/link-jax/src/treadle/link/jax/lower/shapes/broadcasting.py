"""Alloc and SumTo on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from treadle.link.jax.lower.reductions.reduction import total
from treadle.link.jax.table import JAX, Lowered
from treadle.tensor import Alloc, ShapeError, SumTo, TensorNode


@JAX.register(Alloc)
def alloc(op: Alloc, node: TensorNode) -> Lowered:
    """Lower to a broadcast."""
    return lambda x, *lengths: jnp.broadcast_to(x, tuple(int(n) for n in lengths))


@JAX.register(SumTo)
def sum_to(op: SumTo, node: TensorNode) -> Lowered:
    """Lower to a sum over the dimensions that were broadcast; to nothing where the shapes agree."""

    def run(x: jax.Array, *lengths: np.ndarray) -> jax.Array:
        shape = tuple(int(n) for n in lengths)
        if x.shape == shape:
            return x
        extra = x.ndim - len(shape)
        if any(m not in {1, n} for n, m in zip(x.shape[extra:], shape, strict=True)):
            msg = f"shape {x.shape} cannot be summed to {shape}"
            raise ShapeError(msg)
        summed = [d + extra for d, m in enumerate(shape) if m == 1 and x.shape[d + extra] != 1]
        return lax.reshape(total(x, (*range(extra), *summed)), shape)

    return run
