"""Fused reductions on JAX: XLA fuses the two again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from treadle.link.jax.lower.elemwise import composite
from treadle.link.jax.lower.reduction import reduction
from treadle.link.jax.table import JAX, Checked
from treadle.tensor import FusedReduction

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@JAX.register(FusedReduction)
def fused_reduction(op: FusedReduction, node: Apply) -> Callable[..., Any]:
    """Lower to the steps, then to the reductions of their results."""
    steps = composite(op.composite)
    reductions = [None if r is None else reduction(r, node) for r in op.reductions]

    def run(*inputs: Any) -> Any:
        found = steps(*inputs)
        values = found.value if isinstance(found, Checked) else found
        shape = jnp.broadcast_shapes(*(x.shape for x in inputs))
        whole = [jnp.broadcast_to(v, shape) for v in values]
        results = tuple(v if r is None else r(v) for v, r in zip(whole, reductions, strict=True))
        return Checked(results, found.failed) if isinstance(found, Checked) else results

    return run
