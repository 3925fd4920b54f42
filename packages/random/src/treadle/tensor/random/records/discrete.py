"""Discrete distributions on the integers."""

from __future__ import annotations

from scipy import stats

from treadle.testing import Distribution

_P = "p < 0, p > 1 or p is NaN"
_P_ABOVE_0 = "p <= 0, p > 1 or p contains NaNs"

DISTRIBUTIONS = [
    Distribution(
        "bernoulli",
        [(0.3,)],
        stats.bernoulli,
        numpy=lambda rng, p, size: rng.binomial(1, p, size),
        extremes=[((0.0,), lambda x: bool((x == 0).all())), ((1.0,), lambda x: bool((x == 1).all()))],
        invalid=[((-0.1,), _P), ((1.1,), _P), ((float("nan"),), _P)],
        exact=True,
    ),
    Distribution(
        "binomial",
        [(10, 0.3), (1000, 0.4), (50, 0.9)],
        stats.binom,
        numpy=lambda rng, n, p, size: rng.binomial(n, p, size),
        extremes=[
            ((0, 0.5), lambda x: bool((x == 0).all())),
            ((7, 0.0), lambda x: bool((x == 0).all())),
            ((7, 1.0), lambda x: bool((x == 7).all())),
            ((10**12, 0.5), lambda x: bool((abs(x - 5 * 10**11) < 10**7).all())),
            ((10**6, 1e-12), lambda x: bool((x == 0).mean() > 0.99)),
        ],
        invalid=[((-1, 0.5), "n < 0"), ((3, -0.1), _P), ((3, 1.1), _P), ((3, float("nan")), _P)],
    ),
    Distribution(
        "betabinom",
        [(10, 2.0, 3.0)],
        stats.betabinom,
        numpy=lambda rng, n, a, b, size: rng.binomial(n, rng.beta(a, b, size), size),
        extremes=[((0, 2.0, 3.0), lambda x: bool((x == 0).all())), ((5, 1e8, 1e-2), lambda x: bool((x == 5).all()))],
        invalid=[((3, -1.0, 1.0), "a <= 0"), ((3, 1.0, 0.0), "b <= 0"), ((-1, 1.0, 1.0), "n < 0")],
        costly=("jax",),
    ),
    Distribution(
        "geometric",
        [(0.25,), (0.7,)],
        stats.geom,
        numpy=lambda rng, p, size: rng.geometric(p, size),
        extremes=[
            ((1.0,), lambda x: bool((x == 1).all())),
            ((1e-10,), lambda x: bool(((x > 10**3) & (x < 10**13)).all())),
        ],
        invalid=[((0.0,), _P_ABOVE_0), ((1.5,), _P_ABOVE_0)],
    ),
    Distribution(
        "hypergeometric",
        [(15, 10, 7), (600, 400, 100)],
        lambda ngood, nbad, nsample: stats.hypergeom(ngood + nbad, ngood, nsample),
        numpy=lambda rng, ngood, nbad, nsample, size: rng.hypergeometric(ngood, nbad, nsample, size),
        extremes=[
            ((5, 0, 3), lambda x: bool((x == 3).all())),
            ((0, 5, 3), lambda x: bool((x == 0).all())),
            ((4, 6, 10), lambda x: bool((x == 4).all())),
            ((4, 6, 0), lambda x: bool((x == 0).all())),
        ],
        invalid=[((-1, 5, 1), "ngood < 0"), ((5, -1, 1), "nbad < 0"), ((2, 2, 5), "nbad < nsample")],
    ),
    Distribution(
        "integers",
        [(-3, 9)],
        stats.randint,
        numpy=lambda rng, low, high, size: rng.integers(low, high, size),
        extremes=[
            ((4, 5), lambda x: bool((x == 4).all())),
            ((-(2**63), 2**63 - 1), lambda x: bool(len(set(x.ravel().tolist())) == x.size)),
        ],
        invalid=[((2, 2), "low >= high"), ((5, 2), "low >= high")],
        exact=True,
    ),
    Distribution(
        "logseries",
        [(0.6,), (0.99,)],
        stats.logser,
        numpy=lambda rng, p, size: rng.logseries(p, size),
        extremes=[((1e-9,), lambda x: bool((x == 1).all()))],
        invalid=[((1.0,), "p < 0, p >= 1 or p is NaN"), ((-0.1,), "p < 0, p >= 1 or p is NaN")],
    ),
    Distribution(
        "negative_binomial",
        [(4.0, 0.4), (0.3, 0.2)],
        stats.nbinom,
        numpy=lambda rng, n, p, size: rng.negative_binomial(n, p, size),
        extremes=[((5.0, 1.0), lambda x: bool((x == 0).all()))],
        invalid=[((0.0, 0.5), "n <= 0"), ((1.0, 0.0), _P_ABOVE_0), ((1.0, 1.5), _P_ABOVE_0)],
        costly=("jax",),
    ),
    Distribution(
        "poisson",
        [(3.5,), (40.0,)],
        stats.poisson,
        numpy=lambda rng, lam, size: rng.poisson(lam, size),
        extremes=[((0.0,), lambda x: bool((x == 0).all())), ((1e15,), lambda x: bool((abs(x - 1e15) < 1e9).all()))],
        invalid=[
            ((-1.0,), "lam < 0 or lam is NaN"),
            ((float("nan"),), "lam < 0 or lam is NaN"),
            ((1e300,), "lam value too large"),
        ],
    ),
    Distribution(
        "zipf",
        [(2.5,)],
        stats.zipf,
        numpy=lambda rng, a, size: rng.zipf(a, size),
        extremes=[((2000.0,), lambda x: bool((x == 1).all()))],
        invalid=[((1.0,), "a <= 1 or a is NaN")],
    ),
]
