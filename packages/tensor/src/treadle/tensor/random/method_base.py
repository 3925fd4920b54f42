"""DrawingMethods: what the methods of portable generators are made of, and the plainest of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.random.methods import Operand, Size


class DrawingMethods(ABC):
    """Base of the methods of a generator: `draw`, and checks of parameters."""

    __slots__ = ()

    # Dtype of the floats that are drawn by default.
    dtype: str

    @abstractmethod
    def draw(self, sampler: str, shape: Sequence[Operand], dtype: str, *parameters: Operand) -> Operand:
        """Return an array of draws, and move on."""

    @staticmethod
    def operand(value: Operand) -> Operand:
        """Return a parameter as an array."""
        return np.asarray(value)

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

    def non_negative(self, name: str, value: Operand) -> Operand:
        """Return a parameter that must not be negative; as in NumPy, it may be NaN."""
        value = self.operand(value)
        return self.require(~(value < 0), value, f"{name} < 0")

    def positive(self, name: str, value: Operand) -> Operand:
        """Return a parameter that must be positive; as in NumPy, it may be NaN."""
        value = self.operand(value)
        return self.require(~(value <= 0), value, f"{name} <= 0")

    # Draws without parameters

    def random(self, size: Size = None, dtype: Any = None) -> Operand:
        """Return floats in [0, 1)."""
        return self.draw("random", self.shape_for(size), self.float_dtype(dtype))

    def standard_normal(self, size: Size = None, dtype: Any = None) -> Operand:
        """Return draws of the normal distribution of mean 0 and standard deviation 1."""
        return self.draw("standard_normal", self.shape_for(size), self.float_dtype(dtype))

    def standard_exponential(self, size: Size = None, dtype: Any = None, method: str = "zig") -> Operand:
        """Return draws of the exponential distribution of scale 1; NumPy's `method` makes no difference."""
        if method not in {"zig", "inv"}:
            msg = f"standard_exponential: the method must be 'zig' or 'inv', got {method!r}."
            raise ValueError(msg)
        return self.draw("standard_exponential", self.shape_for(size), self.float_dtype(dtype))

    def float_dtype(self, dtype: Any) -> str:
        """Return the name of the dtype that floats are drawn in.

        Raises
        ------
        TypeError
            If it is neither float64 nor float32.
        """
        name = self.dtype if dtype is None else np.dtype(dtype).name
        if name not in {"float64", "float32"}:
            msg = f"random: floats are drawn in float64 or float32, got {name}. Cast what was drawn."
            raise TypeError(msg)
        return name

    def symmetric(self, shape: Sequence[Operand]) -> Operand:
        """Return uniform numbers in (-1, 1), none of which is 0: as many below as above."""
        half_step = 2.0**-53 if self.dtype == "float64" else 2.0**-24
        return 2 * self.random(shape) - (1 - half_step)
