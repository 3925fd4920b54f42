"""Choices on JAX: those that `tracing` does not make branches of ``lax.cond`` select one of two values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from treadle.graph import IfElse, Unsupported
from treadle.link.jax.casting import convert
from treadle.link.jax.table import JAX, Lowered
from treadle.tensor import TensorNode, tensors


@JAX.register(IfElse)
def ifelse(op: IfElse, node: TensorNode) -> Lowered:
    """Lower to selections between values that are both computed; `programs.tracing` has the others."""
    for first, second in zip(*map(tensors, op.branches(node)), strict=True):
        one, other = first.type.shape, second.type.shape
        if any(n != m and None not in {n, m} for n, m in zip(one, other, strict=True)):
            msg = f"its branches have the shapes {one} and {other}, and XLA needs one shape"
            raise Unsupported(msg, "give both branches the same shapes")
    outs = [v.type for v in node.outputs]

    def run(condition: jax.Array, *values: jax.Array) -> tuple[jax.Array, ...]:
        pairs = zip(values[: op.n_outs], values[op.n_outs :], outs, strict=True)
        test = jnp.asarray(condition) != 0
        return tuple(lax.select(test, convert(a, t.dtype), convert(b, t.dtype)) for a, b, t in pairs)

    return run
