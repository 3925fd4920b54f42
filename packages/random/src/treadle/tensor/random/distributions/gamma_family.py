"""The gamma distribution, and those that are made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.exponential import log
from treadle.tensor.errors import ArgumentError
from treadle.tensor.random.densities.attributes import with_functions
from treadle.tensor.random.distributions.continuous import LocationScaleRV
from treadle.tensor.random.implicit import beta_by_shape, log_gamma_by_shape
from treadle.tensor.random.methods.conditions import in_double, nonnegative, positive
from treadle.tensor.random.op import REQUIRED, RandomVariable
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.random.methods.generator_methods import Generator, Operand, Size

__all__ = [
    "FRV", "ChiRV", "GammaRV", "GenGammaRV", "InvGammaRV", "MaxwellRV", "NonCentralChiSquareRV", "NonCentralFRV",
    "_gamma", "chi", "chisquare", "f", "gamma", "gengamma", "invgamma", "maxwell", "noncentral_chisquare",
    "noncentral_f", "standard_gamma",
]  # fmt: skip


class GammaRV(RandomVariable):
    """The gamma distribution, of mean ``shape * scale`` (both 0 or more).

    From NumPy's generators by ``Generator.gamma``. The derivative by the shape is implicit.
    """

    name = "gamma"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"shape": REQUIRED, "scale": REQUIRED}
    _print_name = ("Gamma", "\\operatorname{Gamma}")

    def definition(self, rng: Generator, shape: Operand, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.gamma(shape, scale, size)

    def derivatives(self, draw: Operand, cotangent: Operand, shape: Operand, scale: Operand) -> Sequence[Operand]:
        """Return those of scale * g.

        Through the definition: none, as it is the generator's method of this name.
        """
        level = log(draw) - log(scale)
        by_shape = switch(draw > 0, draw * log_gamma_by_shape(shape, level), 0.0)
        return [cotangent * by_shape, cotangent * draw / scale]


class InvGammaRV(RandomVariable):
    """The inverse gamma distribution: of scale / g, where g has a gamma distribution of that shape.

    From NumPy's generators by ``Generator.standard_gamma``.
    """

    name = "invgamma"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"shape": REQUIRED, "scale": REQUIRED}
    _print_name = ("InverseGamma", "\\operatorname{InverseGamma}")

    def definition(self, rng: Generator, shape: Operand, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        return nonnegative(scale, "scale") / rng.standard_gamma(shape, size)

    def derivatives(self, draw: Operand, cotangent: Operand, shape: Operand, scale: Operand) -> Sequence[Operand]:
        """Return those of scale / g.

        Through the definition: 30 nodes in place of 27, and the numbers are drawn again.
        """
        level = log(scale) - log(draw)
        return [-cotangent * draw * log_gamma_by_shape(shape, level), cotangent * draw / scale]


class GenGammaRV(RandomVariable):
    """The generalised gamma distribution: of lambd * g**(1 / p), where g has the shape alpha / p.

    Its density is proportional to x**(alpha - 1) exp(-(x / lambd)**p); `p` and `alpha` are above 0. From NumPy's
    generators by ``Generator.standard_gamma``, then ``standard_exponential``.
    """

    name = "gengamma"
    signature = "(),(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"alpha": 1.0, "p": 1.0, "lambd": 1.0}
    _print_name = ("GeneralizedGamma", "\\operatorname{GeneralizedGamma}")

    def definition(self, rng: Generator, alpha: Operand, p: Operand, lambd: Operand, *, size: Size) -> Operand:
        """Draw."""
        alpha, p = positive(alpha, "alpha"), positive(p, "p")
        shape = alpha / p
        # A draw of small shape may be too small for a float, and its root is not: then g of the shape above it, and
        # exp(-e / shape), are multiplied as roots (Marsaglia and Tsang 2000, section 6).
        small = shape < _SMALL
        g = rng.standard_gamma(np.where(small, shape + 1, shape), size)
        lift = np.where(small, np.exp(-rng.standard_exponential(size) / alpha), 1.0)
        return nonnegative(lambd, "lambd") * g ** (1.0 / p) * lift

    def derivatives(
        self, draw: Operand, cotangent: Operand, alpha: Operand, p: Operand, lambd: Operand
    ) -> Sequence[Operand]:
        """Return those of lambd * g**(1 / p).

        Through the definition: 91 nodes in place of 42, and the numbers are drawn again.
        """
        level = p * (log(draw) - log(lambd))
        by_shape = log_gamma_by_shape(alpha / p, level)
        scaled = cotangent * draw / (p * p)
        by_alpha, by_p = scaled * by_shape, -scaled * (level + alpha * by_shape / p)
        return [switch(draw > 0, by_alpha, 0.0), switch(draw > 0, by_p, 0.0), cotangent * draw / lambd]


# Draws of this shape and above are not 0, in float32 either.
_SMALL = 0.4


class ChiRV(LocationScaleRV):
    """The chi distribution: of the root of a sum of `df` squares of standard normal numbers; no integer is needed.

    It is that of `scipy.stats.chi`. From NumPy's generators by ``Generator.chisquare``, as in SciPy.
    """

    name = "chi"
    signature = "(),(),()->()"
    parameters: ClassVar = {"df": REQUIRED, "loc": 0.0, "scale": 1.0}
    _print_name = ("Chi", "\\operatorname{Chi}")

    def standard(self, rng: Generator, df: Operand, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        return np.sqrt(rng.chisquare(df, size))

    def by_shapes(self, z: Operand, df: Operand) -> Sequence[Operand]:
        """Return the derivative of sqrt(2 g)."""
        return [switch(z > 0, z * log_gamma_by_shape(df / 2, log(z * z / 2)) / 4, 0.0)]


class MaxwellRV(LocationScaleRV):
    """Maxwell's distribution: of the length of a vector of three standard normal numbers.

    It is that of `scipy.stats.maxwell`. From NumPy's generators by ``Generator.chisquare``, as in SciPy.
    """

    name = "maxwell"
    _print_name = ("Maxwell", "\\operatorname{Maxwell}")

    def standard(self, rng: Generator, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        return np.sqrt(rng.chisquare(3.0, size))


class NonCentralChiSquareRV(RandomVariable):
    """The noncentral chi-squared distribution: of a sum of `df` squares of normal numbers.

    Their standard deviations are 1, and the squares of their means add up to `nonc` (0 or more). From NumPy's
    generators by ``Generator.noncentral_chisquare``. It has no derivatives.
    """

    name = "noncentral_chisquare"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"df": REQUIRED, "nonc": REQUIRED}
    _print_name = ("NoncentralChiSquared", "\\operatorname{NoncentralChiSquared}")

    def definition(self, rng: Generator, df: Operand, nonc: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.noncentral_chisquare(df, nonc, size)


class FRV(RandomVariable):
    """The F distribution: of the ratio of two chi-squared numbers, each over its degrees of freedom (above 0).

    From NumPy's generators by ``Generator.f``. Derivatives are implicit.
    """

    name = "f"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"dfnum": REQUIRED, "dfden": REQUIRED}
    _print_name = ("F", "\\operatorname{F}")

    def definition(self, rng: Generator, dfnum: Operand, dfden: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.f(dfnum, dfden, size)

    def derivatives(self, draw: Operand, cotangent: Operand, dfnum: Operand, dfden: Operand) -> Sequence[Operand]:
        """Return those of w dfden / ((1 - w) dfnum), where w has the beta distribution.

        Through the definition: none, as it is the generator's method of this name.
        """
        a, b = in_double(dfnum) / 2, in_double(dfden) / 2
        w, rest = a * draw / (a * draw + b), b / (a * draw + b)
        by_a = beta_by_shape(a, b, w, rest) / (w * rest) - 1 / a
        by_b = 1 / b - beta_by_shape(b, a, rest, w) / (w * rest)
        half = 0.5 * cotangent * draw
        return [switch(draw > 0, half * by_a, 0.0), switch(draw > 0, half * by_b, 0.0)]


class NonCentralFRV(RandomVariable):
    """The noncentral F distribution: of the ratio of a noncentral chi-squared number and a chi-squared one.

    Each is divided by its degrees of freedom. From NumPy's generators by ``Generator.noncentral_f``. It has no
    derivatives.
    """

    name = "noncentral_f"
    signature = "(),(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"dfnum": REQUIRED, "dfden": REQUIRED, "nonc": REQUIRED}
    _print_name = ("NoncentralF", "\\operatorname{NoncentralF}")

    def definition(self, rng: Generator, dfnum: Operand, dfden: Operand, nonc: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.noncentral_f(dfnum, dfden, nonc, size)


_gamma = GammaRV()
chi = ChiRV()
f = FRV()
gengamma = GenGammaRV()
invgamma = InvGammaRV()
maxwell = MaxwellRV()
noncentral_chisquare = NonCentralChiSquareRV()
noncentral_f = NonCentralFRV()


@with_functions
def gamma(shape: Operand, rate: Operand | None = None, scale: Operand | None = None, **options: Operand) -> Operand:
    """Return a draw of the gamma distribution, of mean shape / rate, or shape * scale.

    The second parameter by position is the rate, as in PyTensor; NumPy's is the scale. Name the one that you mean.

    Parameters
    ----------
    shape
        The shape, 0 or more.
    rate, scale
        One of the two: the scale is 1 / rate.
    options
        `size`, `rng`, `dtype`, `name` and `return_next_rng`, as for every distribution.

    Raises
    ------
    ArgumentError
        If both are given, or none.

    Examples
    --------
    >>> tt.random.gamma(2.0, scale=10.0, size=3).eval().shape
    (3,)
    """
    if (rate is None) == (scale is None):
        received, advice = ("none", "Give one by name.") if rate is None else ("both", "Leave one out.")
        msg = f"gamma: either rate or scale is needed, got {received}. {advice}"
        raise ArgumentError(msg)
    return _gamma(shape, scale if rate is None else 1.0 / as_tensor_variable(rate), **options)


@with_functions
def chisquare(df: Operand, size: Size = None, **options: Operand) -> Operand:
    """Return a draw of the chi-squared distribution: of a sum of `df` squares of standard normal numbers.

    Parameters
    ----------
    df
        Degrees of freedom, above 0; no integer is needed.
    size, options
        As for `gamma`.

    Examples
    --------
    >>> tt.random.chisquare(2.0, size=3).eval().shape
    (3,)
    """
    return _gamma(as_tensor_variable(df) / 2.0, 2.0, size=size, **options)


@with_functions
def standard_gamma(shape: Operand, size: Size = None, **options: Operand) -> Operand:
    """Return a draw of the gamma distribution of scale 1; size and options are those of `gamma`.

    Examples
    --------
    >>> tt.random.standard_gamma(2.0, size=3).eval().shape
    (3,)
    """
    return _gamma(shape, 1.0, size=size, **options)
