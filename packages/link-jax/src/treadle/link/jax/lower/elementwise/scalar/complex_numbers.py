"""Functions of complex numbers that jax.numpy defines otherwise than NumPy at zeros, infinities or NaN."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from treadle.link.jax.lower.elementwise.scalar.array_functions import FUNCTIONS
from treadle.link.jax.scalars import SCALARS

for _name, _function in FUNCTIONS.of_complex_numbers().items():
    SCALARS.register(_name, {"c": _function})


@SCALARS.function("abs", kinds="c")
def _abs(x: jax.Array) -> jax.Array:
    return jnp.where(jnp.isinf(x.real) | jnp.isinf(x.imag), jnp.inf, lax.abs(x)).astype(x.real.dtype)
