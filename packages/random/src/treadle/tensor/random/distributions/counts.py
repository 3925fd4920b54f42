"""Distributions of counts that are made of others: with more zeros or none, differences, sums and ordered responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.config import alias
from treadle.tensor.random.methods.conditions import require
from treadle.tensor.random.op import REQUIRED, RandomVariable

if TYPE_CHECKING:
    from treadle.tensor.random.methods.generator_methods import Generator, Operand, Size

__all__ = [
    "BetaNegBinomialRV", "DiscreteLaplaceRV", "DiscreteUniformRV", "HurdlePoissonRV", "OrderedLogisticRV",
    "OrderedProbitRV", "PlanckRV", "SkellamRV", "YuleSimonRV", "ZeroInflatedBinomialRV", "ZeroInflatedNegBinomialRV",
    "ZeroInflatedPoissonRV", "ZeroTruncatedPoissonRV", "betanbinom", "discrete_uniform", "dlaplace", "hurdle_poisson",
    "ordered_logistic", "ordered_probit", "planck", "skellam", "yulesimon", "zero_inflated_binomial",
    "zero_inflated_negative_binomial", "zero_inflated_poisson", "zero_truncated_poisson",
]  # fmt: skip


class CountRV(RandomVariable):
    """Base of the distributions of counts here."""

    dtype = "int64"


class BetaNegBinomialRV(CountRV):
    """The number of failures before `n` successes in trials whose probability is drawn from beta(a, b).

    From NumPy's generators by ``Generator.beta`` and then ``Generator.negative_binomial``, as in SciPy.
    """

    name = "beta_negative_binomial"
    signature = "(),(),()->()"
    parameters: ClassVar = {"n": REQUIRED, "a": REQUIRED, "b": REQUIRED}
    _print_name = ("BetaNegativeBinomial", "\\operatorname{BetaNegativeBinomial}")

    def definition(self, rng: Generator, n: Operand, a: Operand, b: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.negative_binomial(n, rng.beta(a, b, size), size)


class DiscreteUniformRV(CountRV):
    """The integers from `lower` to `upper`, both of which may be drawn, all equally likely.

    From NumPy's generators by ``Generator.integers(lower, upper + 1)``.
    """

    name = "discrete_uniform"
    signature = "(),()->()"
    parameters: ClassVar = {"lower": REQUIRED, "upper": REQUIRED}
    _print_name = ("DiscreteUniform", "\\operatorname{DiscreteUniform}")

    def definition(self, rng: Generator, lower: Operand, upper: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.integers(lower, upper + 1, size)


class DiscreteLaplaceRV(CountRV):
    """The difference of two geometric numbers: k with a probability proportional to exp(-a |k|), for `a` above 0."""

    name = "dlaplace"
    signature = "()->()"
    parameters: ClassVar = {"a": REQUIRED}
    _print_name = ("DiscreteLaplace", "\\operatorname{DiscreteLaplace}")

    def definition(self, rng: Generator, a: Operand, *, size: Size) -> Operand:
        """Draw."""
        p = -np.expm1(-require(a > 0, a, "a <= 0 or a is NaN"))
        return rng.geometric(p, size) - rng.geometric(p, size)


class HurdlePoissonRV(CountRV):
    """With probability `psi` a draw of Poisson's distribution of `mu` that is not 0, else 0."""

    name = "hurdle_poisson"
    signature = "(),()->()"
    parameters: ClassVar = {"psi": REQUIRED, "mu": REQUIRED}
    _print_name = ("HurdlePoisson", "\\operatorname{HurdlePoisson}")

    def definition(self, rng: Generator, psi: Operand, mu: Operand, *, size: Size) -> Operand:
        """Draw."""
        return _or_zero(rng, psi, _above_zero(rng, mu, size), size)


class OrderedLogisticRV(CountRV):
    """How many of the increasing `cutpoints` (the last dimension) are below `eta` plus a standard logistic number.

    Category k has the probability logistic(cutpoints[k] - eta) - logistic(cutpoints[k - 1] - eta).
    """

    name = "ordered_logistic"
    signature = "(),(k)->()"
    parameters: ClassVar = {"eta": REQUIRED, "cutpoints": REQUIRED}
    _print_name = ("OrderedLogistic", "\\operatorname{OrderedLogistic}")

    def definition(self, rng: Generator, eta: Operand, cutpoints: Operand, *, size: Size) -> Operand:
        """Draw."""
        return _passed(eta + rng.logistic(0.0, 1.0, size), cutpoints)


class OrderedProbitRV(CountRV):
    """How many of the increasing `cutpoints` (the last dimension) are below a normal number of mean `eta`.

    Its standard deviation is `sigma`.
    """

    name = "ordered_probit"
    signature = "(),(k),()->()"
    parameters: ClassVar = {"eta": REQUIRED, "cutpoints": REQUIRED, "sigma": 1.0}
    _print_name = ("OrderedProbit", "\\operatorname{OrderedProbit}")

    def definition(self, rng: Generator, eta: Operand, cutpoints: Operand, sigma: Operand, *, size: Size) -> Operand:
        """Draw."""
        return _passed(rng.normal(eta, sigma, size), cutpoints)


class PlanckRV(CountRV):
    """Planck's distribution, the discrete exponential one: k with a probability proportional to exp(-lambda_ k).

    From NumPy's generators by ``Generator.geometric``, as in SciPy.
    """

    name = "planck"
    signature = "()->()"
    parameters: ClassVar = {"lambda_": REQUIRED}
    _print_name = ("Planck", "\\operatorname{Planck}")

    def definition(self, rng: Generator, lambda_: Operand, *, size: Size) -> Operand:
        """Draw."""
        lambda_ = require(lambda_ > 0, lambda_, "lambda_ <= 0 or lambda_ is NaN")
        return rng.geometric(-np.expm1(-lambda_), size) - 1


