"""Continuous distributions on the real line."""

from __future__ import annotations

import numpy as np
from scipy import stats

from treadle.testing.distributions.record import Distribution

DISTRIBUTIONS = [
    Distribution(
        "normal",
        [(1.5, 2.0)],
        stats.norm,
        numpy=lambda rng, loc, scale, size: rng.normal(loc, scale, size),
        extremes=[
            ((3.0, 0.0), lambda x: bool((x == 3.0).all())),
            ((0.0, 1e300), lambda x: bool(np.isfinite(x).all())),
        ],
        invalid=[((0.0, -1.0), "scale < 0")],
        smooth=(0, 1),
    ),
    Distribution(
        "uniform",
        [(-1.0, 3.0)],
        lambda low, high: stats.uniform(low, high - low),
        numpy=lambda rng, low, high, size: rng.uniform(low, high, size),
        extremes=[((2.0, 2.0), lambda x: bool((x == 2.0).all()))],
        invalid=[((1.0, 0.0), "high - low < 0")],
        smooth=(0, 1),
    ),
]
