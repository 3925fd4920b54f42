"""DimShuffle on JAX."""

from __future__ import annotations

import jax
from jax import lax

from treadle.link.jax.table import JAX, Lowered
from treadle.tensor import DimShuffle, ShapeError, TensorNode


@JAX.register(DimShuffle)
def dimshuffle(op: DimShuffle, node: TensorNode) -> Lowered:
    """Lower to a squeeze, a transpose and new dimensions."""
    kept = [d for d in op.order if isinstance(d, int)]
    ranks = {d: at for at, d in enumerate(sorted(kept))}
    permutation = tuple(ranks[d] for d in kept)
    new = tuple(at for at, d in enumerate(op.order) if not isinstance(d, int))

    def run(x: jax.Array) -> jax.Array:
        for d in op.dropped:
            if x.shape[d] != 1:
                msg = f"dimension {d} must have length 1 to be dropped, got shape {x.shape}"
                raise ShapeError(msg)
        return lax.expand_dims(lax.transpose(lax.squeeze(x, op.dropped), permutation), new)

    return run
