"""Distributions of covariances, correlations and weights."""

from __future__ import annotations

import numpy as np
from scipy import special

import treadle.tensor as tt
from treadle.testing import Distribution

_SCALE = np.array([[2.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 1.5]])
_FEW = "Degrees of freedom must be greater"
_NOT_POSITIVE = "Matrix is not positive definite"
_ROWS = 4


def _of_wishart(df: float, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    crossed = np.einsum("ik,jl->ijkl", scale, scale)
    return df * scale, (df * (crossed + crossed.swapaxes(2, 3))).reshape(scale.size, scale.size)


def _of_inverse_wishart(df: float, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    over = df - len(scale)
    squares = np.outer(np.diag(scale), np.diag(scale))
    variances = ((over + 1) * scale**2 + (over - 1) * squares) / (over * (over - 1) ** 2 * (over - 3))
    return scale / (over - 1), variances.ravel()


def _of_correlations(eta: float) -> tuple[np.ndarray, np.ndarray]:
    # Off the diagonal 2 B - 1 of a number B of the distribution beta(a, a), a = eta + (n - 2) / 2.
    return np.eye(_ROWS), np.where(np.eye(_ROWS), 0.0, 1 / (2 * eta + _ROWS - 1)).ravel()


def _of_factors(eta: float) -> tuple[np.ndarray, np.ndarray]:
    mean, variances = np.eye(_ROWS), np.zeros((_ROWS, _ROWS))
    for k in range(1, _ROWS):
        a, b = eta + (_ROWS - 1 - k) / 2, k / 2
        mean[k, k] = np.exp(special.betaln(a + 0.5, b) - special.betaln(a, b))
        variances[k, :k] = 1 / (2 * (a + b))
        variances[k, k] = a / (a + b) - mean[k, k] ** 2
    return mean, variances.ravel()


def _of_weights(alpha: float) -> tuple[np.ndarray, np.ndarray]:
    part, left = 1 / (1 + alpha), alpha / (1 + alpha)
    part_square, left_square = 2 / ((1 + alpha) * (2 + alpha)), alpha / (2 + alpha)
    k = np.arange(4)
    mean = np.append(part * left**k, left**4)
    return mean, np.append(part_square * left_square**k, left_square**4) - mean**2


DISTRIBUTIONS = [
    Distribution(
        "wishart",
        [(5.5, _SCALE)],
        moments=_of_wishart,
        extremes=[
            ((3.0, [[1e-300]]), lambda x: bool((x >= 0).all())),
            ((2.01, np.eye(3)), lambda x: bool((np.abs(x - x.swapaxes(-1, -2)) < 1e-9).all())),
        ],
        invalid=[
            ((2.0, np.eye(3)), _FEW),
            ((np.nan, np.eye(2)), _FEW),
            ((4.0, [[1.0, 2.0], [2.0, 1.0]]), _NOT_POSITIVE),
        ],
        smooth=(1,),
    ),
    Distribution(
        "inverse_wishart",
        [(12.5, _SCALE)],
        moments=_of_inverse_wishart,
        invalid=[((2.0, np.eye(3)), _FEW), ((4.0, [[1.0, 2.0], [2.0, 1.0]]), _NOT_POSITIVE)],
        smooth=(1,),
        costly=("jax",),
    ),
    Distribution(
        "lkj_cholesky",
        [(1.5,)],
        moments=_of_factors,
        extremes=[
            ((1e12,), lambda x: bool((np.abs(x - np.eye(_ROWS)) < 1e-4).all())),
            ((1e-3,), lambda x: bool((np.abs((x**2).sum(-1) - 1) < 1e-12).all())),
        ],
        invalid=[((0.0,), "eta <= 0"), ((np.nan,), "eta <= 0")],
        make=lambda eta, **options: tt.random.lkj_cholesky(_ROWS, eta, **options),
    ),
    Distribution(
        "lkj_corr",
        [(1.5,), (0.6,)],
        moments=_of_correlations,
        extremes=[((1e12,), lambda x: bool((np.abs(x - np.eye(_ROWS)) < 1e-4).all()))],
        invalid=[((-1.0,), "eta <= 0")],
        make=lambda eta, **options: tt.random.lkj_corr(_ROWS, eta, **options),
        costly=("jax",),
    ),
    Distribution(
        "stick_breaking",
        [(1.7,)],
        moments=_of_weights,
        extremes=[((1e-12,), lambda x: bool(np.allclose(x, [1, 0, 0, 0, 0])))],
        invalid=[((-1.0,), "b <= 0")],
        make=lambda alpha, **options: tt.random.stick_breaking(alpha, 4, **options),
        costly=("jax",),
    ),
]
