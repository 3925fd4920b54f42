"""Fourier transforms on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from treadle.link.jax import JAX, Lowered
from treadle.tensor import ShapeError, TensorNode
from treadle.tensor.fft.fourier import FourierTransform


@JAX.register(FourierTransform)
def fourier_transform(op: FourierTransform, node: TensorNode) -> Lowered:
    """Lower to jax.numpy.fft, without scale."""
    axis = op.axis
    if op.kind == "fft":
        return lambda x: jnp.fft.fft(x, axis=axis)
    if op.kind == "ifft":
        return lambda x: jnp.fft.ifft(x, axis=axis, norm="forward")
    if op.kind == "rfft":
        return lambda x: jnp.fft.rfft(x, axis=axis)

    def run(x: jax.Array, n: np.ndarray) -> jax.Array:
        if x.shape[axis] != int(n) // 2 + 1:
            msg = f"irfft: {int(n)} numbers have {int(n) // 2 + 1} coefficients, got {x.shape[axis]}."
            raise ShapeError(msg)
        return jnp.fft.irfft(x, int(n), axis=axis, norm="forward")

    return run
