"""Accumulations and linear recurrences on JAX."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from treadle.graph import Apply
from treadle.link.jax.casting import convert, widened
from treadle.link.jax.table import JAX
from treadle.tensor import Accumulation, LinearRecurrence

_FUNCTIONS: dict[str, Callable[..., jax.Array]] = {
    "sum": lax.cumsum,
    "prod": lax.cumprod,
    "max": lax.cummax,
    "min": lax.cummin,
    "logaddexp": lax.cumlogsumexp,
}
# Of truth values a sum is "or", a product "and".
_OF_TRUTH = {"sum": "max", "prod": "min"}


@JAX.register(Accumulation)
def accumulation(op: Accumulation, node: Apply) -> Callable[[jax.Array], jax.Array]:
    """Lower to lax's cumulative operations, in the dtype of the result; float16 in float32."""

    def run(x: jax.Array) -> jax.Array:
        values = widened(convert(x, op.dtype))
        kind = op.kind
        if values.dtype == bool:
            kind, values = _OF_TRUTH.get(kind, kind), values.astype("uint8")
        return convert(_FUNCTIONS[kind](values, axis=op.axis), op.dtype)

    return run


@JAX.register(LinearRecurrence)
def linear_recurrence(op: LinearRecurrence, node: Apply) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """Lower to an associative scan over steps h -> decay h + x; two of them make one."""

    def combine(first: tuple[jax.Array, jax.Array], then: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return first[0] * then[0], then[0] * first[1] + then[1]

    def run(decay: jax.Array, x: jax.Array) -> jax.Array:
        if x.size == 0:
            return x
        first = jnp.ones_like(lax.slice_in_dim(x, 0, 1, axis=op.axis))
        steps = jnp.concatenate([first, decay], axis=op.axis)
        _, states = lax.associative_scan(combine, (widened(steps), widened(x)), axis=op.axis)
        return convert(states, x.dtype)

    return run
