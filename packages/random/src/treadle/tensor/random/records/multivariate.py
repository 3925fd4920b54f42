"""Distributions of vectors and matrices that are composed of normal draws."""

from __future__ import annotations

import numpy as np

from treadle.testing import Distribution

_MEAN = np.array([1.0, -2.0, 0.5])
_COV = np.array([[2.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 1.5]])
_ROWS = np.array([[1.0, 0.4], [0.4, 2.0]])
_NOT_POSITIVE = [[1.0, 2.0], [2.0, 1.0]]
_TEXT = "Matrix is not positive definite"

DISTRIBUTIONS = [
    Distribution(
        "multivariate_normal",
        [(_MEAN, _COV)],
        moments=lambda mean, cov: (mean, cov),
        shifts=(np.stack([_MEAN, -_MEAN])[:, None], np.stack([_COV, 2 * _COV, 3 * _COV])),
        extremes=[
            (([2.0], [[1e-300]]), lambda x: bool((x == 2.0).all())),
            (([0.0], [[1e300]]), lambda x: bool(np.isfinite(x).all() and (abs(x) > 1e140).any())),
        ],
        invalid=[(([0.0, 0.0], _NOT_POSITIVE), _TEXT), (([0.0], [[-1.0]]), _TEXT), (([0.0], [[np.nan]]), _TEXT)],
        smooth=(0, 1),
    ),
    Distribution(
        "multivariate_t",
        [(_MEAN, _COV, 7.0)],
        moments=lambda loc, shape, df: (loc, shape * df / (df - 2)),
        extremes=[
            (([2.0], [[1e-300]], 30.0), lambda x: bool((x == 2.0).all())),
            (([0.0, 0.0], np.eye(2), np.inf), lambda x: bool((abs(x) < 6).all())),
        ],
        invalid=[(([0.0, 0.0], _NOT_POSITIVE, 3.0), _TEXT), (([0.0], [[1.0]], -1.0), "df <= 0")],
        costly=("jax",),
    ),
    Distribution(
        "multivariate_laplace",
        [(_MEAN, _COV)],
        moments=lambda mean, cov: (mean, cov),
        extremes=[(([2.0], [[1e-300]]), lambda x: bool((x == 2.0).all()))],
        invalid=[(([0.0, 0.0], _NOT_POSITIVE), _TEXT)],
        smooth=(0, 1),
    ),
    Distribution(
        "matrix_normal",
        [(np.stack([_MEAN, 2 * _MEAN]), _ROWS, _COV)],
        moments=lambda mean, rowcov, colcov: (mean, np.kron(rowcov, colcov)),
        extremes=[(([[2.0]], [[1e-300]], [[4.0]]), lambda x: bool((x == 2.0).all()))],
        invalid=[(([[0.0, 0.0]], [[1.0]], _NOT_POSITIVE), _TEXT), (([[0.0], [0.0]], _NOT_POSITIVE, [[1.0]]), _TEXT)],
        smooth=(0, 1, 2),
    ),
]
