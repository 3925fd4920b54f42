"""Continuous distributions of positive numbers."""

from __future__ import annotations

import numpy as np
from scipy import stats

from treadle.testing import Distribution


class HalfStudentT:
    """The half Student's t distribution, which SciPy does not have."""

    def __init__(self, df: float, loc: float, scale: float) -> None:
        self.whole = stats.t(df, loc, scale)
        self.loc = loc

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """Return the distribution function."""
        result: np.ndarray = self.whole.cdf(x) - self.whole.cdf(2 * self.loc - x)
        return result

    def pdf(self, x: np.ndarray) -> np.ndarray:
        """Return the density."""
        result: np.ndarray = 2 * self.whole.pdf(x)
        return result


DISTRIBUTIONS = [
    Distribution(
        "exponential",
        [(2.0,)],
        lambda scale: stats.expon(scale=scale),
        numpy=lambda rng, scale, size: rng.exponential(scale, size),
        extremes=[((0.0,), lambda x: bool((x == 0.0).all())), ((1e-310,), lambda x: bool((x < 1e-307).all()))],
        invalid=[((-1.0,), "scale < 0")],
        smooth=(0,),
    ),
    Distribution(
        "halfcauchy",
        [(1.0, 2.0)],
        stats.halfcauchy,
        extremes=[((3.0, 0.0), lambda x: bool((x == 3.0).all()))],
        smooth=(0, 1),
    ),
    Distribution(
        "halfnormal",
        [(1.0, 2.0)],
        stats.halfnorm,
        numpy=lambda rng, loc, scale, size: stats.halfnorm.rvs(loc, scale, size, random_state=rng),
        extremes=[((3.0, 0.0), lambda x: bool((x == 3.0).all()))],
        smooth=(0, 1),
    ),
    Distribution(
        "lognormal",
        [(0.5, 1.5)],
        lambda mean, sigma: stats.lognorm(sigma, scale=np.exp(mean)),
        numpy=lambda rng, mean, sigma, size: rng.lognormal(mean, sigma, size),
        extremes=[((0.0, 0.0), lambda x: bool((x == 1.0).all())), ((1000.0, 1.0), lambda x: bool(np.isinf(x).all()))],
        smooth=(0, 1),
    ),
    Distribution(
        "pareto",
        [(3.0, 2.0)],
        lambda b, scale: stats.pareto(b, scale=scale),
        extremes=[
            ((1e8, 1.0), lambda x: bool((np.abs(x - 1) < 1e-6).all())),
            ((2.0, 0.0), lambda x: bool((x == 0).all())),
        ],
        invalid=[((0.0, 1.0), "b <= 0")],
        smooth=(0, 1),
    ),
    Distribution(
        "wald",
        [(2.0, 3.0), (100.0, 0.5)],
        lambda mean, scale: stats.invgauss(mean / scale, scale=scale),
        numpy=lambda rng, mean, scale, size: rng.wald(mean, scale, size),
        invalid=[((0.0, 1.0), "mean <= 0")],
        smooth=(0, 1),
    ),
    Distribution(
        "weibull",
        [(1.5,), (0.1,)],
        stats.weibull_min,
        numpy=lambda rng, shape, size: rng.weibull(shape, size),
        extremes=[((0.0,), lambda x: bool((x == 0.0).all())), ((1e300,), lambda x: bool((x == 1.0).all()))],
        smooth=(0,),
    ),
    Distribution("fisk", [(1.5, 1.0, 2.0)], stats.fisk, smooth=(0, 1, 2)),
    Distribution("gompertz", [(1.5, 1.0, 2.0), (1e-8, 0.0, 1.0)], stats.gompertz, smooth=(0, 1, 2)),
    Distribution("half_student_t", [(3.5, 0.0, 2.0)], HalfStudentT, smooth=(0, 2)),
    Distribution("levy", [(1.0, 2.0)], stats.levy, smooth=(0, 1)),
    Distribution(
        "rayleigh",
        [(2.0,)],
        lambda scale: stats.rayleigh(scale=scale),
        numpy=lambda rng, scale, size: rng.rayleigh(scale, size),
        smooth=(0,),
    ),
    Distribution("standard_exponential", [()], stats.expon, numpy=lambda rng, size: rng.standard_exponential(size)),
]
