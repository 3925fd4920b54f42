"""Results of compiled code as NumPy arrays that belong to the caller."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np

# A smaller array is copied in less time than it takes to describe its memory.
LEAST_TAKEN_OVER = 1 << 16


class _Memory:
    """Memory that NumPy may write to; it lives as long as this does."""

    __slots__ = ("__array_interface__", "_array")

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self.__array_interface__ = {
            "data": (array.ctypes.data, False),
            "shape": array.shape,
            "typestr": array.dtype.str,
            "version": 3,
        }


def owned(array: jax.Array) -> np.ndarray:
    """Return a result as a NumPy array that the caller may change.

    The result must be one that compiled code has just made, and that nobody else holds. JAX shows its memory as an
    array that cannot be written; the NumPy array that is returned takes the memory over.
    """
    host = np.asarray(array)
    if host.nbytes < LEAST_TAKEN_OVER or not host.flags.c_contiguous or host.dtype.kind == "V":
        return host.copy()
    return np.asarray(_Memory(host))


def settled(
    inputs: Sequence[jax.Array | np.ndarray], values: Sequence[jax.Array], native: Sequence[bool]
) -> list[jax.Array | np.ndarray]:
    """Return results of inputs, in JAX's form where that is asked for, else as NumPy arrays.

    JAX reads a NumPy input while it computes, after its own call has returned (tried: a change of the input then
    changes the result). The caller may change its arrays once this returns, so it waits.
    """
    if any(isinstance(x, np.ndarray) for x in inputs):
        for x in values:
            x.block_until_ready()
    return [x if is_native else owned(x) for x, is_native in zip(values, native, strict=True)]
