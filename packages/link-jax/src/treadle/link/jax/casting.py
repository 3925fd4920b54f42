"""Conversion between dtypes, with NumPy's results."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import DTypeLike


def convert(x: jax.Array, dtype: DTypeLike) -> jax.Array:
    """Return an array converted as NumPy does: truth to bool, integers wrapped."""
    target = np.dtype(dtype)
    source = np.dtype(x.dtype)
    if source == target:
        return x
    if target.kind == "b":
        return x != 0
    if source.kind == "b" and target.kind in "fc":
        # Not a conversion: XLA turns a product with a converted bool into a choice, so that 0 * inf would be 0 (tried).
        return jnp.where(x, np.ones((), target), np.zeros((), target))
    if source.kind == "f" and target.kind in "iu":
        return _to_integer(widened(x), target)
    return lax.convert_element_type(x, target)


def widened(x: jax.Array) -> jax.Array:
    """Return a float16 array as float32, to compute in; any other as it is."""
    return lax.convert_element_type(x, np.float32) if x.dtype == np.float16 else x


def _truncated(x: jax.Array, dtype: str) -> jax.Array:
    """Return floats as a signed integer dtype; what does not fit becomes its least value, as on x86 processors."""
    least = np.iinfo(dtype).min
    fits = (x >= float(least)) & (x < -float(least))
    return jnp.where(fits, lax.convert_element_type(x, dtype), np.array(least, dtype))


def _to_integer(x: jax.Array, target: np.dtype) -> jax.Array:
    """Return floats as integers. NumPy defines values in range only; the others follow what it does on x86."""
    if target.name in {"int32", "int64"}:
        return _truncated(x, target.name)
    if target.itemsize < 4:
        return lax.convert_element_type(_truncated(x, "int32"), target)
    low = lax.convert_element_type(_truncated(x, "int64"), target)
    if target.name == "uint32":
        return low
    return jnp.where((x >= 2.0**63) & (x < 2.0**64), lax.convert_element_type(x, target), low)
