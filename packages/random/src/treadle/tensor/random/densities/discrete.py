"""Laws of distributions of integers.

Formulas are those of N. L. Johnson, A. W. Kemp and S. Kotz, "Univariate Discrete Distributions", 2005; binomial
coefficients are beta functions, which lose no digits where gamma functions are large.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypedDict, Unpack

from treadle.tensor.elementwise.arithmetic import maximum, minimum
from treadle.tensor.elementwise.comparison import eq, ge, gt, le, lt
from treadle.tensor.elementwise.exponential import exp, expm1, log, log1mexp, log1p, logaddexp, sqrt
from treadle.tensor.elementwise.logic import and_
from treadle.tensor.elementwise.rounding import ceil
from treadle.tensor.elementwise.trigonometric import sinh
from treadle.tensor.random.densities.law import REQUIRED, Law, either, positive, share
from treadle.tensor.special_functions.bessel_functions import ive
from treadle.tensor.special_functions.entropy import xlog1py, xlogy
from treadle.tensor.special_functions.gamma_functions import betaln, gammaln
from treadle.tensor.special_functions.incomplete_beta import betainc
from treadle.tensor.special_functions.incomplete_gamma import gammainc, gammaincc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.tensor.random.densities.law import Bounds, Formula, Number, Placed, Truth
    from treadle.tensor.variables.variable import TensorLike, TensorVariable


class _Options(TypedDict, total=False):
    """What else a law may be given."""

    place: Callable[..., Placed]
    bounds: Callable[..., Bounds]
    valid: Callable[..., Truth]
    inner: Callable[..., Number] | None
    scipy: str
    given: Callable[..., tuple[TensorLike, ...]]


def _plain(*parameters: TensorVariable) -> Placed:
    return parameters, None, None


def _naturals(*shapes: TensorVariable) -> Bounds:
    del shapes
    return 0.0, math.inf


def _counting(*shapes: TensorVariable) -> Bounds:
    del shapes
    return 1.0, math.inf


def _law(
    name: str, parameters: Mapping[str, object], formulas: Mapping[str, Formula], **options: Unpack[_Options]
) -> Law:
    options = {"place": _plain, "bounds": _naturals, **options}
    return Law(name, parameters, formulas, discrete=True, **options)


bernoulli = _law(
    "Bernoulli distribution", {"p": REQUIRED}, bounds=lambda p: (0.0, 1.0), valid=share, scipy="bernoulli",
    formulas={
        "logpmf": lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p), "cdf": lambda k, p: 1 - p + 0 * k,
        "sf": lambda k, p: p + 0 * k, "icdf": lambda q, p: either(le(q, 1 - p), 0.0, 1.0), "mean": lambda p: p,
        "variance": lambda p: p * (1 - p),
    },
)  # fmt: skip


def _log_choose(n: TensorVariable, k: TensorVariable) -> TensorVariable:
    return -log(n + 1) - betaln(n - k + 1, k + 1)


def _binomial_logpmf(k: TensorVariable, n: TensorVariable, p: TensorVariable) -> TensorVariable:
    return _log_choose(n, k) + xlogy(k, p) + xlog1py(n - k, -p)


def _binomial_cdf(k: TensorVariable, n: TensorVariable, p: TensorVariable) -> TensorVariable:
    return betainc(n - k, k + 1, 1 - p)


def _binomial_sf(k: TensorVariable, n: TensorVariable, p: TensorVariable) -> TensorVariable:
    return betainc(k + 1, n - k, p)


binomial = _law(
    "binomial distribution", {"n": REQUIRED, "p": REQUIRED}, bounds=lambda n, p: (0.0, n),
    valid=lambda n, p: and_(ge(n, 0), share(p)), inner=lambda n, p: n * 0, scipy="binom",
    formulas={
        "logpmf": _binomial_logpmf, "cdf": _binomial_cdf, "sf": _binomial_sf, "mean": lambda n, p: n * p,
        "variance": lambda n, p: n * p * (1 - p),
    },
)  # fmt: skip
beta_binomial = _law(
    "beta-binomial distribution", {"n": REQUIRED, "a": REQUIRED, "b": REQUIRED}, bounds=lambda n, a, b: (0.0, n),
    valid=lambda n, a, b: and_(ge(n, 0), positive(a, b)), inner=lambda n, a, b: n * 0, scipy="betabinom",
    formulas={
        "logpmf": lambda k, n, a, b: _log_choose(n, k) + betaln(k + a, n - k + b) - betaln(a, b),
        "mean": lambda n, a, b: n * a / (a + b),
        "variance": lambda n, a, b: n * (a + b + n) * a * b / ((a + b) ** 2 * (a + b + 1)),
    },
)  # fmt: skip
geometric = _law(
    "geometric distribution", {"p": REQUIRED}, bounds=_counting, valid=lambda p: and_(gt(p, 0), le(p, 1)), scipy="geom",
    formulas={
        "logpmf": lambda k, p: log(p) + xlog1py(k - 1, -p), "logsf": lambda k, p: k * log1p(-p),
        "cdf": lambda k, p: -expm1(k * log1p(-p)), "icdf": lambda q, p: maximum(ceil(log1p(-q) / log1p(-p)), 1),
        "mean": lambda p: 1 / p, "variance": lambda p: (1 - p) / p**2,
    },
)  # fmt: skip


def _hypergeometric_bounds(good: TensorVariable, bad: TensorVariable, sample: TensorVariable) -> Bounds:
    return maximum(0.0, sample - bad), minimum(sample, good)


def _hypergeometric_logpmf(
    k: TensorVariable, good: TensorVariable, bad: TensorVariable, sample: TensorVariable
) -> TensorVariable:
    chosen = _log_choose(good, k) + _log_choose(bad, sample - k)
    return chosen - _log_choose(good + bad, sample)


hypergeometric = _law(
    "hypergeometric distribution", {"ngood": REQUIRED, "nbad": REQUIRED, "nsample": REQUIRED},
    bounds=_hypergeometric_bounds, scipy="hypergeom", inner=lambda g, b, n: maximum(0.0, n - b),
    valid=lambda g, b, n: and_(and_(ge(g, 0), ge(b, 0)), and_(ge(n, 0), le(n, g + b))),
    formulas={
        "logpmf": _hypergeometric_logpmf, "mean": lambda g, b, n: n * g / (g + b),
        "variance": lambda g, b, n: n * g * b * (g + b - n) / ((g + b) ** 2 * (g + b - 1)),
    },
)  # fmt: skip

_INTEGERS: Mapping[str, Formula] = {
    "logpmf": lambda k, low, high: -log(high - low + 1) + 0 * k,
    "cdf": lambda k, low, high: (k - low + 1) / (high - low + 1),
    "sf": lambda k, low, high: (high - k) / (high - low + 1),
    "icdf": lambda q, low, high: maximum(ceil(q * (high - low + 1)) + low - 1, low),
    "mean": lambda low, high: (low + high) / 2, "variance": lambda low, high: ((high - low + 1) ** 2 - 1) / 12,
}  # fmt: skip
discrete_uniform = _law(
    "discrete uniform distribution", {"lower": REQUIRED, "upper": REQUIRED}, bounds=lambda low, high: (low, high),
    valid=le, formulas=_INTEGERS, scipy="randint",
)  # fmt: skip


def _half_open(low: TensorLike, high: TensorLike | None) -> tuple[TensorLike, TensorLike]:
    """Return low and high, given as for `integers`: without the second one they are 0 and the first one."""
    return (0, low) if high is None else (low, high)


integers = _law(
    "discrete uniform distribution", {"low": REQUIRED, "high": None}, bounds=lambda low, high: (low, high),
    place=lambda low, high: ((low, high - 1), None, None), valid=le, formulas=_INTEGERS,
    scipy="randint", given=_half_open,
)  # fmt: skip


def _logseries_scale(p: TensorVariable) -> TensorVariable:
    return -1 / log1p(-p)


logseries = _law(
    "logarithmic series distribution", {"p": REQUIRED}, bounds=_counting, valid=lambda p: and_(gt(p, 0), lt(p, 1)),
    scipy="logser",
    formulas={
        "logpmf": lambda k, p: k * log(p) - log(k) + log(_logseries_scale(p)),
        "mean": lambda p: _logseries_scale(p) * p / (1 - p),
        "variance": lambda p: _logseries_scale(p) * p * (1 - _logseries_scale(p) * p) / (1 - p) ** 2,
    },
)  # fmt: skip


def _negative_logpmf(k: TensorVariable, n: TensorVariable, p: TensorVariable) -> TensorVariable:
    return -log(n + k) - betaln(n, k + 1) + n * log(p) + xlog1py(k, -p)


def _negative_cdf(k: TensorVariable, n: TensorVariable, p: TensorVariable) -> TensorVariable:
    return betainc(n, k + 1, p)


def _negative_sf(k: TensorVariable, n: TensorVariable, p: TensorVariable) -> TensorVariable:
    return betainc(k + 1, n, 1 - p)


_NEGATIVE = {"n": REQUIRED, "p": REQUIRED}
negative_binomial = _law(
    "negative binomial distribution", _NEGATIVE, valid=lambda n, p: and_(gt(n, 0), and_(gt(p, 0), le(p, 1))),
    scipy="nbinom",
    formulas={
        "logpmf": _negative_logpmf, "cdf": _negative_cdf, "sf": _negative_sf, "mean": lambda n, p: n * (1 - p) / p,
        "variance": lambda n, p: n * (1 - p) / p**2,
    },
)  # fmt: skip


def _poisson_logpmf(k: TensorVariable, mu: TensorVariable) -> TensorVariable:
    return xlogy(k, mu) - gammaln(k + 1) - mu


poisson = _law(
    "Poisson distribution", {"lam": 1.0}, valid=lambda mu: ge(mu, 0), scipy="poisson",
    formulas={
        "logpmf": _poisson_logpmf, "cdf": lambda k, mu: gammaincc(k + 1, mu), "sf": lambda k, mu: gammainc(k + 1, mu),
        "mean": lambda mu: mu, "variance": lambda mu: mu,
    },
)  # fmt: skip
beta_negative_binomial = _law(
    "beta-negative-binomial distribution", {"n": REQUIRED, "a": REQUIRED, "b": REQUIRED},
    valid=positive, scipy="betanbinom",
    formulas={
        "logpmf": lambda k, n, a, b: -log(n + k) - betaln(n, k + 1) + betaln(a + n, b + k) - betaln(a, b),
        "mean": lambda n, a, b: either(gt(a, 1), n * b / (a - 1), math.inf),
        "variance": lambda n, a, b: either(
            gt(a, 2), n * (n + a - 1) * b * (b + a - 1) / ((a - 2) * (a - 1) ** 2), math.inf
        ),
    },
)  # fmt: skip
dlaplace = _law(
    "discrete Laplace distribution", {"a": REQUIRED}, bounds=lambda a: (-math.inf, math.inf),
    valid=positive, scipy="dlaplace",
    formulas={
        "logpmf": lambda k, a: log1mexp(-a) - log1p(exp(-a)) - a * abs(k),
        "cdf": lambda k, a: either(
            ge(k, 0), 1 - exp(-a * (maximum(k, 0) + 1)) / (1 + exp(-a)), exp(a * minimum(k, 0)) / (1 + exp(-a))
        ),
        "sf": lambda k, a: either(
            ge(k, 0), exp(-a * (maximum(k, 0) + 1)) / (1 + exp(-a)), 1 - exp(a * minimum(k, 0)) / (1 + exp(-a))
        ),
        "mean": lambda a: a * 0, "variance": lambda a: 1 / (2 * sinh(a / 2) ** 2),
    },
)  # fmt: skip
planck = _law(
    "Planck distribution", {"lambda_": REQUIRED}, valid=positive, scipy="planck",
    formulas={
        "logpmf": lambda k, a: log1mexp(-a) - a * k, "logsf": lambda k, a: -a * (k + 1),
        "cdf": lambda k, a: -expm1(-a * (k + 1)), "icdf": lambda q, a: maximum(ceil(-log1p(-q) / a - 1), 0),
        "mean": lambda a: 1 / expm1(a), "variance": lambda a: exp(-a) / expm1(-a) ** 2,
    },
)  # fmt: skip
skellam = _law(
    "Skellam distribution", {"mu1": REQUIRED, "mu2": REQUIRED}, bounds=lambda a, b: (-math.inf, math.inf),
    valid=positive, scipy="skellam",
    formulas={
        "logpmf": lambda k, a, b: (
            -((sqrt(a) - sqrt(b)) ** 2) + k / 2 * log(a / b) + log(ive(abs(k), 2 * sqrt(a * b)))
        ),
        "mean": lambda a, b: a - b, "variance": lambda a, b: a + b,
    },
)  # fmt: skip
yulesimon = _law(
    "Yule-Simon distribution", {"alpha": REQUIRED}, bounds=_counting, valid=positive, scipy="yulesimon",
    formulas={
        "logpmf": lambda k, a: log(a) + betaln(k, a + 1), "logsf": lambda k, a: log(k) + betaln(k, a + 1),
        "mean": lambda a: either(gt(a, 1), a / (a - 1), math.inf),
        "variance": lambda a: either(
            gt(a, 2), a**2 / ((a - 1) ** 2 * (a - 2)), either(gt(a, 1), math.inf, math.nan)
        ),
    },
)  # fmt: skip


def _truncated_logpmf(k: TensorVariable, mu: TensorVariable) -> TensorVariable:
    return _poisson_logpmf(k, mu) - log1mexp(-mu)


def _truncated_mean(mu: TensorVariable) -> TensorVariable:
    return -mu / expm1(-mu)


zero_truncated_poisson = _law(
    "zero-truncated Poisson distribution", {"mu": REQUIRED}, bounds=_counting, valid=positive,
    formulas={
        "logpmf": _truncated_logpmf, "sf": lambda k, mu: -gammainc(k + 1, mu) / expm1(-mu),
        "cdf": lambda k, mu: (expm1(-mu) + gammainc(k + 1, mu)) / expm1(-mu), "mean": _truncated_mean,
        "variance": lambda mu: _truncated_mean(mu) * (1 + mu - _truncated_mean(mu)),
    },
)  # fmt: skip
hurdle_poisson = _law(
    "Poisson distribution with a hurdle", {"psi": REQUIRED, "mu": REQUIRED},
    valid=lambda psi, mu: and_(share(psi), positive(mu)),
    formulas={
        "logpmf": lambda k, psi, mu: either(
            eq(k, 0), log1p(-psi), log(psi) + _truncated_logpmf(maximum(k, 1), mu)
        ),
        "sf": lambda k, psi, mu: -psi * gammainc(k + 1, mu) / expm1(-mu),
        "mean": lambda psi, mu: psi * _truncated_mean(mu),
        "variance": lambda psi, mu: psi * _truncated_mean(mu) * (1 + mu - psi * _truncated_mean(mu)),
    },
)  # fmt: skip


def _inflated(
    name: str,
    base: Law,
    parameters: Mapping[str, object],
    bounds: Callable[..., Bounds] = _naturals,
    inner: Callable[..., Number] | None = None,
) -> Law:
    """Return the law of a distribution that is 0 with a further probability, 1 - psi."""
    own = base.formulas

    def logpmf(k: TensorVariable, psi: TensorVariable, *rest: TensorVariable) -> TensorVariable:
        value = log(psi) + own["logpmf"](k, *rest)
        return either(eq(k, 0), logaddexp(log1p(-psi), value), value)

    def variance(psi: TensorVariable, *rest: TensorVariable) -> TensorVariable:
        return psi * (own["variance"](*rest) + (1 - psi) * own["mean"](*rest) ** 2)

    formulas: Mapping[str, Formula] = {
        "logpmf": logpmf, "cdf": lambda k, psi, *rest: 1 - psi + psi * own["cdf"](k, *rest),
        "sf": lambda k, psi, *rest: psi * own["sf"](k, *rest),
        "mean": lambda psi, *rest: psi * own["mean"](*rest), "variance": variance,
    }  # fmt: skip
    return _law(
        name, {"psi": REQUIRED, **parameters}, formulas, valid=lambda psi, *rest: and_(share(psi), base.valid(*rest)),
        bounds=bounds, inner=inner,
    )  # fmt: skip


zero_inflated_poisson = _inflated("zero-inflated Poisson distribution", poisson, {"mu": REQUIRED})
zero_inflated_binomial = _inflated(
    "zero-inflated binomial distribution", binomial, dict(binomial.parameters), bounds=lambda psi, n, p: (0.0, n),
    inner=lambda psi, n, p: n * 0,
)  # fmt: skip
zero_inflated_negative_binomial = _inflated(
    "zero-inflated negative binomial distribution", negative_binomial, _NEGATIVE
)
