"""The class that JAX's arrays have."""

from __future__ import annotations

import jax
import numpy as np
from jax import Array

from treadle.config import new_lock


class ArrayClass:
    """The class that JAX's arrays have, which JAX does not name: `jax.Array` is an abstract one, and slow to ask."""

    __slots__ = ("_found", "_lock")

    def __init__(self) -> None:
        self._found: type[Array] | None = None
        self._lock = new_lock()

    def __call__(self) -> type[Array]:
        """Return the class."""
        if self._found is None:
            with self._lock:
                self._found = type(jax.device_put(np.zeros((), "bool")))
        return self._found


array_class = ArrayClass()
