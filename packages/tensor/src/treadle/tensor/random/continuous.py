"""Continuous distributions on the real line."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from treadle.tensor.random.op import RandomVariable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.random.methods import Generator, Operand, Size

__all__ = ["NormalRV", "UniformRV", "normal", "uniform"]


class NormalRV(RandomVariable):
    """The normal distribution, of mean `loc` and standard deviation `scale` (0 or more).

    From NumPy's generators by ``Generator.normal``.
    """

    name = "normal"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"loc": 0.0, "scale": 1.0}
    _print_name = ("Normal", "\\operatorname{Normal}")

    def definition(self, rng: Generator, loc: Operand, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.normal(loc, scale, size)

    def derivatives(self, draw: Operand, cotangent: Operand, loc: Operand, scale: Operand) -> Sequence[Operand]:
        """Return those of loc + scale * z."""
        return [cotangent, cotangent * (draw - loc) / scale]


class UniformRV(RandomVariable):
    """The uniform distribution on [low, high).

    From NumPy's generators by ``Generator.uniform``.
    """

    name = "uniform"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"low": 0.0, "high": 1.0}
    _print_name = ("Uniform", "\\operatorname{Uniform}")

    def definition(self, rng: Generator, low: Operand, high: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.uniform(low, high, size)

    def derivatives(self, draw: Operand, cotangent: Operand, low: Operand, high: Operand) -> Sequence[Operand]:
        """Return those of low + (high - low) u."""
        u = (draw - low) / (high - low)
        return [cotangent * (1 - u), cotangent * u]


normal = NormalRV()
uniform = UniformRV()
