"""Continuous distributions on the real line."""

from __future__ import annotations

import numpy as np
from scipy import stats

from treadle.testing import Distribution

DISTRIBUTIONS = [
    Distribution(
        "normal",
        [(1.5, 2.0)],
        stats.norm,
        numpy=lambda rng, loc, scale, size: rng.normal(loc, scale, size),
        extremes=[
            ((3.0, 0.0), lambda x: bool((x == 3.0).all())),
            ((0.0, 1e300), lambda x: bool(np.isfinite(x).all())),
            ((np.nan, 1.0), lambda x: bool(np.isnan(x).all())),
        ],
        invalid=[((0.0, -1.0), "scale < 0")],
        smooth=(0, 1),
    ),
    Distribution(
        "cauchy",
        [(-1.0, 0.5)],
        stats.cauchy,
        numpy=lambda rng, loc, scale, size: loc + scale * rng.standard_cauchy(size),
        extremes=[((3.0, 0.0), lambda x: bool((x == 3.0).all()))],
        invalid=[((0.0, -1.0), "scale < 0")],
        smooth=(0, 1),
    ),
    Distribution(
        "gumbel",
        [(-1.0, 0.5)],
        stats.gumbel_r,
        numpy=lambda rng, loc, scale, size: rng.gumbel(loc, scale, size),
        extremes=[((3.0, 0.0), lambda x: bool((x == 3.0).all()))],
        smooth=(0, 1),
    ),
    Distribution(
        "laplace",
        [(-1.0, 0.5)],
        stats.laplace,
        numpy=lambda rng, loc, scale, size: rng.laplace(loc, scale, size),
        extremes=[((3.0, 0.0), lambda x: bool((x == 3.0).all()))],
        smooth=(0, 1),
    ),
    Distribution(
        "logistic",
        [(-1.0, 0.5)],
        stats.logistic,
        numpy=lambda rng, loc, scale, size: rng.logistic(loc, scale, size),
        extremes=[((3.0, 0.0), lambda x: bool((x == 3.0).all()))],
        smooth=(0, 1),
    ),
    Distribution(
        "t",
        [(3.5, 1.0, 2.0), (0.2, 0.0, 1.0), (1e8, 0.0, 1.0)],
        stats.t,
        numpy=lambda rng, df, loc, scale, size: loc + scale * rng.standard_t(df, size),
        extremes=[((3.0, 3.0, 0.0), lambda x: bool((x == 3.0).all()))],
        invalid=[((0.0, 0.0, 1.0), "df <= 0")],
        smooth=(0, 1, 2),
    ),
    Distribution("standard_cauchy", [()], stats.cauchy, numpy=lambda rng, size: rng.standard_cauchy(size)),
    Distribution("standard_normal", [()], stats.norm, numpy=lambda rng, size: rng.standard_normal(size)),
    Distribution("standard_t", [(3.5,)], stats.t, numpy=lambda rng, df, size: rng.standard_t(df, size), smooth=(0,)),
]
