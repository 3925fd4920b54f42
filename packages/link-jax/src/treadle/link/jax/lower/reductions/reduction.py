"""Reductions on JAX."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

from treadle.graph import Apply
from treadle.link.jax.casting import convert, widened
from treadle.link.jax.extrema import extremum
from treadle.link.jax.table import JAX
from treadle.tensor import Reduction


def total(x: jax.Array, axes: tuple[int, ...], keepdims: bool = False) -> jax.Array:
    """Return the sum over axes in the array's own dtype: bool as "or", float16 added in float32."""
    if x.dtype == bool:
        return jnp.any(x, axis=axes, keepdims=keepdims)
    wide = widened(x)
    return convert(jnp.sum(wide, axis=axes, dtype=wide.dtype, keepdims=keepdims), x.dtype)


def _product(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    if x.dtype == bool:
        return jnp.all(x, axis=axes)
    wide = widened(x)
    return convert(jnp.prod(wide, axis=axes, dtype=wide.dtype), x.dtype)


def _combine(kind: str) -> Callable[[jax.Array, tuple[int, ...]], jax.Array]:
    if kind == "sum":
        return total
    if kind == "prod":
        return _product
    if kind in {"max", "min"}:
        return partial(extremum, kind)
    function: Callable[..., jax.Array] = getattr(jnp, kind)
    return lambda x, axes: function(x, axis=axes)


@JAX.register(Reduction)
def reduction(op: Reduction, node: Apply) -> Callable[[jax.Array], jax.Array]:
    """Lower to the jax.numpy function, in the accumulator's dtype; no elements have no extremum, as in NumPy."""
    combine = _combine(op.kind)

    def run(x: jax.Array) -> jax.Array:
        values = convert(x, op.acc_dtype)
        return convert(combine(values, op.axes) if op.axes else values, op.dtype)

    return run
