"""Discrete distributions on the integers: those that NumPy's Generator has methods for, and Bernoulli's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from treadle.config import alias
from treadle.tensor.random.methods.generator_methods import GeneratorMethods
from treadle.tensor.random.op import REQUIRED, RandomVariable

if TYPE_CHECKING:
    from treadle.tensor.random.methods.generator_methods import Generator, Operand, Size

__all__ = [
    "BernoulliRV", "BetaBinomialRV", "BinomialRV", "GeometricRV", "HyperGeometricRV", "IntegersRV", "LogSeriesRV",
    "NegBinomialRV", "PoissonRV", "ZipfRV", "bernoulli", "betabinom", "binomial", "geometric", "hypergeometric",
    "integers", "logseries", "nbinom", "negative_binomial", "poisson", "zipf",
]  # fmt: skip


class BernoulliRV(RandomVariable):
    """1 with probability `p`, else 0.

    From NumPy's generators by ``Generator.binomial(1, p)``, as in SciPy; from portable ones by comparing a uniform
    number with p.
    """

    name = "bernoulli"
    signature = "()->()"
    dtype = "int64"
    parameters: ClassVar = {"p": REQUIRED}
    _print_name = ("Bernoulli", "\\operatorname{Bernoulli}")

    def definition(self, rng: Generator, p: Operand, *, size: Size) -> Operand:
        """Draw."""
        if not isinstance(rng, GeneratorMethods):
            return rng.binomial(1, p, size)
        p = rng.require((p >= 0) & (p <= 1), p, "p < 0, p > 1 or p is NaN")
        return rng.random(size) < p


class BinomialRV(RandomVariable):
    """The number of successes in `n` trials (0 or more) of probability `p`.

    From NumPy's generators by ``Generator.binomial``.
    """

    name = "binomial"
    signature = "(),()->()"
    dtype = "int64"
    parameters: ClassVar = {"n": REQUIRED, "p": REQUIRED}
    _print_name = ("Binomial", "\\operatorname{Binomial}")

    def definition(self, rng: Generator, n: Operand, p: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.binomial(n, p, size)


class BetaBinomialRV(RandomVariable):
    """The number of successes in `n` trials whose probability is drawn from the beta distribution of `a` and `b`.

    From NumPy's generators by ``Generator.beta`` and then ``Generator.binomial``, as in SciPy.
    """

    name = "beta_binomial"
    signature = "(),(),()->()"
    dtype = "int64"
    parameters: ClassVar = {"n": REQUIRED, "a": REQUIRED, "b": REQUIRED}
    _print_name = ("BetaBinomial", "\\operatorname{BetaBinomial}")

    def definition(self, rng: Generator, n: Operand, a: Operand, b: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.binomial(n, rng.beta(a, b, size), size)


class GeometricRV(RandomVariable):
    """The number of trials of probability `p` up to the first success: 1 or more.

    From NumPy's generators by ``Generator.geometric``.
    """

    name = "geometric"
    signature = "()->()"
    dtype = "int64"
    parameters: ClassVar = {"p": REQUIRED}
    _print_name = ("Geometric", "\\operatorname{Geometric}")

    def definition(self, rng: Generator, p: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.geometric(p, size)


class HyperGeometricRV(RandomVariable):
    """The number of good ones among `nsample` things drawn, without replacement, from `ngood` good and `nbad` bad.

    From NumPy's generators by ``Generator.hypergeometric``.
    """

    name = "hypergeometric"
    signature = "(),(),()->()"
    dtype = "int64"
    parameters: ClassVar = {"ngood": REQUIRED, "nbad": REQUIRED, "nsample": REQUIRED}
    _print_name = ("HyperGeometric", "\\operatorname{HyperGeometric}")

    def definition(self, rng: Generator, ngood: Operand, nbad: Operand, nsample: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.hypergeometric(ngood, nbad, nsample, size)


class IntegersRV(RandomVariable):
    """The integers from `low` up to, but without, `high`, all equally likely; from 0 up to `low` without `high`.

    From NumPy's generators by ``Generator.integers`` with dtype int64, whatever the dtype of the draws.
    """

    name = "integers"
    signature = "(),()->()"
    dtype = "int64"
    parameters: ClassVar = {"low": REQUIRED, "high": None}
    _print_name = ("integers", "\\operatorname{integers}")

    def _bound(self, args: tuple[Any, ...], named: Any, size: Any) -> tuple[tuple[Any, ...], Any]:
        """Return the limits and the size."""
        (low, high), size = super()._bound(args, named, size)
        return ((0, low) if high is None else (low, high)), size

    def definition(self, rng: Generator, low: Operand, high: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.integers(low, high, size)


class LogSeriesRV(RandomVariable):
    """The logarithmic series distribution: 1 or more, k with a probability proportional to p**k / k.

    From NumPy's generators by ``Generator.logseries``.
    """

    name = "logseries"
    signature = "()->()"
    dtype = "int64"
    parameters: ClassVar = {"p": REQUIRED}
    _print_name = ("LogSeries", "\\operatorname{LogSeries}")

    def definition(self, rng: Generator, p: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.logseries(p, size)


class NegBinomialRV(RandomVariable):
    """The number of failures before `n` successes (any number above 0) in trials of probability `p`.

    From NumPy's generators by ``Generator.negative_binomial``.
    """

    name = "negative_binomial"
    signature = "(),()->()"
    dtype = "int64"
    parameters: ClassVar = {"n": REQUIRED, "p": REQUIRED}
    _print_name = ("NegativeBinomial", "\\operatorname{NegativeBinomial}")

    def definition(self, rng: Generator, n: Operand, p: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.negative_binomial(n, p, size)


class PoissonRV(RandomVariable):
    """The Poisson distribution of mean `lam`, 0 or more.

    From NumPy's generators by ``Generator.poisson``.
    """

    name = "poisson"
    signature = "()->()"
    dtype = "int64"
    parameters: ClassVar = {"lam": 1.0}
    _print_name = ("Poisson", "\\operatorname{Poisson}")

    def definition(self, rng: Generator, lam: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.poisson(lam, size)


class ZipfRV(RandomVariable):
    """Zipf's (the zeta) distribution: 1 or more, k with a probability proportional to k**-a, for `a` above 1.

    From NumPy's generators by ``Generator.zipf``.
    """

    name = "zipf"
    signature = "()->()"
    dtype = "int64"
    parameters: ClassVar = {"a": REQUIRED}
    _print_name = ("Zipf", "\\operatorname{Zipf}")

    def definition(self, rng: Generator, a: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.zipf(a, size)


bernoulli = BernoulliRV()
betabinom = alias(BetaBinomialRV(), "betabinom")
binomial = BinomialRV()
geometric = GeometricRV()
hypergeometric = HyperGeometricRV()
integers = IntegersRV()
logseries = LogSeriesRV()
nbinom = alias(NegBinomialRV(), "nbinom")
negative_binomial = alias(nbinom, "negative_binomial")
poisson = PoissonRV()
zipf = ZipfRV()
