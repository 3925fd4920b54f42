"""Philox 4x32-10 on JAX's arrays, as `treadle.tensor.random.generators.philox` defines it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# The four numbers of 32 bits of a block, or of a counter.
Block = tuple[jax.Array, jax.Array, jax.Array, jax.Array]


MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
INCREMENTS = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))
ROUNDS = 10
_HALF = np.uint64(32)


class Stream:
    """The blocks of one key and stream from a position on: the state holds the three as int64."""

    def __init__(self, state: jax.Array) -> None:
        key, stream, self.position = lax.bitcast_convert_type(state, np.uint64)
        self.key = (_low(key), _high(key))
        self.stream = _low(stream)

    def blocks(self, n: int, attempt: jax.Array | int = 0) -> Block:
        """Return the numbers of the first n blocks, each of shape (n,)."""
        return self.blocks_at(lax.iota(np.uint64, n), attempt)

    def blocks_at(self, places: jax.Array, attempt: jax.Array | int = 0) -> Block:
        """Return the numbers of the blocks at some places, counted from the position on."""
        at = self.position + places
        low = _low(at)
        other = (jnp.broadcast_to(x, low.shape) for x in (self.stream, jnp.asarray(attempt).astype(np.uint32)))
        return philox((low, _high(at), *other), self.key)  # type: ignore[arg-type]  # four numbers


def philox(counter: Block, key: tuple[jax.Array, jax.Array]) -> Block:
    """Return the numbers of blocks, as uint32."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        a, b = (c.astype(np.uint64) * m for c, m in zip((c0, c2), MULTIPLIERS, strict=True))
        c0, c1, c2, c3 = _high(b) ^ c1 ^ k0, _low(b), _high(a) ^ c3 ^ k1, _low(a)
        k0, k1 = k0 + INCREMENTS[0], k1 + INCREMENTS[1]
    return c0, c1, c2, c3


# XLA computes what several elements of a block become with branches, one element at a time, where they are stacked. So
# each element computes its block anew and picks what is its own, which vector instructions do in half of the time.


def bits32(stream: Stream, n: int) -> jax.Array:
    """Return n numbers of 32 bits, four from each block."""
    at = lax.iota(np.uint64, n)
    w0, w1, w2, w3 = stream.blocks_at(at >> np.uint64(2))
    return jnp.where(bit(at, 1), jnp.where(bit(at, 0), w3, w2), jnp.where(bit(at, 0), w1, w0))


def bits64(stream: Stream, n: int) -> jax.Array:
    """Return n numbers of 64 bits, two from each block."""
    at = lax.iota(np.uint64, n)
    first, second = pairs64(stream.blocks_at(at >> np.uint64(1)))
    return jnp.where(bit(at, 0), second, first)


def bit(x: jax.Array, k: int) -> jax.Array:
    """Return whether a bit of integers is set."""
    is_set: jax.Array = (x >> x.dtype.type(k)) & x.dtype.type(1) == 1
    return is_set


def pairs64(block: Block) -> tuple[jax.Array, jax.Array]:
    """Return the two numbers of 64 bits of each block."""
    w0, w1, w2, w3 = block
    return pair64(w0, w1), pair64(w2, w3)


def pair64(low: jax.Array, high: jax.Array) -> jax.Array:
    """Return numbers of 64 bits, given by their halves."""
    return low.astype(np.uint64) | high.astype(np.uint64) << _HALF


def unit64(bits: jax.Array) -> jax.Array:
    """Return numbers of 64 bits as float64 in [0, 1)."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def unit32(bits: jax.Array) -> jax.Array:
    """Return numbers of 32 bits as float32 in [0, 1)."""
    return (bits >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def _low(x: jax.Array) -> jax.Array:
    return x.astype(np.uint32)


def _high(x: jax.Array) -> jax.Array:
    return (x >> _HALF).astype(np.uint32)
