"""GeneratorMethods: what the methods of the portable generator draw, for arrays and in graphs alike.

Each is written once, with NumPy's functions, in terms of a few samplers (`treadle.tensor.random.samplers.SAMPLERS`).
NumPy's functions of variables are treadle's, so that a method of a symbolic generator builds a graph.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    # A number or an array, or a variable.
    Operand = Any
    # A generator of NumPy's, a portable one, or one of a graph: they have the same methods.
    Generator = Any
    Size = int | Sequence[Operand] | None


class GeneratorMethods(ABC):
    """The methods of ``numpy.random.Generator``, made of `draw`."""

    __slots__ = ()

    # Dtype of the floats that are drawn by default.
    dtype: str

    @abstractmethod
    def draw(self, sampler: str, shape: Sequence[Operand], dtype: str, *parameters: Operand) -> Operand:
        """Return an array of draws, and move on."""

    def shape_for(self, size: Size, *parameters: Operand) -> tuple[Operand, ...]:
        """Return the shape of a draw: the size, or what the parameters broadcast to."""
        if size is None:
            return np.broadcast_shapes(*(np.shape(p) for p in parameters))
        return tuple(size) if isinstance(size, list | tuple | np.ndarray) else (size,)

    def require(self, condition: Operand, value: Operand, text: str) -> Operand:
        """Return the value where a condition on it holds.

        Raises
        ------
        ValueError
            If it does not, for some element.
        """
        if not np.all(condition):
            raise ValueError(text)
        return value

    def random(self, size: Size = None, dtype: str | None = None) -> Operand:
        """Return floats in [0, 1)."""
        return self.draw("random", self.shape_for(size), dtype or self.dtype)

    def standard_normal(self, size: Size = None, dtype: str | None = None) -> Operand:
        """Return draws of the normal distribution of mean 0 and standard deviation 1."""
        return self.draw("standard_normal", self.shape_for(size), dtype or self.dtype)

    def standard_exponential(self, size: Size = None, dtype: str | None = None) -> Operand:
        """Return draws of the exponential distribution of scale 1."""
        return self.draw("standard_exponential", self.shape_for(size), dtype or self.dtype)

    def normal(self, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Operand:
        """Return draws of the normal distribution."""
        scale = self.require(scale >= 0, scale, "scale < 0")
        return loc + scale * self.standard_normal(self.shape_for(size, loc, scale))

    def uniform(self, low: Operand = 0.0, high: Operand = 1.0, size: Size = None) -> Operand:
        """Return draws of the uniform distribution on [low, high)."""
        width = self.require(np.isfinite(high - low), high - low, "high - low range exceeds valid bounds")
        width = self.require(width >= 0, width, "low > high")
        return low + width * self.random(self.shape_for(size, low, high))

    def exponential(self, scale: Operand = 1.0, size: Size = None) -> Operand:
        """Return draws of the exponential distribution."""
        scale = self.require(scale >= 0, scale, "scale < 0")
        return scale * self.standard_exponential(self.shape_for(size, scale))
