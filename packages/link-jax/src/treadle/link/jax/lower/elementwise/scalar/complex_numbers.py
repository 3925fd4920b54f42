"""Functions of complex numbers that jax.numpy defines otherwise than NumPy at zeros, infinities or NaN."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax

from treadle.link.jax.lower.elementwise.scalar.array_functions import FUNCTIONS
from treadle.link.jax.scalars import SCALARS

for _name in ("maximum", "minimum", "sign"):
    SCALARS.register(_name, {"c": getattr(FUNCTIONS, _name)})
SCALARS.register("pow", {"c": FUNCTIONS.power})
SCALARS.register("gt", {"c": FUNCTIONS.above})
SCALARS.register("ge", {"c": FUNCTIONS.reaches})
SCALARS.register("lt", {"c": lambda x, y: FUNCTIONS.above(y, x)})
SCALARS.register("le", {"c": lambda x, y: FUNCTIONS.reaches(y, x)})


@SCALARS.function("abs", kinds="c")
def _abs(x: jax.Array) -> jax.Array:
    return jnp.where(jnp.isinf(x.real) | jnp.isinf(x.imag), jnp.inf, lax.abs(x)).astype(x.real.dtype)


@SCALARS.function("exp2", kinds="c")
def _exp2(x: jax.Array) -> jax.Array:
    return jnp.exp(lax.complex(x.real * math.log(2), x.imag * math.log(2)))


@SCALARS.function("reciprocal", kinds="c")
def _reciprocal(x: jax.Array) -> jax.Array:
    return jnp.where(x == 0, jnp.full_like(x, complex(math.nan, math.nan)), 1 / x)
