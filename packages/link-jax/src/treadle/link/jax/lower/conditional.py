"""Choices on JAX: those that `tracing` does not make branches of ``lax.cond`` select one of two values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax

from treadle.graph import IfElse, Unsupported
from treadle.link.jax.casting import convert
from treadle.link.jax.table import JAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@JAX.register(IfElse)
def ifelse(op: IfElse, node: Apply) -> Callable[..., Any]:
    """Lower to selections between values that are both computed; see `treadle.link.jax.tracing` for the others.

    Raises
    ------
    Unsupported
        If the branches are known to have different shapes.
    """
    for first, second in zip(*op.branches(node), strict=True):
        kinds: list[Any] = [first.type, second.type]
        if any(n != m and None not in {n, m} for n, m in zip(kinds[0].shape, kinds[1].shape, strict=True)):
            msg = f"its branches have the shapes {kinds[0].shape} and {kinds[1].shape}, and XLA needs one shape"
            raise Unsupported(msg)
    outs: list[Any] = [v.type for v in node.outputs]

    def run(condition: Any, *values: Any) -> Any:
        pairs = zip(values[: op.n_outs], values[op.n_outs :], outs, strict=True)
        test = jnp.asarray(condition) != 0
        return tuple(lax.select(test, convert(a, t.dtype), convert(b, t.dtype)) for a, b, t in pairs)

    return run
