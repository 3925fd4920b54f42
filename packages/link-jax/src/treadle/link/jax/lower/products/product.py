"""Matrix products on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from treadle.link.jax.casting import convert
from treadle.link.jax.table import JAX, Lowered
from treadle.tensor import DimShuffle, MatMul, TensorNode

# What products of these are added in: float16 as NumPy does, and bool is true where any product is.
_WIDER = {"float16": "float32", "bool": "int32"}


@JAX.register(MatMul)
def matmul(op: MatMul, node: TensorNode) -> Lowered:
    """Lower to jax.numpy's matmul at full precision: GPUs round float32 factors to fewer bits otherwise."""
    out = node.outputs[0].type
    inner = np.dtype(_WIDER.get(out.dtype, out.dtype))
    producer = node.inputs[0].owner
    transposed = producer is not None and isinstance(producer.op, DimShuffle) and producer.op.new_order == (1, 0)

    def run(a: jax.Array, b: jax.Array) -> jax.Array:
        left, right = convert(a, inner), convert(b, inner)
        if right.ndim == 2 and right.shape[1] == 1:
            # XLA has a faster product for a vector than for a matrix of one column, and goes through a transposed
            # matrix column by column (fifteen times the time for 10,000 rows) unless the vector comes first.
            if transposed and left.ndim == 2:
                return convert(_multiply(right[:, 0], left.T)[:, None], out.dtype)
            return convert(_multiply(left, right[:, 0])[:, None], out.dtype)
        return convert(_multiply(left, right), out.dtype)

    return run


def _multiply(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST, preferred_element_type=a.dtype)
