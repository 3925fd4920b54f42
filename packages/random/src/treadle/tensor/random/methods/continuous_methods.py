"""The methods of generators that draw from continuous distributions on the real line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor.random.methods.method_base import DrawingMethods, quiet

if TYPE_CHECKING:
    from treadle.tensor.random.methods.generator_methods import Operand, Size


class ContinuousMethods(DrawingMethods):
    """Methods with the names, parameters and defaults of ``numpy.random.Generator``."""

    __slots__ = ()

    # Location and scale

    @quiet
    def normal(self, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Operand:
        """Return draws of the normal distribution."""
        scale = self.non_negative("scale", scale)
        return loc + scale * self.standard_normal(self.shape_for(size, loc, scale))

    @quiet
    def uniform(self, low: Operand = 0.0, high: Operand = 1.0, size: Size = None) -> Operand:
        """Return draws of the uniform distribution on [low, high)."""
        low, high = self.real(low), self.real(high)
        width = high - low
        width = self.require(np.isfinite(width), width, "high - low range exceeds valid bounds")
        width = self.require(width >= 0, width, "high - low < 0")
        return low + width * self.random(self.shape_for(size, low, high))

    @quiet
    def lognormal(self, mean: Operand = 0.0, sigma: Operand = 1.0, size: Size = None) -> Operand:
        """Return exponentials of normal draws."""
        sigma = self.non_negative("sigma", sigma)
        return np.exp(mean + sigma * self.standard_normal(self.shape_for(size, mean, sigma)))

    @quiet
    def exponential(self, scale: Operand = 1.0, size: Size = None) -> Operand:
        """Return draws of the exponential distribution."""
        scale = self.non_negative("scale", scale)
        return scale * self.standard_exponential(self.shape_for(size, scale))

    @quiet
    def laplace(self, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Operand:
        """Return draws of Laplace's distribution."""
        scale = self.non_negative("scale", scale)
        v = self.symmetric(self.shape_for(size, loc, scale))
        return loc - scale * np.copysign(np.log1p(-np.abs(v)), v)

    @quiet
    def logistic(self, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Operand:
        """Return draws of the logistic distribution."""
        scale = self.non_negative("scale", scale)
        v = self.symmetric(self.shape_for(size, loc, scale))
        return loc + scale * np.log((1 + v) / (1 - v))

    @quiet
    def gumbel(self, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Operand:
        """Return draws of Gumbel's distribution of largest values."""
        scale = self.non_negative("scale", scale)
        # Exponentials of 0 stand for all below half the step of uniform numbers.
        least = 2.0**-54 if self.dtype == "float64" else 2.0**-25
        return loc - scale * np.log(np.maximum(self.standard_exponential(self.shape_for(size, loc, scale)), least))

    @quiet
    def standard_cauchy(self, size: Size = None) -> Operand:
        """Return draws of Cauchy's distribution of location 0 and scale 1."""
        return np.tan(np.pi / 2 * self.symmetric(self.shape_for(size)))

    # Shapes

    def standard_gamma(
        self, shape: Operand, size: Size = None, dtype: Any = None, out: np.ndarray | None = None
    ) -> Operand:
        """Return draws of the gamma distribution of scale 1."""
        return self._floats("standard_gamma", size, dtype, out, self.non_negative("shape", shape))

    @quiet
    def gamma(self, shape: Operand, scale: Operand = 1.0, size: Size = None) -> Operand:
        """Return draws of the gamma distribution."""
        shape, scale = self.non_negative("shape", shape), self.non_negative("scale", scale)
        return scale * self.standard_gamma(shape, self.shape_for(size, shape, scale))

    @quiet
    def beta(self, a: Operand, b: Operand, size: Size = None) -> Operand:
        """Return draws of the beta distribution, in terms of logarithms: shapes may be tiny."""
        a, b = self.positive("a", a), self.positive("b", b)
        lengths = self.shape_for(size, a, b)
        log_a = self.draw("log_standard_gamma", lengths, "float64", a)
        log_b = self.draw("log_standard_gamma", lengths, "float64", b)
        return 1 / (1 + np.exp(log_b - log_a))

    @quiet
    def chisquare(self, df: Operand, size: Size = None) -> Operand:
        """Return draws of the chi-square distribution."""
        df = self.positive("df", df)
        return 2 * self.standard_gamma(df / 2, self.shape_for(size, df))

    @quiet
    def noncentral_chisquare(self, df: Operand, nonc: Operand, size: Size = None) -> Operand:
        """Return draws of the noncentral chi-square distribution.

        For df >= 1 (and a nonc so large that df does not matter) the sum of a chi-square draw of df - 1 degrees and the
        square of a normal one, else a chi-square draw of df + 2 k degrees, k Poisson.
        """
        df, nonc = self.positive("df", df), self.non_negative("nonc", self.real(nonc))
        lengths = self.shape_for(size, df, nonc)
        squared = (df >= 1) | ~(nonc < 1e15)
        k = self.draw("poisson", lengths, "int64", np.where(squared, 0.0, nonc / 2))
        z = self.standard_normal(lengths) + np.sqrt(nonc)
        central = self.standard_gamma(np.where(squared, np.maximum(df - 1, 0) / 2, df / 2 + k), lengths)
        return 2 * central + np.where(squared, z * z, 0)

    @quiet
    def f(self, dfnum: Operand, dfden: Operand, size: Size = None) -> Operand:
        """Return draws of the F distribution."""
        dfnum, dfden = self.positive("dfnum", dfnum), self.positive("dfden", dfden)
        lengths = self.shape_for(size, dfnum, dfden)
        above = self.standard_gamma(dfnum / 2, lengths) / dfnum
        return above / (self.standard_gamma(dfden / 2, lengths) / dfden)

    @quiet
    def noncentral_f(self, dfnum: Operand, dfden: Operand, nonc: Operand, size: Size = None) -> Operand:
        """Return draws of the noncentral F distribution."""
        dfnum, dfden = self.positive("dfnum", dfnum), self.positive("dfden", dfden)
        nonc = self.non_negative("nonc", nonc)
        lengths = self.shape_for(size, dfnum, dfden, nonc)
        above = self.noncentral_chisquare(dfnum, nonc, lengths) / dfnum
        return above / (self.chisquare(dfden, lengths) / dfden)

    @quiet
    def standard_t(self, df: Operand, size: Size = None) -> Operand:
        """Return draws of Student's t distribution."""
        df = self.positive("df", df)
        lengths = self.shape_for(size, df)
        z = self.standard_normal(lengths)
        return z * np.sqrt(df / 2 / self.standard_gamma(df / 2, lengths))

    @quiet
    def pareto(self, a: Operand, size: Size = None) -> Operand:
        """Return draws of the Pareto II (Lomax) distribution."""
        a = self.positive("a", a)
        return np.expm1(self.standard_exponential(self.shape_for(size, a)) / a)

    @quiet
    def weibull(self, a: Operand, size: Size = None) -> Operand:
        """Return draws of Weibull's distribution of scale 1; 0 for a = 0, as NumPy does."""
        a = self.non_negative("a", a)
        drawn = self.standard_exponential(self.shape_for(size, a))
        return np.where(np.equal(a, 0), 0, drawn ** (1 / a))

    @quiet
    def power(self, a: Operand, size: Size = None) -> Operand:
        """Return draws of the distribution on [0, 1] of density a x**(a - 1)."""
        a = self.positive("a", a)
        return self.random(self.shape_for(size, a)) ** (1 / a)

    @quiet
    def rayleigh(self, scale: Operand = 1.0, size: Size = None) -> Operand:
        """Return draws of Rayleigh's distribution."""
        scale = self.non_negative("scale", scale)
        return scale * np.sqrt(2 * self.standard_exponential(self.shape_for(size, scale)))

    @quiet
    def wald(self, mean: Operand, scale: Operand, size: Size = None) -> Operand:
        """Return draws of Wald's (the inverse Gaussian) distribution.

        By Michael, Schucany and Haas, *Generating random variates using transformations with multiple roots*, American
        Statistician 1976; the roots mean / r and mean r are computed without cancellation.
        """
        mean, scale = self.positive("mean", self.real(mean)), self.positive("scale", self.real(scale))
        lengths = self.shape_for(size, mean, scale)
        z = self.standard_normal(lengths)
        u = self.random(lengths)
        w = mean / (2 * scale) * (z * z)
        r = 1 + w + np.sqrt(w * (w + 2))
        return mean * np.where(u * (r + 1) <= r, 1 / r, r)

    @quiet
    def triangular(self, left: Operand, mode: Operand, right: Operand, size: Size = None) -> Operand:
        """Return draws of the triangular distribution."""
        left, mode, right = self.real(left), self.real(mode), self.real(right)
        left = self.require(~(left > mode), left, "left > mode")
        right = self.require(~(mode > right), right, "mode > right")
        right = self.require(np.not_equal(left, right), right, "left == right")
        u = self.random(self.shape_for(size, left, mode, right))
        width, rising = right - left, mode - left
        below = left + np.sqrt(u * (rising * width))
        return np.where(u <= rising / width, below, right - np.sqrt((1 - u) * ((right - mode) * width)))

    @quiet
    def vonmises(self, mu: Operand, kappa: Operand, size: Size = None) -> Operand:
        """Return angles in [-pi, pi] drawn from von Mises' distribution."""
        kappa = self.non_negative("kappa", kappa)
        angle = mu + self.draw("vonmises", self.shape_for(size, mu, kappa), self.dtype, kappa)
        around = np.fmod(np.abs(angle) + np.pi, 2 * np.pi) - np.pi
        return np.where(angle < 0, -around, around)
