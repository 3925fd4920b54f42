"""Distributions over categories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from treadle.testing import Distribution

# Means and covariances.
Moments = tuple[np.ndarray, np.ndarray]


_WEIGHTS = np.array([0.1, 0.0, 0.25, 0.45, 0.2])


def _of_multinomial(n: int, p: Sequence[float]) -> Moments:
    frozen = stats.multinomial(n, p)
    return frozen.mean(), frozen.cov()


def _of_dirichlet(alphas: Sequence[float]) -> Moments:
    frozen = stats.dirichlet(alphas)
    return frozen.mean(), frozen.cov()


def _of_hypergeometric(colors: Sequence[int], nsample: int) -> Moments:
    frozen = stats.multivariate_hypergeom(colors, nsample)
    return frozen.mean(), frozen.cov()


def _of_dirichlet_multinomial(n: int, a: Sequence[float]) -> Moments:
    frozen = stats.dirichlet_multinomial(a, n)
    return frozen.mean(), frozen.cov()


DISTRIBUTIONS = [
    Distribution(
        "categorical",
        [(_WEIGHTS,)],
        lambda p: stats.rv_discrete(values=(np.arange(len(p)), p)),
        numpy=lambda rng, p, size: rng.choice(len(p), size, p=p),
        shifts=(np.stack([_WEIGHTS, _WEIGHTS[::-1]])[:, None],),
        extremes=[
            (([1.0],), lambda x: bool((x == 0).all())),
            (([0.0, 1.0, 0.0],), lambda x: bool((x == 1).all())),
            (([0, 0, 1],), lambda x: bool((x == 2).all())),
            (([1e-300, 1.0],), lambda x: bool((x == 1).all())),
            ((np.full(3, 1 / 3, "float32"),), lambda x: set(x.tolist()) == {0, 1, 2}),
        ],
        invalid=[
            (([0.5, 0.6],), "Probabilities do not sum to 1"),
            (([0.5, 0.7, -0.2],), "Probabilities are not non-negative"),
            (([0.5, np.nan],), "Probabilities contain NaN"),
            (([0.25, 0.25],), "Probabilities do not sum to 1"),
        ],
    ),
    Distribution(
        "multinomial",
        [(20, _WEIGHTS), (2, [0.2, 0.8])],
        moments=_of_multinomial,
        numpy=lambda rng, n, p, size: rng.multinomial(n, p, size),
        extremes=[
            ((0, _WEIGHTS), lambda x: bool((x == 0).all())),
            ((9, [0.0, 1.0, 0.0]), lambda x: bool((x == [0, 9, 0]).all())),
            ((9, [1.0]), lambda x: bool((x == 9).all())),
            # The last category gets the remaining probability, as in NumPy.
            ((9, [0.0, 0.0]), lambda x: bool((x == [0, 9]).all())),
            ((10**12, [0.5, 0.5]), lambda x: bool((x.sum(-1) == 10**12).all())),
        ],
        invalid=[
            ((-1, [0.5, 0.5]), "n < 0"),
            ((3, [0.5, -0.5]), "pvals < 0, pvals > 1 or pvals contains NaNs"),
            ((3, [0.9, 0.9, 0.1]), "sum.pvals.:-1.. > 1.0"),
        ],
        costly=("jax",),
    ),
    Distribution(
        "multivariate_hypergeometric",
        [([6, 0, 9, 5], 8)],
        moments=_of_hypergeometric,
        numpy=lambda rng, colors, nsample, size: rng.multivariate_hypergeometric(colors, nsample, size),
        extremes=[
            (([4, 3], 0), lambda x: bool((x == 0).all())),
            (([4, 0, 3], 7), lambda x: bool((x == [4, 0, 3]).all())),
            (([7], 5), lambda x: bool((x == 5).all())),
        ],
        invalid=[
            (([3, 4], 8), "nsample > sum.colors."),
            (([3, -4], 1), "colors must be"),
            (([3, 4], -1), "nsample must be nonnegative"),
        ],
        costly=("jax",),
    ),
    Distribution(
        "dirichlet",
        [([0.5, 1.0, 4.0],), ([0.05, 0.02, 0.08],)],
        moments=_of_dirichlet,
        numpy=lambda rng, alphas, size: rng.dirichlet(alphas, size),
        extremes=[
            (([3.0],), lambda x: bool(np.allclose(x, 1.0))),
            (([0.0, 2.0],), lambda x: bool(np.allclose(x, [0.0, 1.0]))),
            (([1e-3, 1e-3],), lambda x: bool(np.isfinite(x).all() and np.allclose(x.sum(-1), 1.0))),
            (([1e8, 1e8],), lambda x: bool(np.allclose(x, 0.5, atol=1e-3))),
        ],
        invalid=[(([1.0, -1.0],), "alpha < 0")],
    ),
    Distribution(
        "dirichlet_multinomial",
        [(12, [0.7, 2.0, 3.0])],
        moments=_of_dirichlet_multinomial,
        numpy=lambda rng, n, a, size: rng.multinomial(n, rng.dirichlet(a, size)),
        extremes=[((0, [1.0, 2.0]), lambda x: bool((x == 0).all()))],
        invalid=[((-1, [1.0, 1.0]), "n < 0"), ((3, [1.0, -1.0]), "alpha < 0")],
        costly=("jax",),
    ),
]
