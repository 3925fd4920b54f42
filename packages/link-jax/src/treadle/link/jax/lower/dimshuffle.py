"""DimShuffle on JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jax import lax

from treadle.link.jax.table import JAX
from treadle.tensor import DimShuffle, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@JAX.register(DimShuffle)
def dimshuffle(op: DimShuffle, node: Apply) -> Callable[..., Any]:
    """Lower to a squeeze, a transpose and new dimensions."""
    del node
    kept = [d for d in op.order if isinstance(d, int)]
    ranks = {d: at for at, d in enumerate(sorted(kept))}
    permutation = tuple(ranks[d] for d in kept)
    new = tuple(at for at, d in enumerate(op.order) if not isinstance(d, int))

    def run(x: Any) -> Any:
        for d in op.dropped:
            if x.shape[d] != 1:
                msg = f"dimension {d} must have length 1 to be dropped, got shape {x.shape}"
                raise ShapeError(msg)
        return lax.expand_dims(lax.transpose(lax.squeeze(x, op.dropped), permutation), new)

    return run
