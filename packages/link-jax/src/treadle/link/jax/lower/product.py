"""Matrix products on JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from treadle.link.jax.casting import convert
from treadle.link.jax.table import JAX
from treadle.tensor import MatMul

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply

# What products of these are added in: float16 as NumPy does, and bool is true where any product is.
_WIDER = {"float16": "float32", "bool": "int32"}


@JAX.register(MatMul)
def matmul(op: MatMul, node: Apply) -> Callable[..., Any]:
    """Lower to jax.numpy's matmul at full precision: GPUs round float32 factors to fewer bits otherwise."""
    del op
    out: Any = node.outputs[0].type
    inner = np.dtype(_WIDER.get(out.dtype, out.dtype))

    def run(a: Any, b: Any) -> Any:
        left, right = convert(a, inner), convert(b, inner)
        product = jnp.matmul(left, right, precision=lax.Precision.HIGHEST, preferred_element_type=inner)
        return convert(product, out.dtype)

    return run
