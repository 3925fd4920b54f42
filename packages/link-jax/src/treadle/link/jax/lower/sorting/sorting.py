"""Sorting on JAX."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from treadle.graph import Apply
from treadle.link.jax.casting import convert
from treadle.link.jax.table import JAX
from treadle.tensor import ArgSort, Sort


@JAX.register(Sort)
def sort(op: Sort, node: Apply) -> Callable[[Array], Array]:
    """Lower to jax.numpy's sort."""
    return lambda x: jnp.sort(x, axis=op.axis)


@JAX.register(ArgSort)
def argsort(op: ArgSort, node: Apply) -> Callable[[Array], Array]:
    """Lower to jax.numpy's stable argsort."""
    return lambda x: convert(jnp.argsort(x, axis=op.axis, stable=True), "int64")