class SkellamRV(CountRV):
    """The difference of two numbers of Poisson's distributions of means `mu1` and `mu2`.

    From NumPy's generators by ``Generator.poisson``, as in SciPy.
    """

    name = "skellam"
    signature = "(),()->()"
    parameters: ClassVar = {"mu1": REQUIRED, "mu2": REQUIRED}
    _print_name = ("Skellam", "\\operatorname{Skellam}")

    def definition(self, rng: Generator, mu1: Operand, mu2: Operand, *, size: Size) -> Operand:
        """Draw."""
        first = rng.poisson(mu1, size)
        return first - rng.poisson(mu2, size)


class YuleSimonRV(CountRV):
    """The Yule-Simon distribution: a geometric number whose probability is exp(-E / alpha), E standard exponential."""

    name = "yulesimon"
    signature = "()->()"
    parameters: ClassVar = {"alpha": REQUIRED}
    _print_name = ("YuleSimon", "\\operatorname{YuleSimon}")

    def definition(self, rng: Generator, alpha: Operand, *, size: Size) -> Operand:
        """Draw."""
        alpha = require(alpha > 0, alpha, "alpha <= 0 or alpha is NaN")
        return rng.geometric(np.maximum(np.exp(-rng.standard_exponential(size) / alpha), 1e-300), size)


class ZeroInflatedPoissonRV(CountRV):
    """With probability `psi` a draw of Poisson's distribution of `mu`, else 0."""

    name = "zero_inflated_poisson"
    signature = "(),()->()"
    parameters: ClassVar = {"psi": REQUIRED, "mu": REQUIRED}
    _print_name = ("ZeroInflatedPoisson", "\\operatorname{ZeroInflatedPoisson}")

    def definition(self, rng: Generator, psi: Operand, mu: Operand, *, size: Size) -> Operand:
        """Draw."""
        return _or_zero(rng, psi, rng.poisson(mu, size), size)


class ZeroInflatedBinomialRV(CountRV):
    """With probability `psi` a draw of the binomial distribution of `n` and `p`, else 0."""

    name = "zero_inflated_binomial"
    signature = "(),(),()->()"
    parameters: ClassVar = {"psi": REQUIRED, "n": REQUIRED, "p": REQUIRED}
    _print_name = ("ZeroInflatedBinomial", "\\operatorname{ZeroInflatedBinomial}")

    def definition(self, rng: Generator, psi: Operand, n: Operand, p: Operand, *, size: Size) -> Operand:
        """Draw."""
        return _or_zero(rng, psi, rng.binomial(n, p, size), size)


class ZeroInflatedNegBinomialRV(CountRV):
    """With probability `psi` a draw of the negative binomial distribution of `n` and `p`, else 0."""

    name = "zero_inflated_negative_binomial"
    signature = "(),(),()->()"
    parameters: ClassVar = {"psi": REQUIRED, "n": REQUIRED, "p": REQUIRED}
    _print_name = ("ZeroInflatedNegativeBinomial", "\\operatorname{ZeroInflatedNegativeBinomial}")

    def definition(self, rng: Generator, psi: Operand, n: Operand, p: Operand, *, size: Size) -> Operand:
        """Draw."""
        return _or_zero(rng, psi, rng.negative_binomial(n, p, size), size)


class ZeroTruncatedPoissonRV(CountRV):
    """A draw of Poisson's distribution of `mu` that is not 0; 1 where mu is 0."""

    name = "zero_truncated_poisson"
    signature = "()->()"
    parameters: ClassVar = {"mu": REQUIRED}
    _print_name = ("ZeroTruncatedPoisson", "\\operatorname{ZeroTruncatedPoisson}")

    def definition(self, rng: Generator, mu: Operand, *, size: Size) -> Operand:
        """Draw."""
        return _above_zero(rng, mu, size)


def _or_zero(rng: Generator, psi: Operand, drawn: Operand, size: Any) -> Operand:
    """Return what was drawn with probability psi, else 0."""
    psi = require((psi >= 0) & (psi <= 1), psi, "psi < 0, psi > 1 or psi is NaN")
    return np.where(rng.random(size) < psi, drawn, 0)


def _above_zero(rng: Generator, mu: Operand, size: Any) -> Operand:
    """Return Poisson numbers above 0: the events in a time mu that follow the first one, and this one.

    The first event comes at a time drawn from the exponential distribution on [0, mu].
    """
    mu = require(mu >= 0, mu, "mu < 0 or mu is NaN")
    first = -np.log1p(rng.random(size) * np.expm1(-mu))
    return 1 + rng.poisson(np.maximum(mu - first, 0), size)


def _passed(x: Operand, cutpoints: Operand) -> Operand:
    """Return how many cutpoints are below numbers."""
    return np.sum(x[..., None] > cutpoints, -1)


betanbinom = alias(BetaNegBinomialRV(), "betanbinom")
discrete_uniform = DiscreteUniformRV()
dlaplace = DiscreteLaplaceRV()
hurdle_poisson = HurdlePoissonRV()
ordered_logistic = OrderedLogisticRV()
ordered_probit = OrderedProbitRV()
planck = PlanckRV()
skellam = SkellamRV()
yulesimon = YuleSimonRV()
zero_inflated_binomial = ZeroInflatedBinomialRV()
zero_inflated_negative_binomial = ZeroInflatedNegBinomialRV()
zero_inflated_poisson = ZeroInflatedPoissonRV()
zero_truncated_poisson = ZeroTruncatedPoissonRV()
