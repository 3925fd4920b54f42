"""Conversion between dtypes, with NumPy's results."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import DTypeLike


def convert(x: jax.Array, dtype: DTypeLike) -> jax.Array:
    """Return an array converted as NumPy does: truth to bool, integers wrapped."""
    wanted = np.dtype(dtype)
    own = np.dtype(x.dtype)
    if own == wanted:
        return x
    if wanted.kind == "b":
        return x != 0
    if own.kind == "b" and wanted.kind in "fc":
        # Not a conversion: XLA makes a product with a converted bool a choice, so that 0 * inf would be 0 (tried).
        return jnp.where(x, np.ones((), wanted), np.zeros((), wanted))
    if own.kind == "f" and wanted.kind in "iu":
        return _to_integer(widened(x), wanted)
    return lax.convert_element_type(x, wanted)


def widened(x: jax.Array) -> jax.Array:
    """Return a float16 array as float32, to compute in; any other as it is."""
    return lax.convert_element_type(x, np.float32) if x.dtype == np.float16 else x


def _truncated(x: jax.Array, dtype: str) -> jax.Array:
    """Return floats as a signed integer dtype; what does not fit becomes its least value, as on x86 processors."""
    least = np.iinfo(dtype).min
    fits = (x >= float(least)) & (x < -float(least))
    return jnp.where(fits, lax.convert_element_type(x, dtype), np.array(least, dtype))


def _to_integer(x: jax.Array, wanted: np.dtype) -> jax.Array:
    """Return floats as integers. NumPy defines values in range only; the others follow what it does on x86."""
    if wanted.name in {"int32", "int64"}:
        return _truncated(x, wanted.name)
    if wanted.itemsize < 4:
        return lax.convert_element_type(_truncated(x, "int32"), wanted)
    low = lax.convert_element_type(_truncated(x, "int64"), wanted)
    if wanted.name == "uint32":
        return low
    return jnp.where((x >= 2.0**63) & (x < 2.0**64), lax.convert_element_type(x, wanted), low)
