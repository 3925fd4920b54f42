"""Laws of continuous distributions on intervals, in their standard forms (see `continuous`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.elementwise.arithmetic import minimum
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import ge, gt, isinf, le, lt
from treadle.tensor.elementwise.exponential import exp, expm1, log, log1mexp, log1p, logaddexp, sigmoid, sqrt
from treadle.tensor.elementwise.logic import and_
from treadle.tensor.elementwise.trigonometric import arcsin, sin, sinh
from treadle.tensor.random.densities.continuous import LOC_SCALE, PI, gaussian, plain
from treadle.tensor.random.densities.law import REQUIRED, Law, either, positive
from treadle.tensor.random.normal_mass import log_normal_mass
from treadle.tensor.special_functions.entropy import xlog1py, xlogy
from treadle.tensor.special_functions.error_functions import (
    log_ndtr,
    ndtr,
    ndtri,
    ndtri_exp,
)
from treadle.tensor.special_functions.gamma_functions import betaln
from treadle.tensor.special_functions.incomplete_beta import betainc, betaincinv
from treadle.tensor.special_functions.stable_quotients import logit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.tensor.random.densities.law import Bounds, Formula, Placed
    from treadle.tensor.variables.variable import TensorVariable


def _unit(*shapes: TensorVariable) -> Bounds:
    del shapes
    return 0.0, 1.0


uniform = Law(
    "uniform distribution", {"low": 0.0, "high": 1.0}, place=lambda low, high: ((), low, high - low), bounds=_unit,
    scipy="uniform",
    formulas={
        "logpdf": lambda z: z * 0, "cdf": lambda z: z, "sf": lambda z: 1 - z, "icdf": lambda q: q, "mean": lambda: 0.5,
        "variance": lambda: 1 / 12,
    },
)  # fmt: skip
beta = Law(
    "beta distribution", {"alpha": REQUIRED, "beta": REQUIRED}, place=plain, bounds=_unit,
    valid=positive, scipy="beta",
    formulas={
        "logpdf": lambda x, a, b: xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b),
        "cdf": lambda x, a, b: betainc(a, b, x), "sf": lambda x, a, b: betainc(b, a, 1 - x),
        "icdf": lambda q, a, b: betaincinv(a, b, q), "mean": lambda a, b: a / (a + b),
        "variance": lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)),
    },
)  # fmt: skip


def _kumaraswamy_moment(order: int, a: TensorVariable, b: TensorVariable) -> TensorVariable:
    return b * exp(betaln(1 + order / a, b))


kumaraswamy = Law(
    "Kumaraswamy distribution", {"a": REQUIRED, "b": REQUIRED}, place=plain, bounds=_unit,
    valid=positive,
    formulas={
        "logpdf": lambda x, a, b: log(a) + log(b) + xlogy(a - 1, x) + xlog1py(b - 1, -(x**a)),
        "cdf": lambda x, a, b: -expm1(xlog1py(b, -(x**a))), "logsf": lambda x, a, b: xlog1py(b, -(x**a)),
        "icdf": lambda q, a, b: (-expm1(log1p(-q) / b)) ** (1 / a), "mean": lambda a, b: _kumaraswamy_moment(1, a, b),
        "variance": lambda a, b: _kumaraswamy_moment(2, a, b) - _kumaraswamy_moment(1, a, b) ** 2,
    },
)  # fmt: skip


def _of_logit(x: TensorVariable, mu: TensorVariable, sigma: TensorVariable) -> TensorVariable:
    return (logit(x) - mu) / sigma


logit_normal = Law(
    "logit-normal distribution", {"mu": 0.0, "sigma": 1.0}, place=plain, is_open=True, bounds=_unit,
    valid=lambda mu, sigma: positive(sigma),
    formulas={
        "logpdf": lambda x, m, s: gaussian(_of_logit(x, m, s)) - log(s) - log(x) - log1p(-x),
        "cdf": lambda x, m, s: ndtr(_of_logit(x, m, s)), "sf": lambda x, m, s: ndtr(-_of_logit(x, m, s)),
        "logcdf": lambda x, m, s: log_ndtr(_of_logit(x, m, s)), "logsf": lambda x, m, s: log_ndtr(-_of_logit(x, m, s)),
        "icdf": lambda q, m, s: sigmoid(m + s * ndtri(q)),
    },
)  # fmt: skip
loguniform = Law(
    "loguniform distribution", {"a": REQUIRED, "b": REQUIRED, **LOC_SCALE}, bounds=lambda a, b: (a, b),
    valid=lambda a, b: and_(gt(a, 0), gt(b, a)), scipy="loguniform",
    formulas={
        "logpdf": lambda z, a, b: -log(z) - log(log(b / a)), "cdf": lambda z, a, b: log(z / a) / log(b / a),
        "sf": lambda z, a, b: log(b / z) / log(b / a), "icdf": lambda q, a, b: a * exp(q * log(b / a)),
        "mean": lambda a, b: (b - a) / log(b / a),
        "variance": lambda a, b: (b - a) * (b + a) / (2 * log(b / a)) - ((b - a) / log(b / a)) ** 2,
    },
)  # fmt: skip
power = Law(
    "power distribution", {"a": REQUIRED}, place=plain, bounds=_unit, valid=positive, scipy="powerlaw",
    formulas={
        "logpdf": lambda x, a: log(a) + xlogy(a - 1, x), "cdf": lambda x, a: x**a,
        "sf": lambda x, a: -expm1(xlogy(a, x)),
        "logcdf": lambda x, a: xlogy(a, x), "icdf": lambda q, a: q ** (1 / a), "mean": lambda a: a / (a + 1),
        "variance": lambda a: a / ((a + 2) * (a + 1) ** 2),
    },
)  # fmt: skip


def _triangular_place(left: TensorVariable, mode: TensorVariable, right: TensorVariable) -> Placed:
    return ((mode - left) / (right - left),), left, right - left


def _triangular_logpdf(z: TensorVariable, c: TensorVariable) -> TensorVariable:
    is_left = lt(z, c)
    left, right = (
        switch(is_left, z, 1.0) / switch(is_left, c, 1.0),
        switch(is_left, 0.0, 1 - z) / switch(lt(c, 1), 1 - c, 1.0),
    )
    return math.log(2) + log(either(is_left, left, either(lt(c, 1), right, 1.0)))


def _triangular_cdf(z: TensorVariable, c: TensorVariable) -> TensorVariable:
    is_left = lt(z, c)
    return either(is_left, z**2 / switch(gt(c, 0), c, 1.0), 1 - (1 - z) ** 2 / switch(lt(c, 1), 1 - c, 1.0))


triangular = Law(
    "triangular distribution", {"left": REQUIRED, "mode": REQUIRED, "right": REQUIRED}, place=_triangular_place,
    bounds=_unit, valid=lambda c: and_(ge(c, 0), le(c, 1)), scipy="triang",
    formulas={
        "logpdf": _triangular_logpdf, "cdf": _triangular_cdf,
        "sf": lambda z, c: either(
            lt(z, c), 1 - z**2 / switch(gt(c, 0), c, 1.0), (1 - z) ** 2 / switch(lt(c, 1), 1 - c, 1.0)
        ),
        "icdf": lambda q, c: either(lt(q, c), sqrt(c * q), 1 - sqrt((1 - c) * (1 - q))),
        "mean": lambda c: (c + 1) / 3, "variance": lambda c: (1 - c + c**2) / 18,
    },
)  # fmt: skip
truncexpon = Law(
    "truncated exponential distribution", {"b": REQUIRED, **LOC_SCALE}, bounds=lambda b: (0.0, b),
    inner=lambda b: b / 2, valid=positive, scipy="truncexpon",
    formulas={
        "logpdf": lambda z, b: -z - log1mexp(-b), "cdf": lambda z, b: expm1(-z) / expm1(-b),
        "sf": lambda z, b: exp(-z) * expm1(z - b) / expm1(-b), "icdf": lambda q, b: -log1p(q * expm1(-b)),
        "mean": lambda b: 1 - b / expm1(b), "variance": lambda b: 1 - (b / (2 * sinh(b / 2))) ** 2,
    },
)  # fmt: skip


def _inside(a: TensorVariable, b: TensorVariable) -> TensorVariable:
    """Return a number between two, each of which may be infinite."""
    low, high = switch(isinf(a), switch(isinf(b), -1.0, b - 1), a), switch(isinf(b), switch(isinf(a), 1.0, a + 1), b)
    return (low + high) / 2


def _truncnorm_quantile(q: TensorVariable, a: TensorVariable, b: TensorVariable) -> TensorVariable:
    whole = log_normal_mass(a, b)
    left = ndtri_exp(minimum(logaddexp(log_ndtr(a), log(q) + whole), 0))
    right = -ndtri_exp(minimum(logaddexp(log_ndtr(-b), log1p(-q) + whole), 0))
    return either(lt(a, 0), left, right)


def _edge(z: TensorVariable, whole: TensorVariable, power: int) -> TensorVariable:
    """Return z**power times the density of the truncated distribution at a bound, 0 at an infinite one."""
    finite = switch(isinf(z), 0.0, z)
    return either(isinf(z), 0.0, finite**power * exp(gaussian(finite) - whole))


def _truncnorm_mean(a: TensorVariable, b: TensorVariable) -> TensorVariable:
    whole = log_normal_mass(a, b)
    return _edge(a, whole, 0) - _edge(b, whole, 0)


def _truncnorm_variance(a: TensorVariable, b: TensorVariable) -> TensorVariable:
    whole = log_normal_mass(a, b)
    return 1 + _edge(a, whole, 1) - _edge(b, whole, 1) - _truncnorm_mean(a, b) ** 2


_TRUNCATED: Mapping[str, Formula] = {
    "logpdf": lambda z, a, b: gaussian(z) - log_normal_mass(a, b),
    "logcdf": lambda z, a, b: log_normal_mass(a, z) - log_normal_mass(a, b),
    "logsf": lambda z, a, b: log_normal_mass(z, b) - log_normal_mass(a, b), "icdf": _truncnorm_quantile,
    "mean": _truncnorm_mean, "variance": _truncnorm_variance,
}  # fmt: skip
truncnorm = Law(
    "truncated normal distribution", {"a": REQUIRED, "b": REQUIRED, **LOC_SCALE}, bounds=lambda a, b: (a, b),
    inner=_inside, valid=lt, formulas=_TRUNCATED, scipy="truncnorm",
)  # fmt: skip


def _standard_bound(bound: TensorVariable, loc: TensorVariable, scale: TensorVariable) -> TensorVariable:
    """Return a bound in standard form; an infinite one moves with nothing, which slopes must not make NaN of."""
    return switch(isinf(bound), bound, (switch(isinf(bound), 0.0, bound) - loc) / scale)


def _truncated_place(
    loc: TensorVariable, scale: TensorVariable, lower: TensorVariable, upper: TensorVariable
) -> Placed:
    return (_standard_bound(lower, loc, scale), _standard_bound(upper, loc, scale)), loc, scale


truncated_normal = Law(
    "normal distribution cut off at two bounds", {**LOC_SCALE, "lower": -np.inf, "upper": np.inf},
    place=_truncated_place,
    bounds=lambda a, b: (a, b), inner=_inside, valid=lt, formulas=_TRUNCATED,
)  # fmt: skip
arcsine = Law(
    "arcsine distribution", LOC_SCALE, bounds=_unit, scipy="arcsine",
    formulas={
        "logpdf": lambda z: -math.log(PI) - 0.5 * log(z) - 0.5 * log1p(-z), "cdf": lambda z: 2 / PI * arcsin(sqrt(z)),
        "sf": lambda z: 2 / PI * arcsin(sqrt(1 - z)), "icdf": lambda q: sin(PI / 2 * q) ** 2, "mean": lambda: 0.5,
        "variance": lambda: 1 / 8,
    },
)  # fmt: skip
