"""Distributions of counts that are composed of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special, stats

from treadle.testing import Distribution

_PSI = "psi < 0, psi > 1 or psi is NaN"
_CUTS = np.array([-1.0, 0.5, 2.0])
# Larger than any count drawn from the distributions below.
_MOST = 400


def _categories(p: np.ndarray) -> Any:
    return stats.rv_discrete(values=(np.arange(len(p)), p / p.sum()))


def _inflated(of: Callable[..., Any]) -> Callable[..., Any]:
    """Return the oracle of a zero-inflated distribution."""

    def oracle(psi: float, *parameters: float) -> Any:
        p = psi * of(*parameters).pmf(np.arange(_MOST))
        p[0] += 1 - psi
        return _categories(p)

    return oracle


def _truncated_poisson(mu: float) -> Any:
    p = stats.poisson(mu).pmf(np.arange(_MOST))
    p[0] = 0
    return _categories(p)


def _hurdle_poisson(psi: float, mu: float) -> Any:
    p = stats.poisson(mu).pmf(np.arange(_MOST))
    p[0] = 0
    p *= psi / p.sum()
    p[0] = 1 - psi
    return _categories(p)


def _ordered(cdf: Callable[..., np.ndarray], eta: float, cutpoints: Sequence[float], sigma: float = 1.0) -> Any:
    at = (np.asarray(cutpoints) - eta) / sigma
    return _categories(np.diff(np.concatenate([[0.0], cdf(at), [1.0]])))


DISTRIBUTIONS = [
    Distribution(
        "betanbinom",
        [(4, 6.0, 3.0)],
        stats.betanbinom,
        numpy=lambda rng, n, a, b, size: rng.negative_binomial(n, rng.beta(a, b, size), size),
        invalid=[((0, 1.0, 1.0), "n <= 0"), ((2, 0.0, 1.0), "a <= 0")],
        costly=("jax",),
    ),
    Distribution(
        "discrete_uniform",
        [(-3, 4)],
        lambda lower, upper: stats.randint(lower, upper + 1),
        numpy=lambda rng, lower, upper, size: rng.integers(lower, upper + 1, size),
        extremes=[((5, 5), lambda x: bool((x == 5).all()))],
        invalid=[((5, 4), "low >= high")],
        exact=True,
    ),
    Distribution(
        "dlaplace",
        [(0.8,)],
        stats.dlaplace,
        extremes=[((50.0,), lambda x: bool((x == 0).all()))],
        invalid=[((0.0,), "a <= 0 or a is NaN")],
    ),
    Distribution(
        "hurdle_poisson",
        [(0.7, 1.5)],
        _hurdle_poisson,
        extremes=[((0.0, 3.0), lambda x: bool((x == 0).all())), ((1.0, 1e-12), lambda x: bool((x == 1).all()))],
        invalid=[((1.5, 1.0), _PSI), ((0.5, -1.0), "mu < 0 or mu is NaN")],
        costly=("jax",),
    ),
    Distribution(
        "ordered_logistic",
        [(0.3, _CUTS)],
        lambda eta, cutpoints: _ordered(special.expit, eta, cutpoints),
        extremes=[
            ((1e300, _CUTS), lambda x: bool((x == 3).all())),
            ((-1e300, _CUTS), lambda x: bool((x == 0).all())),
            ((0.0, np.zeros(0)), lambda x: bool((x == 0).all())),
        ],
    ),
    Distribution(
        "ordered_probit",
        [(0.3, _CUTS, 1.5)],
        lambda eta, cutpoints, sigma: _ordered(special.ndtr, eta, cutpoints, sigma),
        extremes=[((1.0, _CUTS, 0.0), lambda x: bool((x == 2).all()))],
        invalid=[((0.0, _CUTS, -1.0), "scale < 0")],
    ),
    Distribution(
        "planck",
        [(0.4,)],
        stats.planck,
        numpy=lambda rng, lambda_, size: rng.geometric(-np.expm1(-lambda_), size) - 1,
        extremes=[((60.0,), lambda x: bool((x == 0).all()))],
        invalid=[((0.0,), "lambda_ <= 0 or lambda_ is NaN")],
    ),
    Distribution(
        "skellam",
        [(4.0, 2.5)],
        stats.skellam,
        numpy=lambda rng, mu1, mu2, size: rng.poisson(mu1, size) - rng.poisson(mu2, size),
        extremes=[((0.0, 0.0), lambda x: bool((x == 0).all()))],
        invalid=[((-1.0, 1.0), "lam < 0 or lam is NaN"), ((1.0, -1.0), "lam < 0 or lam is NaN")],
        costly=("jax",),
    ),
    Distribution(
        "yulesimon",
        [(2.5,)],
        stats.yulesimon,
        extremes=[((1e12,), lambda x: bool((x == 1).all()))],
        invalid=[((0.0,), "alpha <= 0 or alpha is NaN")],
        costly=("jax",),
    ),
    Distribution(
        "zero_inflated_binomial",
        [(0.6, 10, 0.3)],
        _inflated(stats.binom),
        extremes=[((0.0, 10, 1.0), lambda x: bool((x == 0).all())), ((1.0, 10, 1.0), lambda x: bool((x == 10).all()))],
        invalid=[((-0.1, 10, 0.3), _PSI), ((0.5, -1, 0.3), "n < 0")],
        costly=("jax",),
    ),
    Distribution(
        "zero_inflated_negative_binomial",
        [(0.6, 3.0, 0.4)],
        _inflated(stats.nbinom),
        invalid=[((2.0, 3.0, 0.4), _PSI), ((0.5, 3.0, 0.0), "p <= 0, p > 1 or p contains NaNs")],
        costly=("jax",),
    ),
    Distribution(
        "zero_inflated_poisson",
        [(0.6, 3.0)],
        _inflated(stats.poisson),
        extremes=[((0.0, 3.0), lambda x: bool((x == 0).all()))],
        invalid=[((float("nan"), 3.0), _PSI), ((0.5, -3.0), "lam < 0 or lam is NaN")],
        costly=("jax",),
    ),
    Distribution(
        "zero_truncated_poisson",
        [(0.7,), (30.0,)],
        _truncated_poisson,
        extremes=[((0.0,), lambda x: bool((x == 1).all())), ((1e12,), lambda x: bool((abs(x - 1e12) < 1e8).all()))],
        invalid=[((-1.0,), "mu < 0 or mu is NaN")],
        costly=("jax",),
    ),
]
