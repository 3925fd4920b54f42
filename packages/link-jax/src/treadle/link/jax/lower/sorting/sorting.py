"""Sorting on JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp

from treadle.link.jax.casting import convert
from treadle.link.jax.table import JAX
from treadle.tensor import ArgSort, Sort

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax import Array

    from treadle.graph import Apply


@JAX.register(Sort)
def sort(op: Sort, node: Apply) -> Callable[[Array], Array]:
    """Lower to jax.numpy's sort."""
    del node
    return lambda x: jnp.sort(x, axis=op.axis)


@JAX.register(ArgSort)
def argsort(op: ArgSort, node: Apply) -> Callable[[Array], Array]:
    """Lower to jax.numpy's stable argsort."""
    del node
    return lambda x: convert(jnp.argsort(x, axis=op.axis, stable=True), "int64")
