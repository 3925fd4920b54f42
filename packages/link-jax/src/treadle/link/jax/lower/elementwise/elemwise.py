"""Elementwise functions on JAX; XLA fuses them."""

from __future__ import annotations

import jax

from treadle.graph import Apply
from treadle.link.jax.steps import composite, takes
from treadle.link.jax.table import JAX, Checked, Function
from treadle.tensor import Composite, Elemwise


@JAX.register(Elemwise)
def elemwise(op: Elemwise, node: Apply) -> Function:
    """Lower to the functions of the steps, the inputs broadcast at their run-time shapes."""
    steps = composite(op.expanded(node, takes))
    if isinstance(op.scalar_op, Composite):
        return steps

    def run(*inputs: jax.Array) -> jax.Array | Checked[jax.Array]:
        outputs = steps(*inputs)
        return Checked(outputs.value[0], outputs.failed) if isinstance(outputs, Checked) else outputs[0]

    return run
