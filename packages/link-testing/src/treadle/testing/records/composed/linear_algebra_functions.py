"""Records of functions of matrices that are put together of others."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import linalg

from treadle import tensor as tt
from treadle.testing.domain import UNIT
from treadle.testing.records.composed.areas import apart
from treadle.testing.records.structured import of_shape
from treadle.testing.sample import Sample

_apart = partial(apart, "composed.linear_algebra_functions", variants=("plain",), optional=True)
_MATRIX = of_shape((3, 3), domain=UNIT)

SAMPLES: tuple[Sample, ...] = (
    _apart("expm_frechet", tt.linalg.expm_frechet, linalg.expm_frechet, _MATRIX, _MATRIX, wrt=(0, 1)),
    _apart(
        "solve_continuous_lyapunov",
        lambda a, q: tt.linalg.solve_continuous_lyapunov(a + 3 * np.eye(3), q),
        lambda a, q: linalg.solve_continuous_lyapunov(a + 3 * np.eye(3), q),
        _MATRIX,
        _MATRIX,
        wrt=(0, 1),
    ),
    _apart(
        "solve_discrete_lyapunov",
        tt.linalg.solve_discrete_lyapunov,
        linalg.solve_discrete_lyapunov,
        _MATRIX,
        _MATRIX,
        wrt=(0, 1),
    ),
    _apart(
        "solve_discrete_lyapunov_direct",
        lambda a, q: tt.linalg.solve_discrete_lyapunov(a, q, "direct"),
        linalg.solve_discrete_lyapunov,
        _MATRIX,
        _MATRIX,
        wrt=(0, 1),
    ),
)
