"""Elementwise functions on JAX; XLA fuses them."""

from __future__ import annotations

import jax
import numpy as np

from treadle.graph import Apply, Constant, Variable
from treadle.link.jax.steps import composite, takes
from treadle.link.jax.table import JAX, Checked, Function
from treadle.tensor import Composite, DimShuffle, Elemwise, Reshape, Subtensor

# What XLA may do after a function of elements rather than before.
_MOVING = (DimShuffle, Reshape, Subtensor)


@JAX.register(Elemwise)
def elemwise(op: Elemwise, node: Apply) -> Function:
    """Lower to the functions of the steps, the inputs broadcast at their run-time shapes."""
    numbers = {at for at, x in enumerate(node.inputs) if _is_number(x)}
    maxima = {at for at, x in enumerate(node.inputs) if _may_be_maximum(x)}
    steps = composite(op.expanded(node, takes), numbers, maxima)
    if isinstance(op.scalar_op, Composite):
        return steps

    def run(*inputs: jax.Array) -> jax.Array | Checked[jax.Array]:
        outputs = steps(*inputs)
        return Checked(outputs.value[0], outputs.failed) if isinstance(outputs, Checked) else outputs[0]

    return run


def _is_number(x: Variable) -> bool:
    """Whether an input is known, and nowhere NaN."""
    return isinstance(x, Constant) and x.data.dtype.kind in "biuf" and not np.isnan(x.data).any()


def _may_be_maximum(x: Variable) -> bool:
    """Whether an input has elements of a maximum of two, or of a fused function."""
    while x.owner is not None and isinstance(x.owner.op, _MOVING):
        x = x.owner.inputs[0]
    if x.owner is None or not isinstance(x.owner.op, Elemwise):
        return False
    scalar_op = x.owner.op.scalar_op
    return isinstance(scalar_op, Composite) or scalar_op.name == "maximum"
