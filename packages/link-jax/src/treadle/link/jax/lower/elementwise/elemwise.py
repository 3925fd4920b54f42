"""Elementwise functions on JAX; XLA fuses them."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import jax
import jax.numpy as jnp

from treadle.graph import Apply
from treadle.link.jax.casting import convert
from treadle.link.jax.scalars import scalar_function, takes
from treadle.link.jax.table import JAX, Checked, Function
from treadle.tensor import Composite, Elemwise

Arrays = tuple[jax.Array, ...]


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


def composite(composite: Composite) -> Callable[..., Arrays | Checked[Arrays]]:
    """Lower a fused function step by step."""
    functions = [scalar_function(step.scalar_op, step.loops, step.out) for step in composite.steps]

    def run(*inputs: jax.Array) -> Arrays | Checked[Arrays]:
        broadcast = jnp.broadcast_arrays(*inputs)
        values = [convert(x, d) for x, d in zip(broadcast, composite.dtypes, strict=True)]
        values += [jnp.full(broadcast[0].shape, number, dtype) for number, dtype in composite.constants]
        failures: list[jax.Array] = []
        for step, function in zip(composite.steps, functions, strict=True):
            result = function(*(values[i] for i in step.args))
            if isinstance(result, Checked):
                if result.failed is not None:
                    failures.append(result.failed)
                result = result.value
            values.append(result)
        outputs = tuple(values[i] for i in composite.outputs)
        return Checked(outputs, reduce(jnp.logical_or, failures)) if failures else outputs

    return run
