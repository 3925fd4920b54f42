"""Continuous distributions on intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.tensor.random.conditions import in_double, positive
from treadle.tensor.random.continuous import LocationScaleRV
from treadle.tensor.random.implicit import beta_by_shape, vonmises_by_kappa
from treadle.tensor.random.op import REQUIRED, RandomVariable
from treadle.tensor.scalar.cast import switch
from treadle.tensor.scalar.exponential import exp, expm1

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.random.methods import Generator, Operand, Size

__all__ = [
    "BetaRV",
    "TriangularRV",
    "TruncExponentialRV",
    "UniformRV",
    "VonMisesRV",
    "beta",
    "triangular",
    "truncexpon",
    "uniform",
    "vonmises",
]


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


class BetaRV(RandomVariable):
    """The beta distribution on (0, 1), of density proportional to x**(alpha - 1) (1 - x)**(beta - 1).

    From NumPy's generators by ``Generator.beta``. Derivatives are implicit.
    """

    name = "beta"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"alpha": REQUIRED, "beta": REQUIRED}
    _print_name = ("Beta", "\\operatorname{Beta}")

    def definition(self, rng: Generator, alpha: Operand, beta: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.beta(alpha, beta, size)

    def derivatives(self, draw: Operand, cotangent: Operand, alpha: Operand, beta: Operand) -> Sequence[Operand]:
        """Return the implicit ones."""
        return [
            cotangent * beta_by_shape(alpha, beta, draw, 1 - draw),
            -cotangent * beta_by_shape(beta, alpha, 1 - draw, draw),
        ]


class TriangularRV(RandomVariable):
    """The triangular distribution on [left, right), whose density is largest at `mode`.

    From NumPy's generators by ``Generator.triangular``.
    """

    name = "triangular"
    signature = "(),(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"left": REQUIRED, "mode": REQUIRED, "right": REQUIRED}
    _print_name = ("Triangular", "\\operatorname{Triangular}")

    def definition(self, rng: Generator, left: Operand, mode: Operand, right: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.triangular(left, mode, right, size)

    def derivatives(
        self, draw: Operand, cotangent: Operand, left: Operand, mode: Operand, right: Operand
    ) -> Sequence[Operand]:
        """Return those of left + sqrt(u (mode - left) (right - left)), and of the same from the right."""
        lower = draw <= mode
        # Half of the distance from the nearer end, over the width of that side and over the whole width.
        half = 0.5 * switch(lower, draw - left, right - draw)
        side, whole = half / switch(lower, mode - left, right - mode), half / (right - left)
        by_left, by_right = switch(lower, 1 - side - whole, whole), switch(lower, whole, 1 - side - whole)
        return [cotangent * by_left, cotangent * side, cotangent * by_right]


class TruncExponentialRV(LocationScaleRV):
    """The exponential distribution up to `b` (above 0), moved by `loc` and stretched by `scale`.

    From NumPy's generators by ``Generator.random``, as in SciPy.
    """

    name = "truncexpon"
    signature = "(),(),()->()"
    parameters: ClassVar = {"b": REQUIRED, "loc": 0.0, "scale": 1.0}
    _print_name = ("TruncatedExponential", "\\operatorname{TruncatedExponential}")

    def standard(self, rng: Generator, b: Operand, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        return -np.log1p(rng.random(size) * np.expm1(-in_double(positive(b, "b"))))

    def by_shapes(self, z: Operand, b: Operand) -> Sequence[Operand]:
        """Return that of -log1p(u * expm1(-b))."""
        return [exp(z - b) * expm1(-z) / expm1(-b)]


class VonMisesRV(RandomVariable):
    """The von Mises distribution of angles in [-pi, pi], of mean `mu` and concentration `kappa` (0 or more).

    From NumPy's generators by ``Generator.vonmises``. The derivative by `kappa` is implicit.
    """

    name = "vonmises"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"mu": REQUIRED, "kappa": REQUIRED}
    _print_name = ("VonMises", "\\operatorname{VonMises}")

    def definition(self, rng: Generator, mu: Operand, kappa: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.vonmises(mu, kappa, size)

    def derivatives(self, draw: Operand, cotangent: Operand, mu: Operand, kappa: Operand) -> Sequence[Operand]:
        """Return 1, and the implicit one."""
        return [cotangent, cotangent * vonmises_by_kappa(draw - mu, kappa)]


beta = BetaRV()
triangular = TriangularRV()
truncexpon = TruncExponentialRV()
uniform = UniformRV()
vonmises = VonMisesRV()
