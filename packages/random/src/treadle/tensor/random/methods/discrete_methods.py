"""The methods of generators that draw integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor.random.methods.method_base import DrawingMethods, quiet

if TYPE_CHECKING:
    from treadle.tensor.random.methods.generator_methods import Operand, Size

# The largest mean of Poisson draws that NumPy takes: ten standard deviations below the largest int64.
LARGEST_MEAN = np.iinfo("int64").max - 10 * np.sqrt(np.iinfo("int64").max)
# The largest float64 that is an int64.
_LARGEST = 2.0**63 - 1024


def _as_integer(value: Operand) -> Operand:
    """Return a float as int64, the largest one where it is larger."""
    return np.where(value > _LARGEST, np.iinfo("int64").max, np.minimum(value, _LARGEST).astype("int64"))


class DiscreteMethods(DrawingMethods):
    """Methods with the names, parameters and defaults of ``numpy.random.Generator``."""

    __slots__ = ()

    def integers(
        self, low: Operand, high: Operand = None, size: Size = None, dtype: Any = "int64", endpoint: bool = False
    ) -> Operand:
        """Return integers from low (0 without high) up to high, which is left out without `endpoint`."""
        low, high = (0, low) if high is None else (low, high)
        low, stop = self.limits(low, high, np.dtype(dtype), endpoint)
        drawn = self.draw("integers", self.shape_for(size, low, stop), "int64", low, stop)
        return drawn if np.dtype(dtype) == "int64" else drawn.astype(np.dtype(dtype))

    def limits(self, low: Operand, high: Operand, dtype: np.dtype, endpoint: bool) -> tuple[Operand, Operand]:
        """Return the least integer that may be drawn and the first that may not, as int64 modulo 2**64."""
        # Python's integers hold limits of every dtype.
        least, last = np.asarray(low).astype("O"), np.asarray(high).astype("O")
        least, last = np.ceil(least), (np.floor(last) if endpoint else np.ceil(last) - 1)
        known = np.iinfo(dtype) if dtype.kind != "b" else None
        smallest, largest = (0, 1) if known is None else (known.min, known.max)
        self.require(least >= smallest, low, f"low is out of bounds for {dtype}")
        self.require(last <= largest, high, f"high is out of bounds for {dtype}")
        self.require(least <= last, high, "low > high" if endpoint else "low >= high")
        return tuple(np.asarray(x % 2**64, "uint64").view("int64") for x in (least, last + 1))  # type: ignore[return-value]

    @quiet
    def binomial(self, n: Operand, p: Operand, size: Size = None) -> Operand:
        """Return numbers of successes in n trials of probability p."""
        n, p = self.non_negative("n", n), self.operand(p)
        p = self.require((p >= 0) & (p <= 1), p, "p < 0, p > 1 or p is NaN")
        return self.draw("binomial", self.shape_for(size, n, p), "int64", n, p)

    @quiet
    def negative_binomial(self, n: Operand, p: Operand, size: Size = None) -> Operand:
        """Return numbers of failures before n successes (any number above 0) in trials of probability p."""
        n = self.operand(n)
        n = self.positive("n", self.require(~np.isnan(n), n, "n must not be NaN"))
        p = self._chance(p)
        odds = (1 - p) / p
        text = "n too large or p too small, see Generator.negative_binomial Notes"
        odds = self.require(odds * (n + 10 * np.sqrt(n)) <= LARGEST_MEAN, odds, text)
        lengths = self.shape_for(size, n, p)
        mean = odds * self.draw("standard_gamma", lengths, "float64", n)
        return self.draw("poisson", lengths, "int64", np.minimum(mean, LARGEST_MEAN))

    @quiet
    def poisson(self, lam: Operand = 1.0, size: Size = None) -> Operand:
        """Return draws of the Poisson distribution."""
        lam = self.operand(lam)
        lam = self.require(~(lam > LARGEST_MEAN), lam, "lam value too large")
        lam = self.require(lam >= 0, lam, "lam < 0 or lam is NaN")
        return self.draw("poisson", self.shape_for(size, lam), "int64", lam)

    @quiet
    def geometric(self, p: Operand, size: Size = None) -> Operand:
        """Return numbers of trials of probability p up to the first success."""
        p = self._chance(p)
        drawn = self.draw("standard_exponential", self.shape_for(size, p), "float64")
        return _as_integer(np.maximum(np.ceil(drawn / -np.log1p(-p)), 1))

    @quiet
    def logseries(self, p: Operand, size: Size = None) -> Operand:
        """Return draws of the logarithmic series distribution.

        By Kemp, *Efficient generation of logarithmically distributed pseudo-random variables*, Applied Statistics 1981.
        """
        p = self.operand(p)
        p = self.require((p >= 0) & (p < 1), p, "p < 0, p >= 1 or p is NaN")
        lengths = self.shape_for(size, p)
        v = 1 - self.draw("random", lengths, "float64")
        power = np.log1p(-p) * self.draw("random", lengths, "float64")
        q = -np.expm1(power)
        beyond = np.floor(1 + np.log(v) / np.log1p(-np.exp(power)))
        draws = np.where(v >= p, 1, np.where(v <= q * q, np.maximum(beyond, 1), np.where(v >= q, 1, 2)))
        return _as_integer(draws)

    @quiet
    def zipf(self, a: Operand, size: Size = None) -> Operand:
        """Return draws of Zipf's distribution."""
        a = self.operand(a)
        a = self.require(a > 1, a, "a <= 1 or a is NaN")
        return self.draw("zipf", self.shape_for(size, a), "int64", a)

    @quiet
    def hypergeometric(self, ngood: Operand, nbad: Operand, nsample: Operand, size: Size = None) -> Operand:
        """Return how many of nsample things, drawn from ngood good and nbad bad ones, are good."""
        ngood, nbad = self.non_negative("ngood", ngood), self.non_negative("nbad", nbad)
        nsample = self.non_negative("nsample", nsample)
        text = "both ngood and nbad must be less than 1000000000"
        ngood = self.require((ngood < 10**9) & (nbad < 10**9), ngood, text)
        nsample = self.require(ngood + nbad >= nsample, nsample, "ngood + nbad < nsample")
        return self.draw("hypergeometric", self.shape_for(size, ngood, nbad, nsample), "int64", ngood, nbad, nsample)

    def _chance(self, p: Operand) -> Operand:
        p = self.operand(p)
        return self.require((p > 0) & (p <= 1), p, "p <= 0, p > 1 or p contains NaNs")
