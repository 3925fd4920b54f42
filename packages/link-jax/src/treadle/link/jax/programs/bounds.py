"""The look at integers among arguments, such as positions, which calls take before they call compiled code."""

from __future__ import annotations

from collections.abc import Callable
from weakref import ref

import jax
import numpy as np

from treadle.link.jax.programs.array_class import array_class

# What is read twice stays in the processor's cache.
_AT_ONCE = 1 << 14


class Bounds:
    """What integers of one argument must be: called with it, whether they are.

    Of JAX's arrays, which nobody changes, it knows the one that it found valid last.

    Attributes
    ----------
    at
        The argument's position.
    least
        The smallest valid integer.
    end
        The smallest above all valid ones.
    latest
        Returns the array of JAX's that was found valid last, or None.
    """

    __slots__ = ("at", "end", "latest", "least")

    def __init__(self, at: int, least: int, end: int) -> None:
        self.at = at
        self.least = least
        self.end = end
        self.latest: Callable[[], jax.Array | None] = lambda: None

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the numbers."""
        return Bounds, (self.at, self.least, self.end)

    def __call__(self, array: jax.Array | np.ndarray) -> bool:
        """Look at the integers of an array that is not the latest."""
        if array.__class__ is np.ndarray:
            return self._hold(array)
        is_valid = self._hold(np.asarray(array))
        if is_valid and array.__class__ is array_class():
            self.latest = ref(array)
        return is_valid

    def _hold(self, integers: np.ndarray) -> bool:
        if not integers.ndim:
            return bool(self.least <= integers.item() < self.end)
        flat = integers if integers.ndim == 1 else integers.reshape(-1)
        if flat.size > _AT_ONCE:
            return all(self._hold(flat[i : i + _AT_ONCE]) for i in range(0, flat.size, _AT_ONCE))
        # A sixth of the time of min and max, for a few.
        return bool(self.least <= flat.item(flat.argmin()) and flat.item(flat.argmax()) < self.end)
