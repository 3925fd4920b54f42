"""Alloc and SumTo on JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax

from treadle.link.jax.lower.reduction import total
from treadle.link.jax.table import JAX
from treadle.tensor import Alloc, ShapeError, SumTo

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@JAX.register(Alloc)
def alloc(op: Alloc, node: Apply) -> Callable[..., Any]:
    """Lower to a broadcast."""
    del op, node

    def run(x: Any, *lengths: Any) -> Any:
        return jnp.broadcast_to(x, tuple(int(n) for n in lengths))

    return run


@JAX.register(SumTo)
def sum_to(op: SumTo, node: Apply) -> Callable[..., Any]:
    """Lower to a sum over the dimensions that were broadcast; to nothing where the shapes agree."""
    del op, node

    def run(x: Any, *lengths: Any) -> Any:
        wanted = tuple(int(n) for n in lengths)
        if x.shape == wanted:
            return x
        extra = x.ndim - len(wanted)
        if any(m not in {1, n} for n, m in zip(x.shape[extra:], wanted, strict=True)):
            msg = f"shape {x.shape} cannot be summed to {wanted}"
            raise ShapeError(msg)
        summed = [d + extra for d, m in enumerate(wanted) if m == 1 and x.shape[d + extra] != 1]
        return lax.reshape(total(x, (*range(extra), *summed)), wanted)

    return run
