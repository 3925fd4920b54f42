"""Shapes on JAX: NumPy values, as they are known while tracing."""

from __future__ import annotations

import math

import jax
import numpy as np
from jax import lax

from treadle.link.jax.open_lengths import as_known, as_length
from treadle.link.jax.table import JAX, Lowered
from treadle.tensor import Reshape, Shape, ShapeError, ShapeI, TensorNode


@JAX.register(Shape)
def shape(op: Shape, node: TensorNode) -> Lowered:
    """Read the shape."""
    return lambda x: as_known(x.shape)


@JAX.register(ShapeI)
def shape_i(op: ShapeI, node: TensorNode) -> Lowered:
    """Read one length."""
    return lambda x: as_known(x.shape[op.axis])


@JAX.register(Reshape)
def reshape(op: Reshape, node: TensorNode) -> Lowered:
    """Lower to a reshape; a length of -1 is worked out from the others."""

    def run(x: jax.Array, *lengths: np.ndarray) -> jax.Array:
        shape = [as_length(n) for n in lengths]
        known = math.prod(n for n in shape if n != -1)
        if shape.count(-1) == 1 and known > 0:
            shape[shape.index(-1)] = x.size // known
        if any(n < 0 for n in shape) or math.prod(shape) != x.size:
            msg = f"cannot reshape an array of shape {x.shape} into {tuple(map(as_length, lengths))}"
            raise ShapeError(msg)
        return lax.reshape(x, shape)

    return run
