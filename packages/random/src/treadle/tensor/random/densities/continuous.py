"""Laws of continuous distributions, in their standard forms.

Formulas are those of N. L. Johnson, S. Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 1994, written
so that tails keep their digits; where SciPy has the distribution, its parameters are given by `place`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from treadle.tensor.elementwise.arithmetic import maximum, minimum
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import ge, gt, le, lt
from treadle.tensor.elementwise.exponential import exp, expm1, log, log1mexp, log1p, logaddexp, sigmoid, softplus, sqrt
from treadle.tensor.elementwise.logic import and_
from treadle.tensor.elementwise.trigonometric import arcsinh, arctan2, cos, cosh, sin, sinh, tan
from treadle.tensor.errors import ArgumentError
from treadle.tensor.random.densities.law import REQUIRED, Law, either, floats, positive
from treadle.tensor.special_functions.bessel_functions import i0e, ive
from treadle.tensor.special_functions.entropy import xlogy
from treadle.tensor.special_functions.error_functions import (
    erf,
    erfc,
    erfcinv,
    erfinv,
    log_ndtr,
    ndtr,
    ndtri,
    owens_t,
)
from treadle.tensor.special_functions.gamma_functions import betaln, gammaln
from treadle.tensor.special_functions.incomplete_beta import betainc, betaincinv
from treadle.tensor.special_functions.incomplete_gamma import gammainc, gammaincc, gammainccinv, gammaincinv
from treadle.tensor.special_functions.stable_quotients import log_expit, logit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.tensor.random.densities.law import Bounds, Formula, Placed
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

PI, EULER = math.pi, 0.5772156649015329
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
LOC_SCALE = {"loc": 0.0, "scale": 1.0}


def _from_zero(*shapes: TensorVariable) -> Bounds:
    del shapes
    return 0.0, math.inf


def _unit(*shapes: TensorVariable) -> Bounds:
    del shapes
    return 0.0, 1.0


def _only_scale(*parameters: TensorVariable) -> Placed:
    """Take the last parameter as the scale."""
    return parameters[:-1], None, parameters[-1]


def plain(*parameters: TensorVariable) -> Placed:
    """Take all parameters as shapes."""
    return parameters, None, None


def gaussian(z: TensorVariable) -> TensorVariable:
    """Return the logarithm of the standard normal density."""
    return -(z**2) / 2 - HALF_LOG_2PI


# On the whole line

normal = Law(
    "normal distribution", LOC_SCALE, scipy="norm",
    formulas={
        "logpdf": gaussian, "cdf": ndtr, "sf": lambda z: ndtr(-z), "logcdf": log_ndtr, "logsf": lambda z: log_ndtr(-z),
        "icdf": ndtri, "mean": lambda: 0.0, "variance": lambda: 1.0,
    },
)  # fmt: skip


def _laplace_tail(z: TensorVariable) -> TensorVariable:
    return 0.5 * exp(-abs(z))


laplace = Law(
    "Laplace distribution", LOC_SCALE, scipy="laplace",
    formulas={
        "logpdf": lambda z: -abs(z) - math.log(2),
        "cdf": lambda z: either(lt(z, 0), _laplace_tail(z), 1 - _laplace_tail(z)),
        "sf": lambda z: either(lt(z, 0), 1 - _laplace_tail(z), _laplace_tail(z)),
        "logcdf": lambda z: either(lt(z, 0), -abs(z) - math.log(2), log1p(-_laplace_tail(z))),
        "logsf": lambda z: either(lt(z, 0), log1p(-_laplace_tail(z)), -abs(z) - math.log(2)),
        "icdf": lambda q: either(lt(q, 0.5), log(2 * q), -log(2 * (1 - q))),
        "mean": lambda: 0.0, "variance": lambda: 2.0,
    },
)  # fmt: skip
logistic = Law(
    "logistic distribution", LOC_SCALE, scipy="logistic",
    formulas={
        "logpdf": lambda z: -abs(z) - 2 * softplus(-abs(z)), "cdf": sigmoid, "sf": lambda z: sigmoid(-z),
        "logcdf": log_expit, "logsf": lambda z: log_expit(-z), "icdf": logit, "mean": lambda: 0.0,
        "variance": lambda: PI**2 / 3,
    },
)  # fmt: skip
cauchy = Law(
    "Cauchy distribution", LOC_SCALE, scipy="cauchy",
    formulas={
        "logpdf": lambda z: -math.log(PI) - log1p(z**2), "cdf": lambda z: arctan2(1, -z) / PI,
        "sf": lambda z: arctan2(1, z) / PI,
        "icdf": lambda q: either(lt(q, 0.5), -1 / tan(PI * minimum(q, 0.5)), 1 / tan(PI * minimum(1 - q, 0.5))),
        "mean": lambda: math.nan, "variance": lambda: math.nan,
    },
)  # fmt: skip
gumbel = Law(
    "Gumbel distribution", {"loc": REQUIRED, "scale": 1.0}, scipy="gumbel_r",
    formulas={
        "logpdf": lambda z: -z - exp(-z), "logcdf": lambda z: -exp(-z), "cdf": lambda z: exp(-exp(-z)),
        "sf": lambda z: -expm1(-exp(-z)), "icdf": lambda q: -log(-log(q)), "mean": lambda: EULER,
        "variance": lambda: PI**2 / 6,
    },
)  # fmt: skip


def _t_logpdf(z: TensorVariable, df: TensorVariable) -> TensorVariable:
    return -betaln(0.5, df / 2) - 0.5 * log(df) - (df + 1) / 2 * log1p(z**2 / df)


def _t_tail(z: TensorVariable, df: TensorVariable) -> TensorVariable:
    """Return the probability of numbers further from 0 than z, on either side."""
    return betainc(df / 2, 0.5, df / (df + z**2))


def _t_quantile(tail: TensorVariable, df: TensorVariable) -> TensorVariable:
    """Return how far from 0 numbers are, on either side, with a probability."""
    is_far = lt(tail, 0.5)
    far, near = (
        betaincinv(df / 2, 0.5, switch(is_far, tail, 0.25)),
        betaincinv(0.5, df / 2, switch(is_far, 0.5, 1 - tail)),
    )
    return sqrt(df * either(is_far, (1 - far) / far, near / (1 - near)))


t = Law(
    "Student's t distribution", {"df": REQUIRED, **LOC_SCALE}, scipy="t", valid=positive,
    formulas={
        "logpdf": _t_logpdf,
        "cdf": lambda z, df: either(lt(z, 0), 0.5 * _t_tail(z, df), 1 - 0.5 * _t_tail(z, df)),
        "sf": lambda z, df: either(lt(z, 0), 1 - 0.5 * _t_tail(z, df), 0.5 * _t_tail(z, df)),
        "icdf": lambda q, df: either(lt(q, 0.5), -1, 1) * _t_quantile(2 * minimum(q, 1 - q), df),
        "mean": lambda df: either(gt(df, 1), 0.0, math.nan),
        "variance": lambda df: either(gt(df, 2), df / (df - 2), either(gt(df, 1), math.inf, math.nan)),
    },
)  # fmt: skip


def _asymmetric_weight(kappa: TensorVariable) -> TensorVariable:
    return 1 / (1 + kappa**2)


def _asymmetric_quantile(q: TensorVariable, kappa: TensorVariable) -> TensorVariable:
    low = kappa**2 * _asymmetric_weight(kappa)
    is_low = lt(q, low)
    below = kappa * log(switch(is_low, q, low) / low)
    above = -log((1 - switch(is_low, low, q)) * (1 + kappa**2)) / kappa
    return either(is_low, below, above)


laplace_asymmetric = Law(
    "asymmetric Laplace distribution", {"kappa": REQUIRED, **LOC_SCALE}, scipy="laplace_asymmetric",
    valid=positive,
    formulas={
        "logpdf": lambda z, k: log(k) - log1p(k**2) + either(ge(z, 0), -z * k, z / k),
        "cdf": lambda z, k: either(
            ge(z, 0), 1 - _asymmetric_weight(k) * exp(-maximum(z, 0) * k),
            k**2 * _asymmetric_weight(k) * exp(minimum(z, 0) / k),
        ),
        "sf": lambda z, k: either(
            ge(z, 0), _asymmetric_weight(k) * exp(-maximum(z, 0) * k),
            1 - k**2 * _asymmetric_weight(k) * exp(minimum(z, 0) / k),
        ),
        "icdf": _asymmetric_quantile, "mean": lambda k: 1 / k - k, "variance": lambda k: 1 / k**2 + k**2,
    },
)  # fmt: skip


def _exponnorm_part(z: TensorVariable, k: TensorVariable) -> TensorVariable:
    return 1 / (2 * k**2) - z / k + log_ndtr(z - 1 / k)


exponnorm = Law(
    "exponentially modified normal distribution", {"K": REQUIRED, **LOC_SCALE}, scipy="exponnorm",
    valid=positive,
    formulas={
        "logpdf": lambda z, k: _exponnorm_part(z, k) - log(k),
        "logcdf": lambda z, k: log_ndtr(z) + log1mexp(minimum(_exponnorm_part(z, k) - log_ndtr(z), 0)),
        "logsf": lambda z, k: logaddexp(log_ndtr(-z), _exponnorm_part(z, k)),
        "mean": lambda k: k, "variance": lambda k: 1 + k**2,
    },
)  # fmt: skip
johnsonsu = Law(
    "Johnson SU distribution", {"a": REQUIRED, "b": REQUIRED, **LOC_SCALE}, scipy="johnsonsu",
    valid=lambda a, b: positive(b),
    formulas={
        "logpdf": lambda z, a, b: log(b) - 0.5 * log1p(z**2) + gaussian(a + b * arcsinh(z)),
        "cdf": lambda z, a, b: ndtr(a + b * arcsinh(z)), "sf": lambda z, a, b: ndtr(-a - b * arcsinh(z)),
        "logcdf": lambda z, a, b: log_ndtr(a + b * arcsinh(z)), "logsf": lambda z, a, b: log_ndtr(-a - b * arcsinh(z)),
        "icdf": lambda q, a, b: sinh((ndtri(q) - a) / b), "mean": lambda a, b: -exp(0.5 / b**2) * sinh(a / b),
        "variance": lambda a, b: 0.5 * expm1(1 / b**2) * (exp(1 / b**2) * cosh(2 * a / b) + 1),
    },
)  # fmt: skip
moyal = Law(
    "Moyal distribution", LOC_SCALE, scipy="moyal",
    formulas={
        "logpdf": lambda z: -(z + exp(-z)) / 2 - HALF_LOG_2PI, "cdf": lambda z: erfc(exp(-z / 2) / math.sqrt(2)),
        "sf": lambda z: erf(exp(-z / 2) / math.sqrt(2)),
        "logcdf": lambda z: math.log(2) + log_ndtr(-exp(-z / 2)), "icdf": lambda q: -log(2 * erfcinv(q) ** 2),
        "mean": lambda: EULER + math.log(2), "variance": lambda: PI**2 / 2,
    },
)  # fmt: skip


def _skew(a: TensorVariable) -> TensorVariable:
    return a / sqrt(1 + a**2) * math.sqrt(2 / PI)


skewnorm = Law(
    "skew normal distribution", {"a": REQUIRED, **LOC_SCALE}, scipy="skewnorm",
    formulas={
        "logpdf": lambda z, a: math.log(2) + gaussian(z) + log_ndtr(a * z),
        # The difference of two small numbers far in the thin tail, where nothing is left of it.
        "cdf": lambda z, a: maximum(ndtr(z) - 2 * owens_t(z, a), 0),
        "sf": lambda z, a: maximum(ndtr(-z) + 2 * owens_t(z, a), 0),
        "mean": _skew, "variance": lambda a: 1 - _skew(a) ** 2,
    },
)  # fmt: skip
vonmises = Law(
    "von Mises distribution", {"mu": REQUIRED, "kappa": REQUIRED}, place=plain, scipy="vonmises",
    valid=lambda mu, kappa: ge(kappa, 0),
    formulas={"logpdf": lambda x, mu, kappa: kappa * (cos(x - mu) - 1) - log(2 * PI * i0e(kappa))},
)  # fmt: skip

# Positive numbers

exponential = Law(
    "exponential distribution", {"scale": 1.0}, place=_only_scale, bounds=_from_zero, scipy="expon",
    formulas={
        "logpdf": lambda z: -z, "cdf": lambda z: -expm1(-z), "sf": lambda z: exp(-z), "logsf": lambda z: -z,
        "logcdf": lambda z: log1mexp(-z), "icdf": lambda q: -log1p(-q), "mean": lambda: 1.0, "variance": lambda: 1.0,
    },
)  # fmt: skip
halfcauchy = Law(
    "half-Cauchy distribution", LOC_SCALE, bounds=_from_zero, scipy="halfcauchy",
    formulas={
        "logpdf": lambda z: math.log(2 / PI) - log1p(z**2), "cdf": lambda z: 2 / PI * arctan2(z, 1),
        "sf": lambda z: 2 / PI * arctan2(1, z), "icdf": lambda q: tan(PI / 2 * q), "mean": lambda: math.inf,
        "variance": lambda: math.inf,
    },
)  # fmt: skip
halfnormal = Law(
    "half-normal distribution", LOC_SCALE, bounds=_from_zero, scipy="halfnorm",
    formulas={
        "logpdf": lambda z: gaussian(z) + math.log(2), "cdf": lambda z: erf(z / math.sqrt(2)),
        "sf": lambda z: erfc(z / math.sqrt(2)), "logsf": lambda z: math.log(2) + log_ndtr(-z),
        "icdf": lambda q: math.sqrt(2) * erfinv(q), "mean": lambda: math.sqrt(2 / PI), "variance": lambda: 1 - 2 / PI,
    },
)  # fmt: skip


def _half_t_mean(df: TensorVariable) -> TensorVariable:
    # 2 sqrt(df) / ((df - 1) B(df / 2, 1 / 2))
    return 2 * sqrt(df) * exp(-betaln(df / 2, 0.5)) / (df - 1)


half_student_t = Law(
    "half Student's t distribution", {"df": REQUIRED, **LOC_SCALE}, bounds=_from_zero, valid=positive,
    formulas={
        "logpdf": lambda z, df: math.log(2) + _t_logpdf(z, df),
        "cdf": lambda z, df: betainc(0.5, df / 2, z**2 / (df + z**2)), "sf": _t_tail,
        "icdf": lambda q, df: _t_quantile(1 - q, df),
        "mean": lambda df: either(gt(df, 1), _half_t_mean(df), math.inf),
        "variance": lambda df: either(
            gt(df, 2), df / (df - 2) - _half_t_mean(df) ** 2, either(gt(df, 1), math.inf, math.nan)
        ),
    },
)  # fmt: skip


def _log_normal(x: TensorVariable, mean: TensorVariable, sigma: TensorVariable) -> TensorVariable:
    return (log(x) - mean) / sigma


lognormal = Law(
    "lognormal distribution", {"mean": 0.0, "sigma": 1.0}, place=plain, bounds=_from_zero, is_open=True,
    valid=lambda mean, sigma: positive(sigma), scipy="lognorm",
    formulas={
        "logpdf": lambda x, m, s: gaussian(_log_normal(x, m, s)) - log(s) - log(x),
        "cdf": lambda x, m, s: ndtr(_log_normal(x, m, s)), "sf": lambda x, m, s: ndtr(-_log_normal(x, m, s)),
        "logcdf": lambda x, m, s: log_ndtr(_log_normal(x, m, s)),
        "logsf": lambda x, m, s: log_ndtr(-_log_normal(x, m, s)), "icdf": lambda q, m, s: exp(m + s * ndtri(q)),
        "mean": lambda m, s: exp(m + s**2 / 2), "variance": lambda m, s: expm1(s**2) * exp(2 * m + s**2),
    },
)  # fmt: skip
pareto = Law(
    "Pareto distribution", {"b": REQUIRED, "scale": 1.0}, place=_only_scale, bounds=lambda b: (1.0, math.inf),
    valid=positive, scipy="pareto",
    formulas={
        "logpdf": lambda z, b: log(b) - (b + 1) * log(z), "cdf": lambda z, b: -expm1(-b * log(z)),
        "logsf": lambda z, b: -b * log(z), "logcdf": lambda z, b: log1mexp(-b * log(z)),
        "icdf": lambda q, b: exp(-log1p(-q) / b), "mean": lambda b: either(gt(b, 1), b / (b - 1), math.inf),
        "variance": lambda b: either(gt(b, 2), b / ((b - 1) ** 2 * (b - 2)), math.inf),
    },
)  # fmt: skip


def _wald_sides(
    x: TensorVariable, mean: TensorVariable, scale: TensorVariable
) -> tuple[TensorVariable, TensorVariable]:
    """Return the two numbers whose normal probabilities make the distribution function."""
    root = sqrt(scale / x)
    return root * (x / mean - 1), -root * (x / mean + 1)


def _wald_logcdf(x: TensorVariable, mean: TensorVariable, scale: TensorVariable) -> TensorVariable:
    first, second = _wald_sides(x, mean, scale)
    return logaddexp(log_ndtr(first), 2 * scale / mean + log_ndtr(second))


def _wald_logsf(x: TensorVariable, mean: TensorVariable, scale: TensorVariable) -> TensorVariable:
    first, second = _wald_sides(x, mean, scale)
    upper = log_ndtr(-first)
    return upper + log1mexp(minimum(2 * scale / mean + log_ndtr(second) - upper, 0))


wald = Law(
    "inverse Gaussian distribution", {"mean": 1.0, "scale": 1.0}, place=plain, bounds=_from_zero, is_open=True,
    valid=positive, scipy="invgauss",
    formulas={
        "logpdf": lambda x, m, s: 0.5 * log(s) - HALF_LOG_2PI - 1.5 * log(x) - s * (x - m) ** 2 / (2 * m**2 * x),
        "logcdf": _wald_logcdf, "logsf": _wald_logsf, "mean": lambda m, s: m, "variance": lambda m, s: m**3 / s,
    },
)  # fmt: skip


def _weibull_moment(order: int, shape: TensorVariable) -> TensorVariable:
    return exp(gammaln(1 + order / shape))


weibull = Law(
    "Weibull distribution", {"shape": REQUIRED}, place=plain, bounds=_from_zero, valid=positive,
    scipy="weibull_min",
    formulas={
        "logpdf": lambda x, c: log(c) + xlogy(c - 1, x) - x**c, "logsf": lambda x, c: -(x**c),
        "cdf": lambda x, c: -expm1(-(x**c)), "logcdf": lambda x, c: log1mexp(-(x**c)),
        "icdf": lambda q, c: (-log1p(-q)) ** (1 / c), "mean": lambda c: _weibull_moment(1, c),
        "variance": lambda c: _weibull_moment(2, c) - _weibull_moment(1, c) ** 2,
    },
)  # fmt: skip
rayleigh = Law(
    "Rayleigh distribution", {"scale": 1.0}, place=_only_scale, bounds=_from_zero, scipy="rayleigh",
    formulas={
        "logpdf": lambda z: log(z) - z**2 / 2, "logsf": lambda z: -(z**2) / 2, "cdf": lambda z: -expm1(-(z**2) / 2),
        "logcdf": lambda z: log1mexp(-(z**2) / 2), "icdf": lambda q: sqrt(-2 * log1p(-q)),
        "mean": lambda: math.sqrt(PI / 2), "variance": lambda: 2 - PI / 2,
    },
)  # fmt: skip
levy = Law(
    "Levy distribution", LOC_SCALE, bounds=_from_zero, is_open=True, scipy="levy",
    formulas={
        "logpdf": lambda z: -HALF_LOG_2PI - 1.5 * log(z) - 1 / (2 * z), "cdf": lambda z: erfc(sqrt(0.5 / z)),
        "sf": lambda z: erf(sqrt(0.5 / z)), "logcdf": lambda z: math.log(2) + log_ndtr(-sqrt(1 / z)),
        "icdf": lambda q: 0.5 / erfcinv(q) ** 2, "mean": lambda: math.inf, "variance": lambda: math.inf,
    },
)  # fmt: skip
gompertz = Law(
    "Gompertz distribution", {"c": REQUIRED, **LOC_SCALE}, bounds=_from_zero, valid=positive,
    scipy="gompertz",
    formulas={
        "logpdf": lambda z, c: log(c) + z - c * expm1(z), "logsf": lambda z, c: -c * expm1(z),
        "cdf": lambda z, c: -expm1(-c * expm1(z)), "logcdf": lambda z, c: log1mexp(-c * expm1(z)),
        "icdf": lambda q, c: log1p(-log1p(-q) / c),
    },
)  # fmt: skip


def _fisk_moment(order: int, c: TensorVariable) -> TensorVariable:
    angle = order * PI / maximum(c, order)
    return angle / sin(angle)


fisk = Law(
    "log-logistic distribution", {"c": REQUIRED, **LOC_SCALE}, bounds=_from_zero, is_open=True,
    valid=positive, scipy="fisk",
    formulas={
        "logpdf": lambda z, c: log(c) + (c - 1) * log(z) - 2 * softplus(c * log(z)),
        "cdf": lambda z, c: sigmoid(c * log(z)), "sf": lambda z, c: sigmoid(-c * log(z)),
        "logcdf": lambda z, c: log_expit(c * log(z)), "logsf": lambda z, c: log_expit(-c * log(z)),
        "icdf": lambda q, c: exp(logit(q) / c),
        "mean": lambda c: either(gt(c, 1), _fisk_moment(1, c), math.inf),
        "variance": lambda c: either(gt(c, 2), _fisk_moment(2, c) - _fisk_moment(1, c) ** 2, math.inf),
    },
)  # fmt: skip

# What comes from gamma distributions

_GAMMA: Mapping[str, Formula] = {
    "logpdf": lambda z, a: xlogy(a - 1, z) - z - gammaln(a), "cdf": lambda z, a: gammainc(a, z),
    "sf": lambda z, a: gammaincc(a, z), "icdf": lambda q, a: gammaincinv(a, q), "mean": lambda a: a,
    "variance": lambda a: a,
}  # fmt: skip
gamma_of_scale = Law(
    "gamma distribution", {"shape": REQUIRED, "scale": REQUIRED}, place=_only_scale, bounds=_from_zero,
    valid=positive, formulas=_GAMMA, scipy="gamma",
)  # fmt: skip
standard_gamma = Law(
    "gamma distribution of scale 1", {"shape": REQUIRED}, place=plain, bounds=_from_zero, valid=positive,
    formulas=_GAMMA, scipy="gamma",
)  # fmt: skip
chisquare = Law(
    "chi-squared distribution", {"df": REQUIRED}, place=lambda df: ((df / 2,), None, df * 0 + 2), bounds=_from_zero,
    valid=positive, formulas=_GAMMA, scipy="chi2",
)  # fmt: skip
invgamma = Law(
    "inverse gamma distribution", {"shape": REQUIRED, "scale": REQUIRED}, place=_only_scale, bounds=_from_zero,
    is_open=True, valid=positive, scipy="invgamma",
    formulas={
        "logpdf": lambda z, a: -(a + 1) * log(z) - gammaln(a) - 1 / z, "cdf": lambda z, a: gammaincc(a, 1 / z),
        "sf": lambda z, a: gammainc(a, 1 / z), "icdf": lambda q, a: 1 / gammainccinv(a, q),
        "mean": lambda a: either(gt(a, 1), 1 / (a - 1), math.inf),
        "variance": lambda a: either(gt(a, 2), 1 / ((a - 1) ** 2 * (a - 2)), math.inf),
    },
)  # fmt: skip


def _gengamma_moment(order: int, alpha: TensorVariable, p: TensorVariable) -> TensorVariable:
    return exp(gammaln((alpha + order) / p) - gammaln(alpha / p))


gengamma = Law(
    "generalised gamma distribution", {"alpha": 1.0, "p": 1.0, "lambd": 1.0}, place=_only_scale, bounds=_from_zero,
    valid=positive, scipy="gengamma",
    formulas={
        "logpdf": lambda z, a, p: log(p) + xlogy(a - 1, z) - z**p - gammaln(a / p),
        "cdf": lambda z, a, p: gammainc(a / p, z**p), "sf": lambda z, a, p: gammaincc(a / p, z**p),
        "icdf": lambda q, a, p: gammaincinv(a / p, q) ** (1 / p), "mean": lambda a, p: _gengamma_moment(1, a, p),
        "variance": lambda a, p: _gengamma_moment(2, a, p) - _gengamma_moment(1, a, p) ** 2,
    },
)  # fmt: skip


def _chi_mean(df: TensorVariable) -> TensorVariable:
    return math.sqrt(2) * exp(gammaln((df + 1) / 2) - gammaln(df / 2))


chi = Law(
    "chi distribution", {"df": REQUIRED, **LOC_SCALE}, bounds=_from_zero, valid=positive, scipy="chi",
    formulas={
        "logpdf": lambda z, df: (1 - df / 2) * math.log(2) - gammaln(df / 2) + xlogy(df - 1, z) - z**2 / 2,
        "cdf": lambda z, df: gammainc(df / 2, z**2 / 2), "sf": lambda z, df: gammaincc(df / 2, z**2 / 2),
        "icdf": lambda q, df: sqrt(2 * gammaincinv(df / 2, q)), "mean": _chi_mean,
        "variance": lambda df: df - _chi_mean(df) ** 2,
    },
)  # fmt: skip
maxwell = Law(
    "Maxwell distribution", LOC_SCALE, bounds=_from_zero, scipy="maxwell",
    formulas={
        "logpdf": lambda z: math.log(2) - HALF_LOG_2PI + 2 * log(z) - z**2 / 2,
        "cdf": lambda z: gammainc(1.5, z**2 / 2), "sf": lambda z: gammaincc(1.5, z**2 / 2),
        "icdf": lambda q: sqrt(2 * gammaincinv(1.5, q)), "mean": lambda: 2 * math.sqrt(2 / PI),
        "variance": lambda: 3 - 8 / PI,
    },
)  # fmt: skip


def _noncentral_logpdf(x: TensorVariable, df: TensorVariable, nonc: TensorVariable) -> TensorVariable:
    is_central = le(nonc, 0)
    moved = switch(is_central, 1.0, nonc)
    bessel = log(ive(df / 2 - 1, sqrt(moved * x)))
    value = -((sqrt(x) - sqrt(moved)) ** 2) / 2 + (df / 4 - 0.5) * log(x / moved) + bessel - math.log(2)
    central = xlogy(df / 2 - 1, x / 2) - x / 2 - gammaln(df / 2) - math.log(2)
    return either(is_central, central, value)


noncentral_chisquare = Law(
    "noncentral chi-squared distribution", {"df": REQUIRED, "nonc": REQUIRED}, place=plain, bounds=_from_zero,
    is_open=True, valid=lambda df, nonc: and_(gt(df, 0), ge(nonc, 0)), scipy="ncx2",
    formulas={
        "logpdf": _noncentral_logpdf, "mean": lambda df, nonc: df + nonc,
        "variance": lambda df, nonc: 2 * (df + 2 * nonc),
    },
)  # fmt: skip


def _f_quantile(q: TensorVariable, n: TensorVariable, m: TensorVariable) -> TensorVariable:
    is_low = lt(q, 0.5)
    low, high = betaincinv(n / 2, m / 2, switch(is_low, q, 0.25)), betaincinv(m / 2, n / 2, switch(is_low, 0.25, 1 - q))
    return m / n * either(is_low, low / (1 - low), (1 - high) / high)


f = Law(
    "F distribution", {"dfnum": REQUIRED, "dfden": REQUIRED}, place=plain, bounds=_from_zero,
    valid=positive, scipy="f",
    formulas={
        "logpdf": lambda x, n, m: (
            n / 2 * log(n / m) + xlogy(n / 2 - 1, x) - (n + m) / 2 * log1p(n / m * x) - betaln(n / 2, m / 2)
        ),
        "cdf": lambda x, n, m: betainc(n / 2, m / 2, n * x / (n * x + m)),
        "sf": lambda x, n, m: betainc(m / 2, n / 2, m / (n * x + m)), "icdf": _f_quantile,
        "mean": lambda n, m: either(gt(m, 2), m / (m - 2), math.inf),
        "variance": lambda n, m: either(
            gt(m, 4), 2 * m**2 * (n + m - 2) / (n * (m - 2) ** 2 * (m - 4)), either(gt(m, 2), math.inf, math.nan)
        ),
    },
)  # fmt: skip

# Without parameters, or with fewer of them

standard_normal = Law("standard normal distribution", {}, place=plain, formulas=normal.formulas, scipy="norm")
standard_cauchy = Law("standard Cauchy distribution", {}, place=plain, formulas=cauchy.formulas, scipy="cauchy")
standard_exponential = Law(
    "standard exponential distribution", {}, place=plain, bounds=_from_zero, formulas=exponential.formulas,
    scipy="expon",
)  # fmt: skip
standard_t = Law(
    "standard Student's t distribution", {"df": REQUIRED}, place=plain, valid=positive,
    formulas=t.formulas, scipy="t",
)  # fmt: skip


def _shape_and_scale(
    shape: TensorLike, rate: TensorLike | None, scale: TensorLike | None
) -> tuple[TensorLike, TensorLike]:
    if rate is None and scale is not None:
        return shape, scale
    if rate is not None and scale is None:
        return shape, 1.0 / floats(rate)
    received, advice = ("none", "Give one by name.") if rate is None else ("both", "Leave one out.")
    msg = f"gamma: either rate or scale is needed, got {received}. {advice}"
    raise ArgumentError(msg)


gamma = Law(
    "gamma distribution", {"shape": REQUIRED, "rate": None, "scale": None}, place=_only_scale, bounds=_from_zero,
    valid=positive, formulas=_GAMMA, scipy="gamma", given=_shape_and_scale,
)  # fmt: skip
