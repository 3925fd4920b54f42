"""Draws by rejection on JAX: a loop that runs while some element is rejected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from treadle.link.jax import convert, while_loop
from treadle.tensor import DrawLanes
from treadle.tensor.random.lower.jax.philox import Block, Stream, pair64, unit64


class JaxLanes(DrawLanes):
    """A batch of draws; words are uint32."""

    xp: Any = jnp

    def __init__(self, stream: Stream, shape: tuple[int, ...]) -> None:
        # Where the draws come from.
        self._stream = stream
        # The batch's shape.
        self._shape = shape
        self._count = int(np.prod(shape, dtype=np.int64))

    def flat(self, x: jax.Array) -> jax.Array:
        """Return a value for each element."""
        return jnp.broadcast_to(x, self._shape).reshape(-1)

    def blocks(self, attempt: jax.Array | int) -> Block:
        """Return the numbers of each element's block."""
        return self._stream.blocks(self._count, attempt)

    def unit(self, low: jax.Array, high: jax.Array) -> jax.Array:
        """Return a number in [0, 1) for two halves of 64 bits."""
        return unit64(pair64(low, high))

    def as_float(self, word: jax.Array) -> jax.Array:
        """Return integers as float64."""
        return word.astype(np.float64)

    def as_integer(self, x: jax.Array) -> jax.Array:
        """Return float64 as int64, as NumPy does."""
        return convert(x, np.int64)

    def number(self, value: float) -> jax.Array:
        """Return a float64."""
        return jnp.asarray(value, np.float64)

    def loop(
        self, proceeds: Callable[..., jax.Array], body: Callable[..., tuple[jax.Array, ...]], *start: jax.Array
    ) -> Sequence[jax.Array]:
        """Return the values after ``body(*values)`` while ``proceeds(*values)``."""
        values: tuple[jax.Array, ...] = while_loop(lambda v: proceeds(*v), lambda v: body(*v), start)
        return values

    def integers(self, low: jax.Array, high: jax.Array) -> jax.Array:
        """Return integers from low to high - 1, by uint64's arithmetic."""
        half, ones, one = np.uint64(32), np.uint64(2**32 - 1), np.uint64(1)
        first = low.astype(np.uint64)
        m = high.astype(np.uint64) - first - one
        narrow = m < np.uint64(2**31)
        width = jnp.where(narrow, m, np.uint64(0)) + one
        excess = (np.uint64(2**64 - 1) % width + one) % width
        mask = m
        for shift in (1, 2, 4, 8, 16, 32):
            mask = mask | mask >> np.uint64(shift)
        first, m, narrow, width, excess, mask = map(self.flat, (first, m, narrow, width, excess, mask))

        def attempt(words: Sequence[jax.Array]) -> tuple[jax.Array, jax.Array]:
            w0, w1, _, _ = words
            a = w0.astype(np.uint64) * width
            b = w1.astype(np.uint64) * width + (a >> half)
            masked = pair64(w0, w1) & mask
            rejected = jnp.where(narrow, (b & ones == 0) & (a & ones < excess), masked > m)
            return first + jnp.where(narrow, b >> half, masked), rejected

        draws: jax.Array = self.attempts(attempt, jnp.ones(m.shape, bool), m)
        return draws.astype(np.int64)
