"""Elementwise functions on JAX; XLA fuses them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from treadle.link.jax.casting import convert
from treadle.link.jax.scalars import scalar_function
from treadle.link.jax.table import JAX, Checked
from treadle.tensor import Composite, Elemwise

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@JAX.register(Elemwise)
def elemwise(op: Elemwise, node: Apply) -> Callable[..., Any]:
    """Lower to the scalar op's function, the inputs broadcast at their run-time shapes."""
    if isinstance(op.scalar_op, Composite):
        return composite(op.scalar_op)
    out: Any = node.outputs[0].type
    function = scalar_function(op.scalar_op, op.loop_dtypes(node), out.numpy_dtype)

    def run(*inputs: Any) -> Any:
        return function(*jnp.broadcast_arrays(*inputs))

    return run


def composite(composite: Composite) -> Callable[..., Any]:
    """Lower a fused function step by step."""
    functions = [scalar_function(step.scalar_op, step.loops, step.out) for step in composite.steps]

    def run(*inputs: Any) -> Any:
        broadcast = jnp.broadcast_arrays(*inputs)
        values = [convert(x, d) for x, d in zip(broadcast, composite.dtypes, strict=True)]
        failures: list[Any] = []
        for step, function in zip(composite.steps, functions, strict=True):
            result = function(*(values[i] for i in step.args))
            if isinstance(result, Checked):
                failures.append(result.failed)
                result = result.value
            values.append(result)
        outputs = tuple(values[i] for i in composite.outputs)
        return Checked(outputs, reduce(jnp.logical_or, failures)) if failures else outputs

    return run
