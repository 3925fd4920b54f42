"""Continuous distributions of positive numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.config import alias
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.exponential import expm1, log, sqrt
from treadle.tensor.random.densities.attributes import with_functions
from treadle.tensor.random.distributions.continuous import LocationScaleRV
from treadle.tensor.random.implicit import t_by_df
from treadle.tensor.random.methods.conditions import nonnegative, positive
from treadle.tensor.random.op import REQUIRED, RandomVariable
from treadle.tensor.special_functions.error_functions import inverse_mills_ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.random.methods.generator_methods import Generator, Operand, Size

__all__ = [
    "ExponentialRV", "GompertzRV", "HalfCauchyRV", "HalfNormalRV", "HalfStudentTRV", "LevyRV", "LogLogisticRV",
    "LogNormalRV", "ParetoRV", "RayleighRV", "WaldRV", "WeibullRV", "exponential", "fisk", "gompertz", "half_student_t",
    "halfcauchy", "halfnormal", "inverse_gaussian", "levy", "log_logistic", "lognormal", "pareto", "rayleigh",
    "standard_exponential", "wald", "weibull",
]  # fmt: skip


class ExponentialRV(RandomVariable):
    """The exponential distribution, of mean `scale` (0 or more).

    From NumPy's generators by ``Generator.exponential``.
    """

    name = "exponential"
    signature = "()->()"
    dtype = "floatX"
    parameters: ClassVar = {"scale": 1.0}
    _print_name = ("Exponential", "\\operatorname{Exponential}")

    def definition(self, rng: Generator, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.exponential(scale, size)

    def derivatives(self, draw: Operand, cotangent: Operand, scale: Operand) -> Sequence[Operand]:
        """Return that of scale * e.

        Through the definition: none, as it is the generator's method of this name.
        """
        return [cotangent * draw / scale]


class HalfCauchyRV(LocationScaleRV):
    """The half-Cauchy distribution: of loc + abs(c), where c has the Cauchy distribution of that scale.

    From NumPy's generators by ``Generator.random``, as in SciPy.
    """

    name = "halfcauchy"
    _print_name = ("HalfCauchy", "\\operatorname{HalfCauchy}")

    def standard(self, rng: Generator, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        return np.tan(np.pi / 2 * rng.random(size))


class HalfNormalRV(LocationScaleRV):
    """The half-normal distribution: of loc + abs(z), where z has the normal distribution of that scale.

    From NumPy's generators by ``Generator.standard_normal``, as in SciPy.
    """

    name = "halfnormal"
    _print_name = ("HalfNormal", "\\operatorname{HalfNormal}")

    def standard(self, rng: Generator, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        return np.abs(rng.standard_normal(size))


class LogNormalRV(RandomVariable):
    """The lognormal distribution: of exp(z), where z is normal of mean `mean` and standard deviation `sigma`.

    From NumPy's generators by ``Generator.lognormal``.
    """

    name = "lognormal"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"mean": 0.0, "sigma": 1.0}
    _print_name = ("LogNormal", "\\operatorname{LogNormal}")

    def definition(self, rng: Generator, mean: Operand, sigma: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.lognormal(mean, sigma, size)

    def derivatives(self, draw: Operand, cotangent: Operand, mean: Operand, sigma: Operand) -> Sequence[Operand]:
        """Return those of exp(mean + sigma * z).

        Through the definition: none, as it is the generator's method of this name.
        """
        z = (log(draw) - mean) / sigma
        return [cotangent * draw, switch(draw > 0, cotangent * draw * z, 0.0)]


class ParetoRV(RandomVariable):
    """The Pareto distribution of numbers from `scale` on, of density proportional to x**(-b - 1).

    It is that of `scipy.stats.pareto`; ``Generator.pareto`` draws Lomax's, which begins at 0. From NumPy's generators
    by ``Generator.random``, as in SciPy.
    """

    name = "pareto"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"b": REQUIRED, "scale": 1.0}
    _print_name = ("Pareto", "\\operatorname{Pareto}")

    def definition(self, rng: Generator, b: Operand, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        return nonnegative(scale, "scale") * (1 - rng.random(size)) ** (-1.0 / positive(b, "b"))

    def derivatives(self, draw: Operand, cotangent: Operand, b: Operand, scale: Operand) -> Sequence[Operand]:
        """Return those of scale * (1 - u)**(-1 / b).

        Through the definition: 26 nodes in place of 12, and the numbers are drawn again.
        """
        return [-cotangent * draw * log(draw / scale) / b, cotangent * draw / scale]


class WaldRV(RandomVariable):
    """Wald's distribution, the inverse Gaussian one, of mean `mean` and variance mean**3 / scale (both above 0).

    From NumPy's generators by ``Generator.wald``. Derivatives are implicit: -(dF/dp) / (dF/dx), where the distribution
    function F is that of Folks and Chhikara, *The inverse Gaussian distribution and its statistical application*, 1978.
    """

    name = "wald"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"mean": 1.0, "scale": 1.0}
    _print_name = ("Wald", "\\operatorname{Wald}")

    def definition(self, rng: Generator, mean: Operand, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.wald(mean, scale, size)

    def derivatives(self, draw: Operand, cotangent: Operand, mean: Operand, scale: Operand) -> Sequence[Operand]:
        """Return the implicit ones; that by the scale is what x = mean * dx/dmean + scale * dx/dscale leaves.

        Through the definition: none, as it is the generator's method of this name.
        """
        root = sqrt(draw / scale)
        tail = inverse_mills_ratio(-(draw / mean + 1) / root)
        by_mean = 2 * draw * root * scale / (mean * mean * tail)
        return [cotangent * by_mean, cotangent * (draw - mean * by_mean) / scale]


class WeibullRV(RandomVariable):
    """The Weibull distribution of scale 1: of e**(1 / shape), where e has the exponential distribution.

    From NumPy's generators by ``Generator.weibull``.
    """

    name = "weibull"
    signature = "()->()"
    dtype = "floatX"
    parameters: ClassVar = {"shape": REQUIRED}
    _print_name = ("Weibull", "\\operatorname{Weibull}")

    def definition(self, rng: Generator, shape: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.weibull(shape, size)

    def derivatives(self, draw: Operand, cotangent: Operand, shape: Operand) -> Sequence[Operand]:
        """Return that of e**(1 / shape).

        Through the definition: none, as it is the generator's method of this name.
        """
        return [switch(draw > 0, -cotangent * draw * log(draw) / shape, 0.0)]


class RayleighRV(RandomVariable):
    """Rayleigh's distribution: of the length of a vector of two normal numbers of standard deviation `scale`.

    From NumPy's generators by ``Generator.rayleigh``.
    """

    name = "rayleigh"
    signature = "()->()"
    dtype = "floatX"
    parameters: ClassVar = {"scale": 1.0}
    _print_name = ("Rayleigh", "\\operatorname{Rayleigh}")

    def definition(self, rng: Generator, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.rayleigh(scale, size)

    def derivatives(self, draw: Operand, cotangent: Operand, scale: Operand) -> Sequence[Operand]:
        """Return that of scale * r.

        Through the definition: none, as it is the generator's method of this name.
        """
        return [cotangent * draw / scale]


class HalfStudentTRV(LocationScaleRV):
    """The half Student's t distribution: of loc + abs(t), where t has Student's t distribution of that scale.

    From NumPy's generators by ``Generator.standard_t``. The derivative by `df` is implicit.
    """

    name = "half_student_t"
    signature = "(),(),()->()"
    parameters: ClassVar = {"df": REQUIRED, "loc": 0.0, "scale": 1.0}
    _print_name = ("HalfStudentT", "\\operatorname{HalfStudentT}")

    def standard(self, rng: Generator, df: Operand, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        return np.abs(rng.standard_t(df, size))

    def by_shapes(self, z: Operand, df: Operand) -> Sequence[Operand]:
        """Return the derivative by the degrees of freedom."""
        return [t_by_df(z, df)]


class LevyRV(LocationScaleRV):
    """Lévy's distribution: of n**-2, where n is standard normal.

    It is that of `scipy.stats.levy`. From NumPy's generators by ``Generator.standard_normal``.
    """

    name = "levy"
    _print_name = ("Levy", "\\operatorname{Levy}")

    def standard(self, rng: Generator, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        n = rng.standard_normal(size)
        return 1 / (n * n)


class GompertzRV(LocationScaleRV):
    """Gompertz's distribution: of log(1 + e / c), where e has the exponential distribution; `c` is above 0.

    It is that of `scipy.stats.gompertz`. From NumPy's generators by ``Generator.standard_exponential``.
    """

    name = "gompertz"
    signature = "(),(),()->()"
    parameters: ClassVar = {"c": REQUIRED, "loc": 0.0, "scale": 1.0}
    _print_name = ("Gompertz", "\\operatorname{Gompertz}")

    def standard(self, rng: Generator, c: Operand, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        return np.log1p(rng.standard_exponential(size) / positive(c, "c"))

    def by_shapes(self, z: Operand, c: Operand) -> Sequence[Operand]:
        """Return that of log(1 + e / c)."""
        return [expm1(-z) / c]


class LogLogisticRV(LocationScaleRV):
    """The log-logistic distribution, Fisk's: of exp(n / c), where n is logistic; `c` is above 0.

    It is that of `scipy.stats.fisk`. From NumPy's generators by ``Generator.logistic``.
    """

    name = "fisk"
    signature = "(),(),()->()"
    parameters: ClassVar = {"c": REQUIRED, "loc": 0.0, "scale": 1.0}
    _print_name = ("LogLogistic", "\\operatorname{LogLogistic}")

    def standard(self, rng: Generator, c: Operand, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        return np.exp(rng.logistic(0.0, 1.0, size) / positive(c, "c"))

    def by_shapes(self, z: Operand, c: Operand) -> Sequence[Operand]:
        """Return that of exp(n / c)."""
        return [switch(z > 0, -z * log(z) / c, 0.0)]


exponential = ExponentialRV()
log_logistic = alias(LogLogisticRV(), "log_logistic")
fisk = alias(log_logistic, "fisk")
gompertz = GompertzRV()
half_student_t = HalfStudentTRV()
halfcauchy = HalfCauchyRV()
halfnormal = HalfNormalRV()
levy = LevyRV()
lognormal = LogNormalRV()
pareto = ParetoRV()
rayleigh = RayleighRV()
wald = WaldRV()
inverse_gaussian = alias(wald, "inverse_gaussian")
weibull = WeibullRV()


@with_functions
def standard_exponential(size: Size = None, **options: Operand) -> Operand:
    """Return a draw of the exponential distribution of mean 1; parameters are those of `standard_normal`.

    Examples
    --------
    >>> tt.random.standard_exponential(size=3).eval().shape
    (3,)
    """
    return exponential(1.0, size=size, **options)
