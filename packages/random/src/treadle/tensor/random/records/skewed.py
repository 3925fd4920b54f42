"""Skewed distributions on the real line."""

from __future__ import annotations

import numpy as np
from scipy import stats

from treadle.testing import Distribution

DISTRIBUTIONS = [
    Distribution(
        "laplace_asymmetric",
        [(1.5, 1.0, 2.0), (0.3, 0.0, 1.0)],
        stats.laplace_asymmetric,
        invalid=[((0.0, 0.0, 1.0), "kappa <= 0")],
        smooth=(0, 1, 2),
    ),
    Distribution(
        "exponnorm",
        [(1.5, 1.0, 2.0), (0.01, 0.0, 1.0)],
        stats.exponnorm,
        numpy=lambda rng, k, loc, scale, size: stats.exponnorm.rvs(k, loc, scale, size, random_state=rng),
        smooth=(0, 1, 2),
    ),
    Distribution("johnsonsu", [(0.5, 1.5, 1.0, 2.0)], stats.johnsonsu, smooth=(0, 1, 2, 3)),
    Distribution("moyal", [(1.0, 2.0)], stats.moyal, smooth=(0, 1)),
    Distribution(
        "skewnorm",
        [(1.5, 1.0, 2.0), (-3.0, 0.0, 1.0)],
        stats.skewnorm,
        extremes=[
            ((-1e200, 0.0, 1.0), lambda x: bool((x <= 0).all())),
            ((np.inf, 0.0, 1.0), lambda x: bool((x >= 0).all())),
        ],
        smooth=(0, 1, 2),
        costly=("jax",),
    ),
]
