"""Continuous distributions on intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import isinf
from treadle.tensor.elementwise.exponential import exp, expm1, log, log1p
from treadle.tensor.lazy import lazy_scipy_module
from treadle.tensor.random.densities.attributes import with_functions
from treadle.tensor.random.distributions.continuous import LocationScaleRV
from treadle.tensor.random.implicit import beta_by_shape, vonmises_by_kappa
from treadle.tensor.random.methods.conditions import in_double, positive, require
from treadle.tensor.random.normal_mass import log_normal_mass
from treadle.tensor.random.op import REQUIRED, RandomVariable
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.random.methods.generator_methods import Generator, Operand, Size

special = lazy_scipy_module("special")

__all__ = [
    "ArcSineRV", "BetaRV", "KumaraswamyRV", "LogUniformRV", "LogitNormalRV", "PowerRV", "TriangularRV",
    "TruncExponentialRV", "TruncNormalRV", "UniformRV", "VonMisesRV", "arcsine", "beta", "kumaraswamy", "logit_normal",
    "loguniform", "power", "triangular", "truncated_normal", "truncexpon", "truncnorm", "uniform", "vonmises",
]  # fmt: skip


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
        """Return those of low + (high - low) u.

        Through the definition: none, as it is the generator's method of this name.
        """
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
        """Return the implicit ones.

        Through the definition: none, as it is the generator's method of this name.
        """
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
        """Return those of left + sqrt(u (mode - left) (right - left)), and of the same from the right.

        Through the definition: none, as it is the generator's method of this name.
        """
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
        """Return 1, and the implicit one.

        Through the definition: none, as it is the generator's method of this name.
        """
        return [cotangent, cotangent * vonmises_by_kappa(draw - mu, kappa)]


class PowerRV(RandomVariable):
    """The power distribution on [0, 1], of density proportional to x**(a - 1); `a` is above 0.

    From NumPy's generators by ``Generator.power``.
    """

    name = "power"
    signature = "()->()"
    dtype = "floatX"
    parameters: ClassVar = {"a": REQUIRED}
    _print_name = ("Power", "\\operatorname{Power}")

    def definition(self, rng: Generator, a: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.power(a, size)

    def derivatives(self, draw: Operand, cotangent: Operand, a: Operand) -> Sequence[Operand]:
        """Return that of u**(1 / a).

        Through the definition: none, as it is the generator's method of this name.
        """
        return [-cotangent * _xlogx(draw) / a]


class KumaraswamyRV(RandomVariable):
    """Kumaraswamy's distribution on [0, 1], whose distribution function is 1 - (1 - x**a)**b; `a`, `b` are above 0.

    From NumPy's generators by ``Generator.standard_exponential``.
    """

    name = "kumaraswamy"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"a": REQUIRED, "b": REQUIRED}
    _print_name = ("Kumaraswamy", "\\operatorname{Kumaraswamy}")

    def definition(self, rng: Generator, a: Operand, b: Operand, *, size: Size) -> Operand:
        """Draw."""
        return (-np.expm1(-rng.standard_exponential(size) / positive(b, "b"))) ** (1.0 / positive(a, "a"))

    def derivatives(self, draw: Operand, cotangent: Operand, a: Operand, b: Operand) -> Sequence[Operand]:
        """Return those of (1 - exp(-e / b))**(1 / a).

        Through the definition: 38 nodes in place of 27, and the numbers are drawn again.
        """
        logarithm = log(draw)
        # x**a, and 1 less it.
        power, rest = exp(a * logarithm), -expm1(a * logarithm)
        by_b = switch((draw > 0) & (rest > 0), draw * rest * log(rest) / (a * b * power), 0.0)
        return [-cotangent * _xlogx(draw) / a, cotangent * by_b]


class ArcSineRV(LocationScaleRV):
    """The arcsine distribution on [loc, loc + scale]: of sin(angle)**2, the angle being uniform.

    It is that of `scipy.stats.arcsine`. From NumPy's generators by ``Generator.random``, as in SciPy.
    """

    name = "arcsine"
    _print_name = ("ArcSine", "\\operatorname{ArcSine}")

    def standard(self, rng: Generator, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        root = np.sin(np.pi / 2 * rng.random(size))
        return root * root


class LogUniformRV(LocationScaleRV):
    """The loguniform distribution on [a, b], the reciprocal one: of exp(u), where u is uniform; `a` is above 0.

    It is that of `scipy.stats.loguniform`. From NumPy's generators by ``Generator.random``, as in SciPy.
    """

    name = "loguniform"
    signature = "(),(),(),()->()"
    parameters: ClassVar = {"a": REQUIRED, "b": REQUIRED, "loc": 0.0, "scale": 1.0}
    _print_name = ("LogUniform", "\\operatorname{LogUniform}")

    def standard(self, rng: Generator, a: Operand, b: Operand, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        a, b = in_double(positive(a, "a")), in_double(b)
        low, high = np.log(a), np.log(require(np.logical_not(a > b), b, "a > b"))
        return np.minimum(np.maximum(np.exp(low + rng.random(size) * (high - low)), a), b)

    def by_shapes(self, z: Operand, a: Operand, b: Operand) -> Sequence[Operand]:
        """Return those of a**(1 - u) b**u."""
        u = (log(z) - log(a)) / (log(b) - log(a))
        return [(1 - u) * z / a, u * z / b]


class LogitNormalRV(RandomVariable):
    """The logit-normal distribution on (0, 1): of 1 / (1 + exp(-n)), where n is normal.

    From NumPy's generators by ``Generator.normal``.
    """

    name = "logit_normal"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"mu": 0.0, "sigma": 1.0}
    _print_name = ("LogitNormal", "\\operatorname{LogitNormal}")

    def definition(self, rng: Generator, mu: Operand, sigma: Operand, *, size: Size) -> Operand:
        """Draw."""
        return special.expit(rng.normal(mu, sigma, size))

    def derivatives(self, draw: Operand, cotangent: Operand, mu: Operand, sigma: Operand) -> Sequence[Operand]:
        """Return those of 1 / (1 + exp(-(mu + sigma * z))).

        Through the definition: 13 nodes in place of 19, but the numbers are drawn again: with the draw itself, 10 ms
        in place of 2 for 100000.
        """
        slope = cotangent * draw * (1 - draw)
        inside = (draw > 0) & (draw < 1)
        return [slope, switch(inside, slope * (log(draw) - log1p(-draw) - mu) / sigma, 0.0)]


class TruncNormalRV(LocationScaleRV):
    """The normal distribution cut off below `a` and above `b` (both in units of `scale`, from `loc`).

    It is that of `scipy.stats.truncnorm`; see `truncated_normal` for bounds as they are. From NumPy's generators by
    ``Generator.standard_normal``: the draw is the quantile in whose place a normal number is. Draws far in either tail
    are accurate, for they are found by the logarithms of probabilities.
    """

    name = "truncnorm"
    signature = "(),(),(),()->()"
    parameters: ClassVar = {"a": REQUIRED, "b": REQUIRED, "loc": 0.0, "scale": 1.0}
    _print_name = ("TruncatedNormal", "\\operatorname{TruncatedNormal}")

    def standard(self, rng: Generator, a: Operand, b: Operand, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        a, b = in_double(a), in_double(b)
        b = require(np.logical_not(a > b), b, "a > b")
        # Where all is above 0, the mirror image is drawn: probabilities are small, and logarithms hold their digits.
        above = a >= 0
        low, high = np.where(above, -b, a), np.where(above, -a, b)
        level = special.log_ndtr(rng.standard_normal(size)) + log_normal_mass(low, high)
        x = special.ndtri_exp(np.minimum(np.logaddexp(special.log_ndtr(low), level), 0.0))
        x = np.minimum(np.maximum(x, low), high)
        return np.where(above, -x, x)

    def by_shapes(self, z: Operand, a: Operand, b: Operand) -> Sequence[Operand]:
        """Return those of the quantile: dx/da = (1 - F) phi(a) / phi(x), dx/db = F phi(b) / phi(x)."""
        z, a, b = map(in_double, (z, a, b))
        whole = log_normal_mass(a, b)
        below, above = log_normal_mass(a, z) - whole, log_normal_mass(z, b) - whole
        by_a, by_b = (exp(part + (z - end) * (z + end) / 2) for part, end in ((above, a), (below, b)))
        return [switch(isinf(a), 0.0, by_a), switch(isinf(b), 0.0, by_b)]


def _xlogx(x: Operand) -> Operand:
    return switch(x > 0, x * log(x), 0.0)


arcsine = ArcSineRV()
beta = BetaRV()
kumaraswamy = KumaraswamyRV()
logit_normal = LogitNormalRV()
loguniform = LogUniformRV()
power = PowerRV()
triangular = TriangularRV()
truncexpon = TruncExponentialRV()
truncnorm = TruncNormalRV()
uniform = UniformRV()
vonmises = VonMisesRV()


@with_functions
def truncated_normal(
    loc: Operand = 0.0, scale: Operand = 1.0, lower: Operand = -np.inf, upper: Operand = np.inf, **options: Operand
) -> Operand:
    """Return a draw of the normal distribution cut off below `lower` and above `upper`.

    Parameters
    ----------
    loc, scale
        Mean and standard deviation before the cut.
    lower, upper
        The bounds.
    options
        `size`, `rng`, `dtype`, `name` and `return_next_rng`, as for every distribution.

    Examples
    --------
    >>> tt.random.truncated_normal(size=3).eval().shape
    (3,)
    """
    loc, scale = as_tensor_variable(loc), as_tensor_variable(scale)
    a, b = ((in_double(as_tensor_variable(bound)) - loc) / scale for bound in (lower, upper))
    return truncnorm(a, b, loc, scale, **options)
