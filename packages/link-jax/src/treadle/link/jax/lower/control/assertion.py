"""Assertions on JAX: compiled code cannot raise, so that the program looks at a flag after the call."""

from __future__ import annotations

import jax.numpy as jnp

from treadle.link.jax.table import JAX, Array, Checked, Lowered
from treadle.tensor import CheckAndRaise, TensorNode


@JAX.register(CheckAndRaise)
def check_and_raise(op: CheckAndRaise, node: TensorNode) -> Lowered:
    """Lower to the value, and a flag that is set where a condition is false."""

    def run(value: Array, *conditions: Array) -> Checked[Array]:
        return Checked(value, jnp.stack([x == 0 for x in conditions]).any() if conditions else None)

    return run
