"""Searches on JAX. Where the number of positions found depends on data, it is refused."""

from __future__ import annotations

from typing import NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from treadle.graph import Unsupported
from treadle.link.jax.table import JAX, Lowered
from treadle.tensor import BinCount, Nonzero, RowOrder, SearchSorted, TensorNode


@JAX.register(Nonzero)
def nonzero(op: Nonzero, node: TensorNode) -> NoReturn:
    """Refuse."""
    reason = "the number of elements that a mask picks is known only when the program runs"
    remedy = "use where(mask, x, other), x[mask].set(value) with one value, or nonzero(mask, size=n)"
    raise Unsupported(reason, remedy)


@JAX.register(SearchSorted)
def search_sorted(op: SearchSorted, node: TensorNode) -> Lowered:
    """Lower to jnp.searchsorted, mapped over the batch."""
    side = "right" if op.side == "right" else "left"

    def search(x: jax.Array, v: jax.Array) -> jax.Array:
        # jnp.searchsorted does not take bool.
        low, key = (a.astype("uint8") if a.dtype == bool else a for a in (x, v))
        return jnp.searchsorted(low, key, side=side).astype("int64")

    run = search
    for _ in range(node.inputs[0].type.ndim - 1):
        run = jax.vmap(run)
    return run


@JAX.register(BinCount)
def bin_count(op: BinCount, node: TensorNode) -> Lowered:
    """Lower to a scatter into bins whose number is given."""
    if not op.bounded:
        reason = "the number of bins depends on the largest integer, known only when the program runs"
        raise Unsupported(reason, "give the number of bins: bincount(x, length=n)")
    dtype = node.outputs[0].type.dtype

    def run(x: jax.Array, bins: np.ndarray, *weights: jax.Array) -> jax.Array:
        count = int(bins)
        added = weights[0] if weights else jnp.ones(x.shape, dtype)
        # Negative positions would count from the end.
        places = jnp.where(x < 0, count, x)
        return jnp.zeros(count, dtype).at[places].add(added, mode="drop")

    return run


@JAX.register(RowOrder)
def row_order(op: RowOrder, node: TensorNode) -> Lowered:
    """Lower to a sort by all columns, of which the last key of jnp.lexsort decides first."""

    def run(x: jax.Array) -> jax.Array:
        # jnp.lexsort needs a key where a matrix has no columns.
        keys = [jnp.zeros(x.shape[0], "uint8"), *x.T[::-1]]
        return jnp.lexsort(keys).astype("int64")

    return run
