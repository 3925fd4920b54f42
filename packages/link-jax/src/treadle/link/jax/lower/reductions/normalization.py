"""The largest element on JAX, which also has one of no elements."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array

from treadle.graph import Apply
from treadle.link.jax.table import JAX
from treadle.tensor import Peak


@JAX.register(Peak)
def peak(op: Peak, node: Apply) -> Callable[[Array], Array]:
    """Lower to jax.numpy's max."""
    return lambda x: jnp.max(x, axis=op.axes, keepdims=True, initial=-np.inf)
