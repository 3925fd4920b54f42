"""Domains: the numbers that samples of an operand are drawn from."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.config import dataclass

Array = np.ndarray[Any, Any]

SPECIAL_FLOATS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 30.0)
KINK_MARGIN = 0.1


@dataclass(frozen=True, slots=True)
class Domain:
    """The numbers that an operand takes.

    Parameters
    ----------
    low, high
        Ends of the interval that ordinary samples are drawn from, clipped to the range of the dtype.
    kinks
        Points where the function has no derivative, from which float samples keep a distance.
    period
        The period of the kinks; 0 if they do not repeat.
    distinct
        Whether the samples of an array must all differ clearly, for functions with ties.
    zero
        Whether 0 may occur among integers.
    special
        Whether special values may occur: NaN, infinities and signed zeros for floats, the ends of the range for
        integers.
    """

    low: float = -3.0
    high: float = 3.0
    kinks: tuple[float, ...] = ()
    period: float = 0.0
    distinct: bool = False
    zero: bool = True
    special: bool = True

    def draw(self, rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> Array:
        """Return an array of ordinary samples."""
        if dtype.kind == "b":
            return np.asarray(rng.random(shape) < 0.5)
        if dtype.kind in "iu":
            return self._integers(rng, dtype, shape)
        values = self._spaced(rng, shape) if self.distinct else rng.uniform(self.low, self.high, shape)
        values = np.asarray(self._away(values))
        if dtype.kind == "c":
            values = values + 1j * rng.uniform(-1, 1, shape)
        return np.asarray(values).astype(dtype)

    def _integers(self, rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> Array:
        info = np.iinfo(dtype)
        low, high = max(int(np.ceil(self.low)), info.min), min(int(np.floor(self.high)), info.max)
        values = np.asarray(rng.integers(low, high + 1, shape))
        return np.where(values == 0, high, values).astype(dtype) if not self.zero else values.astype(dtype)

    def _spaced(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Return evenly spaced numbers in random order."""
        count = int(np.prod(shape))
        return np.asarray(rng.permutation(np.linspace(self.low, self.high, count)).reshape(shape))

    def _away(self, values: Array) -> Array:
        """Move values away from kinks that are too near."""
        for kink in self.kinks:
            offset = values - kink
            if self.period:
                offset = offset - self.period * np.round(offset / self.period)
            side = np.where(offset >= 0, 1.0, -1.0)
            values = np.where(np.abs(offset) < KINK_MARGIN, values + side * KINK_MARGIN, values)
        return values

    def specials(self, dtype: np.dtype) -> Array:
        """Return the special values of a dtype as a vector, or ordinary ones if they are not allowed."""
        if dtype.kind == "b":
            return np.array([True, False])
        if not self.special:
            return self.draw(np.random.default_rng(9), dtype, (6,))
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            return np.unique(np.array([info.min, info.max, 0, 1, info.min + 1, info.max - 1, info.max // 3], dtype))
        with np.errstate(all="ignore"):
            return np.array(SPECIAL_FLOATS).astype(dtype)


REAL = Domain()
POSITIVE = Domain(0.3, 4.0)
UNIT = Domain(-0.9, 0.9)
SMALL = Domain(-2.0, 2.0)
ABOVE_ONE = Domain(1.2, 4.0)
NEGATIVE = Domain(-4.0, -0.3)
NONZERO = Domain(-3.0, 3.0, kinks=(0.0,), zero=False)
DISTINCT = Domain(-3.0, 3.0, distinct=True)
AWAY_FROM_ZERO = Domain(-3.0, 3.0, kinks=(0.0,))
AWAY_FROM_INTEGERS = Domain(-3.0, 3.0, kinks=(0.0,), period=1.0)
AWAY_FROM_HALVES = Domain(-3.0, 3.0, kinks=(0.0,), period=0.5)
# Integers over the whole range of most dtypes, so that sums and products wrap around.
WIDE = Domain(-1000.0, 1000.0)
