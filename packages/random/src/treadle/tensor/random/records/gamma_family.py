"""The gamma distribution, and distributions of powers of gamma draws."""

from __future__ import annotations

import numpy as np
from scipy import stats

from treadle.testing import Distribution

DISTRIBUTIONS = [
    Distribution(
        "_gamma",
        [(2.5, 3.0), (0.1, 1.0), (1e6, 1e-3)],
        lambda shape, scale: stats.gamma(shape, scale=scale),
        numpy=lambda rng, shape, scale, size: rng.gamma(shape, scale, size),
        extremes=[
            ((0.0, 1.0), lambda x: bool((x == 0.0).all())),
            ((1.0, 0.0), lambda x: bool((x == 0.0).all())),
            ((1e-5, 1.0), lambda x: bool(((x >= 0) & (x < 1)).all())),
        ],
        invalid=[((-1.0, 1.0), "shape < 0"), ((1.0, -1.0), "scale < 0")],
        smooth=(0, 1),
    ),
    Distribution(
        "gengamma",
        [(2.0, 3.0, 1.5), (1.0, 100.0, 2.0)],
        lambda alpha, p, lambd: stats.gengamma(alpha / p, p, scale=lambd),
        extremes=[((1.0, 1e6, 1.0), lambda x: bool(((x > 0) & (x < 1.1)).all()))],
        invalid=[((0.0, 1.0, 1.0), "alpha <= 0")],
        smooth=(0, 1, 2),
        costly=("jax",),
    ),
    Distribution(
        "invgamma",
        [(2.5, 3.0), (0.1, 1.0)],
        lambda shape, scale: stats.invgamma(shape, scale=scale),
        extremes=[((1e-5, 1.0), lambda x: bool((x > 0).all())), ((1e8, 1e8), lambda x: bool(np.allclose(x, 1, 1e-3)))],
        invalid=[((-1.0, 1.0), "shape < 0")],
        smooth=(0, 1),
    ),
    Distribution("chi", [(3.5, 1.0, 2.0)], stats.chi, invalid=[((0.0, 0.0, 1.0), "df <= 0")], smooth=(0, 1, 2)),
    Distribution(
        "f",
        [(3.5, 7.5)],
        stats.f,
        numpy=lambda rng, dfnum, dfden, size: rng.f(dfnum, dfden, size),
        extremes=[((1e8, 1e8), lambda x: bool(np.allclose(x, 1, 1e-3)))],
        smooth=(0, 1),
        costly=("jax",),
    ),
    Distribution("maxwell", [(1.0, 2.0)], stats.maxwell, smooth=(0, 1)),
    Distribution(
        "noncentral_chisquare",
        [(3.5, 2.0), (0.5, 2.0)],
        stats.ncx2,
        numpy=lambda rng, df, nonc, size: rng.noncentral_chisquare(df, nonc, size),
        extremes=[((3.0, 0.0), lambda x: bool((x > 0).all()))],
        costly=("jax",),
    ),
    Distribution(
        "noncentral_f",
        [(3.5, 7.5, 2.0)],
        stats.ncf,
        numpy=lambda rng, dfnum, dfden, nonc, size: rng.noncentral_f(dfnum, dfden, nonc, size),
        costly=("jax",),
    ),
    Distribution("chisquare", [(3.5,)], stats.chi2, numpy=lambda rng, df, size: rng.chisquare(df, size), smooth=(0,)),
    Distribution(
        "gamma",
        [(2.5, 3.0)],
        lambda shape, rate: stats.gamma(shape, scale=1 / rate),
        numpy=lambda rng, shape, rate, size: rng.gamma(shape, 1 / rate, size),
        smooth=(0, 1),
    ),
    Distribution(
        "standard_gamma",
        [(2.5,)],
        stats.gamma,
        numpy=lambda rng, shape, size: rng.standard_gamma(shape, size),
        smooth=(0,),
    ),
]
