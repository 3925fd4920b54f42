"""Continuous distributions on intervals."""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from treadle.testing import Distribution


class Kumaraswamy:
    """Kumaraswamy's distribution, which SciPy does not have."""

    def __init__(self, a: float, b: float) -> None:
        self.a, self.b = a, b

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """Return the distribution function."""
        result: np.ndarray = 1 - (1 - x**self.a) ** self.b
        return result

    def pdf(self, x: np.ndarray) -> np.ndarray:
        """Return the density."""
        result: np.ndarray = self.a * self.b * x ** (self.a - 1) * (1 - x**self.a) ** (self.b - 1)
        return result


class LogitNormal:
    """The logit-normal distribution, which SciPy does not have."""

    def __init__(self, mu: float, sigma: float) -> None:
        self.normal = stats.norm(mu, sigma)

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """Return the distribution function."""
        result: np.ndarray = self.normal.cdf(special.logit(x))
        return result

    def pdf(self, x: np.ndarray) -> np.ndarray:
        """Return the density."""
        result: np.ndarray = self.normal.pdf(special.logit(x)) / (x * (1 - x))
        return result


DISTRIBUTIONS = [
    Distribution(
        "uniform",
        [(-1.0, 3.0)],
        lambda low, high: stats.uniform(low, high - low),
        numpy=lambda rng, low, high, size: rng.uniform(low, high, size),
        extremes=[((2.0, 2.0), lambda x: bool((x == 2.0).all()))],
        invalid=[((1.0, 0.0), "high - low < 0")],
        smooth=(0, 1),
    ),
    Distribution(
        "beta",
        [(2.5, 1.5), (0.2, 0.3), (1.0, 1e5)],
        stats.beta,
        numpy=lambda rng, alpha, beta, size: rng.beta(alpha, beta, size),
        extremes=[
            ((1e-3, 1e-3), lambda x: bool(((x >= 0) & (x <= 1)).all())),
            ((1e8, 1e8), lambda x: bool((np.abs(x - 0.5) < 1e-3).all())),
        ],
        invalid=[((0.0, 1.0), "a <= 0")],
        smooth=(0, 1),
    ),
    Distribution(
        "triangular",
        [(-1.0, 0.5, 3.0), (0.0, 0.0, 1.0)],
        lambda left, mode, right: stats.triang((mode - left) / (right - left), left, right - left),
        numpy=lambda rng, left, mode, right, size: rng.triangular(left, mode, right, size),
        invalid=[((0.0, 0.0, 0.0), "left == right"), ((1.0, 0.0, 2.0), "left > mode")],
        smooth=(0, 1, 2),
    ),
    Distribution(
        "truncexpon",
        [(1.5, 1.0, 2.0)],
        stats.truncexpon,
        extremes=[
            ((1e-9, 0.0, 1.0), lambda x: bool(((x >= 0) & (x <= 1e-9)).all()) and 1e-10 < np.mean(x) < 9e-10),
            ((np.inf, 0.0, 1.0), lambda x: bool(np.isfinite(x).all())),
        ],
        invalid=[((0.0, 0.0, 1.0), "b <= 0")],
        smooth=(0, 1, 2),
    ),
    Distribution(
        "vonmises",
        [(0.5, 1.5), (0.0, 1e4)],
        lambda mu, kappa: stats.vonmises(kappa, mu),
        numpy=lambda rng, mu, kappa, size: rng.vonmises(mu, kappa, size),
        extremes=[((0.0, 0.0), lambda x: bool((np.abs(x) <= np.pi).all()))],
        invalid=[((0.0, -1.0), "kappa < 0")],
        smooth=(0, 1),
    ),
    Distribution("arcsine", [(1.0, 2.0)], stats.arcsine),
    Distribution(
        "kumaraswamy",
        [(2.5, 1.5), (0.2, 30.0)],
        Kumaraswamy,
        extremes=[((1e-3, 1.0), lambda x: bool(((x >= 0) & (x <= 1)).all()))],
        invalid=[((1.0, 0.0), "b <= 0")],
        smooth=(0, 1),
    ),
    Distribution("logit_normal", [(0.5, 1.5)], LogitNormal, smooth=(0, 1)),
    Distribution(
        "loguniform",
        [(1e-3, 1e5, 0.0, 1.0)],
        stats.loguniform,
        extremes=[((2.0, 2.0, 0.0, 1.0), lambda x: bool((x == 2.0).all()))],
        smooth=(0, 1, 2, 3),
    ),
    Distribution("power", [(2.5,), (0.1,)], stats.powerlaw, numpy=lambda rng, a, size: rng.power(a, size), smooth=(0,)),
    Distribution(
        "truncnorm",
        [(-0.5, 1.5, 1.0, 2.0), (6.0, 9.0, 0.0, 1.0), (-np.inf, np.inf, 0.0, 1.0), (-30.0, -20.0, 0.0, 1.0)],
        stats.truncnorm,
        extremes=[
            ((1e6, np.inf, 0.0, 1.0), lambda x: bool(((x >= 1e6) & (x < 1e6 + 1e-4)).all()) and np.ptp(x) > 1e-7),
            ((3.0, 3.0, 0.0, 1.0), lambda x: bool((x == 3.0).all())),
        ],
        invalid=[((1.0, 0.0, 0.0, 1.0), "a > b")],
        smooth=(0, 1, 2, 3),
        costly=("jax",),
    ),
    Distribution(
        "truncated_normal",
        [(1.0, 2.0, 0.0, 4.0)],
        lambda loc, scale, lower, upper: stats.truncnorm((lower - loc) / scale, (upper - loc) / scale, loc, scale),
        smooth=(0, 1, 2, 3),
    ),
]
