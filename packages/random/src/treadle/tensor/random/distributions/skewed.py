"""Skewed distributions on the real line, as SciPy has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.config import alias
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.exponential import sqrt
from treadle.tensor.elementwise.trigonometric import arcsinh
from treadle.tensor.random.distributions.continuous import LocationScaleRV
from treadle.tensor.random.methods.conditions import in_double, nonnegative, positive
from treadle.tensor.random.op import REQUIRED
from treadle.tensor.special_functions.error_functions import inverse_mills_ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.random.methods.generator_methods import Generator, Operand, Size

__all__ = [
    "AsymmetricLaplaceRV", "ExponNormRV", "JohnsonSURV", "MoyalRV", "SkewNormalRV", "asymmetric_laplace", "exponnorm",
    "johnsonsu", "laplace_asymmetric", "moyal", "skewnorm",
]  # fmt: skip


class AsymmetricLaplaceRV(LocationScaleRV):
    """The asymmetric Laplace distribution, of density proportional to exp(-kappa z) above 0, exp(z / kappa) below.

    It is that of `scipy.stats.laplace_asymmetric`; `kappa` is above 0. From NumPy's generators by
    ``Generator.standard_exponential``, twice.
    """

    name = "laplace_asymmetric"
    signature = "(),(),()->()"
    parameters: ClassVar = {"kappa": REQUIRED, "loc": 0.0, "scale": 1.0}
    _print_name = ("AsymmetricLaplace", "\\operatorname{AsymmetricLaplace}")

    def standard(self, rng: Generator, kappa: Operand, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1: a difference of exponentials."""
        kappa = positive(kappa, "kappa")
        return rng.standard_exponential(size) / kappa - rng.standard_exponential(size) * kappa

    def by_shapes(self, z: Operand, kappa: Operand) -> Sequence[Operand]:
        """Return the derivative of the quantile."""
        return [-abs(z) / kappa - 2 / (1 + kappa * kappa)]


class ExponNormRV(LocationScaleRV):
    """The exponentially modified normal distribution: of n + K * e, n standard normal and e exponential of mean 1.

    It is that of `scipy.stats.exponnorm`; `K` is above 0. From NumPy's generators by
    ``Generator.standard_exponential``, then ``standard_normal``, as in SciPy.
    """

    name = "exponnorm"
    signature = "(),(),()->()"
    parameters: ClassVar = {"K": REQUIRED, "loc": 0.0, "scale": 1.0}
    _print_name = ("ExGaussian", "\\operatorname{ExGaussian}")

    def standard(self, rng: Generator, k: Operand, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        tail = rng.standard_exponential(size) * nonnegative(k, "K")
        return tail + rng.standard_normal(size)

    def by_shapes(self, z: Operand, k: Operand) -> Sequence[Operand]:
        """Return the derivative of the quantile; F is ndtr(z) - exp(1 / (2 K**2) - z / K) ndtr(z - 1 / K)."""
        k = in_double(k)
        u = z - 1 / k
        # u + inverse_mills_ratio(u) is about -1 / u far below 0.
        square = 1 / (u * u)
        far = -(1 - square * (2 - square * (10 - square * 74))) / u
        return [switch(u < -100, far, u + inverse_mills_ratio(u)) / k]


class JohnsonSURV(LocationScaleRV):
    """Johnson's SU distribution: of sinh((n - a) / b), where n is standard normal.

    It is that of `scipy.stats.johnsonsu`; `b` is above 0. From NumPy's generators by ``Generator.standard_normal``.
    """

    name = "johnsonsu"
    signature = "(),(),(),()->()"
    parameters: ClassVar = {"a": REQUIRED, "b": REQUIRED, "loc": 0.0, "scale": 1.0}
    _print_name = ("JohnsonSU", "\\operatorname{JohnsonSU}")

    def standard(self, rng: Generator, a: Operand, b: Operand, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        return np.sinh((rng.standard_normal(size) - a) / positive(b, "b"))

    def by_shapes(self, z: Operand, a: Operand, b: Operand) -> Sequence[Operand]:
        """Return those of sinh((n - a) / b)."""
        slope = -sqrt(1 + z * z) / b
        return [slope, slope * arcsinh(z)]


class MoyalRV(LocationScaleRV):
    """Moyal's distribution: of -log(n**2), where n is standard normal.

    It is that of `scipy.stats.moyal`. From NumPy's generators by ``Generator.standard_normal``.
    """

    name = "moyal"
    _print_name = ("Moyal", "\\operatorname{Moyal}")

    def standard(self, rng: Generator, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        return -2 * np.log(np.abs(rng.standard_normal(size)))


class SkewNormalRV(LocationScaleRV):
    """The skew normal distribution, of density 2 phi(z) Phi(a z), phi and Phi those of the normal distribution.

    It is that of `scipy.stats.skewnorm`. From NumPy's generators by ``Generator.standard_normal``, twice, as in SciPy.
    """

    name = "skewnorm"
    signature = "(),(),()->()"
    parameters: ClassVar = {"a": REQUIRED, "loc": 0.0, "scale": 1.0}
    _print_name = ("SkewNormal", "\\operatorname{SkewNormal}")

    def standard(self, rng: Generator, a: Operand, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        # An infinite a is half-normal.
        a = in_double(a)
        norm = np.hypot(1.0, a)
        cosine, sine = 1 / norm, np.where(np.isinf(a), np.sign(a), a / norm)
        first, second = rng.standard_normal(size), rng.standard_normal(size)
        draw = sine * first + cosine * second
        return np.where(first >= 0, draw, -draw)

    def by_shapes(self, z: Operand, a: Operand) -> Sequence[Operand]:
        """Return the derivative of the quantile; F is Phi(z) - 2 T(z, a), T being Owen's function."""
        a = in_double(a)
        return [inverse_mills_ratio(a * z) / (1 + a * a)]


exponnorm = ExponNormRV()
johnsonsu = JohnsonSURV()
asymmetric_laplace = alias(AsymmetricLaplaceRV(), "asymmetric_laplace")
laplace_asymmetric = alias(asymmetric_laplace, "laplace_asymmetric")
moyal = MoyalRV()
skewnorm = SkewNormalRV()
