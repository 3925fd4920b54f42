"""Convolutions on JAX, by lax.conv_general_dilated."""

from __future__ import annotations

import jax
import numpy as np
from jax import lax

from treadle.link.jax import JAX, Lowered, convert
from treadle.tensor import TensorNode
from treadle.tensor.signal.convolution import ConvND


@JAX.register(ConvND)
def convolution(op: ConvND, node: TensorNode) -> Lowered:
    """Lower to the convolution, or to its transpose in images or filters."""
    out = node.outputs[0].type
    inner = np.dtype("float32" if out.dtype == "float16" else out.dtype)

    def forward(x: jax.Array, w: jax.Array) -> jax.Array:
        return lax.conv_general_dilated(
            x,
            w,
            op.stride,
            op.padding,
            rhs_dilation=op.dilation,
            feature_group_count=op.groups,
            precision=lax.Precision.HIGHEST,
        )

    def run(a: jax.Array, b: jax.Array, *lengths: np.ndarray) -> jax.Array:
        # What does not fit is refused as everywhere; JAX has outputs of length 0 where a filter is too long.
        sizes = tuple(int(n) for n in lengths)
        shape = tuple(n or 0 for n in op.result_shape(a.shape, b.shape, sizes))
        a, b = convert(a, inner), convert(b, inner)
        like = jax.ShapeDtypeStruct(shape, inner)  # type: ignore[no-untyped-call]  # a class of JAX
        if op.part == "output":
            result = forward(a, b)
        elif op.part == "input":
            result = jax.linear_transpose(lambda x: forward(x, b), like)(a)[0]
        else:
            result = jax.linear_transpose(lambda w: forward(a, w), like)(b)[0]
        return convert(result, out.dtype)

    return run
