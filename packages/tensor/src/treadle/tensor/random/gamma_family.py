"""The gamma distribution, and those of its powers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.tensor.errors import ArgumentError
from treadle.tensor.random.conditions import nonnegative, positive
from treadle.tensor.random.implicit import log_gamma_by_shape
from treadle.tensor.random.op import REQUIRED, RandomVariable
from treadle.tensor.scalar.cast import switch
from treadle.tensor.scalar.exponential import log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.random.methods import Generator, Operand, Size

__all__ = [
    "GammaRV",
    "GenGammaRV",
    "InvGammaRV",
    "_gamma",
    "chisquare",
    "gamma",
    "gengamma",
    "invgamma",
    "standard_gamma",
]


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
        """Return those of scale * g."""
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
        """Return those of scale / g."""
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
        """Return those of lambd * g**(1 / p)."""
        level = p * (log(draw) - log(lambd))
        by_shape = log_gamma_by_shape(alpha / p, level)
        scaled = cotangent * draw / (p * p)
        by_alpha, by_p = scaled * by_shape, -scaled * (level + alpha * by_shape / p)
        return [switch(draw > 0, by_alpha, 0.0), switch(draw > 0, by_p, 0.0), cotangent * draw / lambd]


# Draws of this shape and above are not 0, in float32 either.
_SMALL = 0.4
_gamma = GammaRV()
gengamma = GenGammaRV()
invgamma = InvGammaRV()


def gamma(shape: Operand, rate: Operand | None = None, scale: Operand | None = None, **options: Operand) -> Operand:
    """Return a draw of the gamma distribution, of mean shape / rate, or shape * scale.

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
    """
    if (rate is None) == (scale is None):
        msg = f"gamma: either rate or scale is needed, got {'none' if rate is None else 'both'}. Leave one out."
        raise ArgumentError(msg)
    return _gamma(shape, scale if rate is None else 1.0 / rate, **options)


def chisquare(df: Operand, size: Size = None, **options: Operand) -> Operand:
    """Return a draw of the chi-squared distribution: of a sum of `df` squares of standard normal numbers.

    Parameters
    ----------
    df
        Degrees of freedom, above 0; no integer is needed.
    size, options
        As for `gamma`.
    """
    return _gamma(df / 2.0, 2.0, size=size, **options)


def standard_gamma(shape: Operand, size: Size = None, **options: Operand) -> Operand:
    """Return a draw of the gamma distribution of scale 1; size and options are those of `gamma`."""
    return _gamma(shape, 1.0, size=size, **options)
