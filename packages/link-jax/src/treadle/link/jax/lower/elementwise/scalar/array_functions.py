"""The functions that JAX and PyTorch share, on JAX's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax.numpy as jnp
from jax import lax
from jax.scipy import special

from treadle.link.jax.mapped_axes import fori_loop
from treadle.tensor import NEWTON_STEPS, ArrayFunctions

S = TypeVar("S")


def repeated(step: Callable[[S], S], start: S, times: int = NEWTON_STEPS) -> S:
    """Take a step a number of times; as often as integrals over tails need it if not said."""
    end: S = fori_loop(times, lambda _, x: step(x), start)
    return end


FUNCTIONS = ArrayFunctions(jnp, special, lax.complex, repeated)
