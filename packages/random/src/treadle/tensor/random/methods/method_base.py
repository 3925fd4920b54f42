"""DrawingMethods: what the methods of portable generators are made of, and the plainest of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor.arguments.values import as_choice, as_integer
from treadle.tensor.errors import ShapeError
from treadle.tensor.random.methods.conditions import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.random.methods.generator_methods import Operand, Size

# Limits are infinite, 0 or NaN without a warning, as in NumPy's Generator.
quiet = np.errstate(all="ignore")


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
        """Return the shape of a draw: the size, or what the parameters broadcast to.

        Raises
        ------
        ValueError
            If the size is negative, or the parameters do not broadcast to it.
        """
        own = np.broadcast_shapes(*(np.shape(p) for p in parameters))
        if size is None:
            return own
        lengths = tuple(size) if isinstance(size, list | tuple | np.ndarray) else (size,)
        shape = tuple(as_integer("random: size", n) for n in lengths)
        if any(n < 0 for n in shape):
            msg = f"random: negative dimensions are not allowed, got the size {shape}. Use lengths of 0 or more."
            raise ShapeError(msg)
        if len(own) > len(shape) or any(n not in {1, m} for n, m in zip(reversed(own), reversed(shape), strict=False)):
            msg = (
                f"random: the size {shape} is not compatible with parameters of shape {own}. Make them broadcast to it."
            )
            raise ShapeError(msg)
        return shape

    require = staticmethod(require)

    def real(self, value: Operand) -> Operand:
        """Return a parameter as a float: differences and products of small integers wrap around."""
        value = self.operand(value)
        return value if np.dtype(value.dtype).kind == "f" else value.astype("float64")

    def non_negative(self, name: str, value: Operand) -> Operand:
        """Return a parameter that must not be negative; as in NumPy, it may be NaN."""
        value = self.operand(value)
        return self.require(~(value < 0), value, f"{name} < 0")

    def positive(self, name: str, value: Operand) -> Operand:
        """Return a parameter that must be positive; as in NumPy, it may be NaN."""
        value = self.operand(value)
        return self.require(~(value <= 0), value, f"{name} <= 0")

    @staticmethod
    def shares(logs: Operand) -> Operand:
        """Return exponentials over their sums along the last dimension."""
        powers = np.exp(logs - np.max(logs, -1, keepdims=True, initial=-np.inf))
        return powers / np.sum(powers, -1, keepdims=True)

    # Draws without parameters

    def random(self, size: Size = None, dtype: Any = None, out: np.ndarray | None = None) -> Operand:
        """Return floats in [0, 1)."""
        return self._floats("random", size, dtype, out)

    def standard_normal(self, size: Size = None, dtype: Any = None, out: np.ndarray | None = None) -> Operand:
        """Return draws of the normal distribution of mean 0 and standard deviation 1."""
        return self._floats("standard_normal", size, dtype, out)

    def standard_exponential(
        self, size: Size = None, dtype: Any = None, method: str = "zig", out: np.ndarray | None = None
    ) -> Operand:
        """Return draws of the exponential distribution of scale 1; NumPy's `method` makes no difference."""
        as_choice("standard_exponential: method", method, ("zig", "inv"))
        return self._floats("standard_exponential", size, dtype, out)

    def _floats(self, sampler: str, size: Size, dtype: Any, out: np.ndarray | None, *parameters: Operand) -> Operand:
        """Return draws of floats, in an array given if there is one.

        Raises
        ------
        ShapeError
            If the array has another shape than the size.
        """
        if out is None:
            return self.draw(sampler, self.shape_for(size, *parameters), self.float_dtype(dtype), *parameters)
        shape = self.shape_for(out.shape if size is None else size, *parameters)
        if out.shape != shape:
            msg = f"{sampler}: an array of shape {shape} is needed, got one of shape {out.shape}. Leave out the size."
            raise ShapeError(msg)
        out[...] = self.draw(sampler, shape, self.float_dtype(out.dtype if dtype is None else dtype), *parameters)
        return out

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
