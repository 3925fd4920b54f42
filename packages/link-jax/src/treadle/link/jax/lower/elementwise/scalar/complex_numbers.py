"""Functions of complex numbers that jax.numpy defines otherwise than NumPy at zeros, infinities or NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import jax
import jax.numpy as jnp
from jax import lax

from treadle.link.jax.scalars import SCALARS

_NAN = complex(math.nan, math.nan)


# In the order of the real parts, then of the imaginary ones; nothing is larger than what has a NaN, nor smaller.


def _above(x: jax.Array, y: jax.Array) -> jax.Array:
    numbers = ~(jnp.isnan(x.imag) | jnp.isnan(y.imag))
    return ((x.real > y.real) & numbers) | ((x.real == y.real) & (x.imag > y.imag))


def _reaches(x: jax.Array, y: jax.Array) -> jax.Array:
    numbers = ~(jnp.isnan(x.imag) | jnp.isnan(y.imag))
    return ((x.real > y.real) & numbers) | ((x.real == y.real) & (x.imag >= y.imag))


COMPLEX_ORDER: Mapping[str, Callable[[jax.Array, jax.Array], jax.Array]] = MappingProxyType(
    {
        "gt": _above,
        "ge": _reaches,
        "lt": lambda x, y: _above(y, x),
        "le": lambda x, y: _reaches(y, x),
    }
)


@SCALARS.function("maximum", kinds="c")
def _maximum(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(jnp.isnan(x) | _reaches(x, y), x, y)


@SCALARS.function("minimum", kinds="c")
def _minimum(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(jnp.isnan(x) | _reaches(y, x), x, y)


def complex_power(x: jax.Array, y: jax.Array) -> jax.Array:
    """Raise to a power; of 0 it is 0 where the exponent's real part is positive, 1 at 0, else NaN."""
    zero = x == 0
    of_zero = jnp.where(y.real > 0, jnp.zeros_like(x), jnp.full_like(x, _NAN))
    raised = jnp.where(zero, of_zero, jnp.power(jnp.where(zero, jnp.ones_like(x), x), y))
    return jnp.where(y == 0, jnp.ones_like(x), raised)


@SCALARS.function("sign", kinds="c")
def _sign(x: jax.Array) -> jax.Array:
    """Compute x / |x|: 0 at 0, a unit where one part is infinite."""
    size = jnp.hypot(x.real, x.imag)
    far = jnp.isinf(x.real), jnp.isinf(x.imag)
    ends = (jnp.where(f, jnp.sign(part), 0) for f, part in zip(far, (x.real, x.imag), strict=True))
    directed = jnp.where(far[0] & far[1], _NAN, lax.complex(*ends))
    plain = jnp.where(jnp.isnan(size), _NAN, lax.complex(x.real / size, x.imag / size))
    return jnp.where(x == 0, jnp.zeros_like(x), jnp.where(far[0] | far[1], directed, plain)).astype(x.dtype)


@SCALARS.function("abs", kinds="c")
def _abs(x: jax.Array) -> jax.Array:
    return jnp.where(jnp.isinf(x.real) | jnp.isinf(x.imag), jnp.inf, lax.abs(x)).astype(x.real.dtype)


@SCALARS.function("exp2", kinds="c")
def _exp2(x: jax.Array) -> jax.Array:
    return jnp.exp(lax.complex(x.real * math.log(2), x.imag * math.log(2)))
