"""Continuous distributions on intervals."""

from __future__ import annotations

import numpy as np
from scipy import stats

from treadle.testing.distributions.record import Distribution

DISTRIBUTIONS = [
    Distribution(
        "uniform",
        [(-1.0, 3.0)],
        lambda low, high: stats.uniform(low, high - low),
        numpy=lambda rng, low, high, size: rng.uniform(low, high, size),
        extremes=[((2.0, 2.0), lambda x: bool((x == 2.0).all()))],
        invalid=[((1.0, 0.0), "low > high"), ((0.0, np.inf), "high - low range exceeds valid bounds")],
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
]
