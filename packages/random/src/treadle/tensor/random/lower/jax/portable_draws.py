"""PortableDraws on JAX: the definitions of `treadle.tensor.random.generators.philox` in JAX's own arithmetic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from treadle.graph import Unsupported
from treadle.link.jax import JAX
from treadle.tensor import PortableDraws, ShapeError
from treadle.tensor.random.lower.jax.lanes import JaxLanes
from treadle.tensor.random.lower.jax.philox import Stream, bit, bits32, bits64, pairs64, unit32, unit64
from treadle.tensor.random.lower.jax.trigonometry import cosine_or_sine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import jax

    from treadle.link.jax import Array, Lowered
    from treadle.tensor import TensorNode

    # n draws of a dtype.
    Sampler = Callable[[Stream, int, str], jax.Array]


@JAX.register(PortableDraws)
def portable_draws(op: PortableDraws, node: TensorNode) -> Lowered:
    """Lower to the sampler's function of the state."""
    direct, by_rejection = SAMPLERS.get(op.sampler), op.lanes
    if direct is None and by_rejection is None:
        msg = f"there is no sampler {op.sampler} here"
        raise Unsupported(msg)

    def run(state: jax.Array, *inputs: Array) -> jax.Array:
        shape = tuple(int(n) for n in inputs[: op.ndim])
        if any(n < 0 for n in shape):
            msg = f"a size must be 0 or more, got {shape}"
            raise ShapeError(msg)
        if 0 in shape:
            # No loop is traced for nothing: counts of categories whose number is not known take many empty draws.
            return jnp.zeros(shape, op.dtype)
        stream = Stream(state)
        if by_rejection is not None:
            draws: jax.Array = by_rejection(JaxLanes(stream, shape), *inputs[op.ndim :])
        elif direct is not None:
            draws = direct(stream, math.prod(shape), op.dtype)
        return draws.astype(op.dtype).reshape(shape)

    return run


def _random(stream: Stream, n: int, dtype: str) -> jax.Array:
    return unit32(bits32(stream, n)) if dtype == "float32" else unit64(bits64(stream, n))


def _normal(stream: Stream, n: int, dtype: str) -> jax.Array:
    """Return normals by Box and Muller's transform: a pair from each block, in float32 two."""
    at = lax.iota(np.uint64, n)
    if dtype == "float32":
        w, unit, second = stream.blocks_at(at >> np.uint64(2)), np.float32(2.0**-32), bit(at, 1)
        a, b = jnp.where(second, w[2], w[0]), jnp.where(second, w[3], w[1])
        u, v = (a.astype("float64") + 1).astype("float32") * unit, b.astype("float32") * unit
    else:
        a, b = pairs64(stream.blocks_at(at >> np.uint64(1)))
        u, v = 1 - unit64(a), unit64(b)
    direction = cosine_or_sine(u.dtype.type(2 * np.pi) * v, bit(at, 0))
    return jnp.sqrt(-2 * jnp.log(u)) * direction.astype(u.dtype)


SAMPLERS: Mapping[str, Sampler] = {
    "bits": lambda stream, n, dtype: bits32(stream, n) if dtype == "uint32" else bits64(stream, n),
    "random": _random,
    "standard_exponential": lambda stream, n, dtype: -jnp.log(1 - _random(stream, n, dtype)),
    "standard_normal": _normal,
}
