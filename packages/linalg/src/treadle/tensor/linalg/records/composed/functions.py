"""Records of functions of matrices that are composed of other functions."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

import numpy as np
from scipy import linalg

from treadle import tensor as tt
from treadle.testing.domain import UNIT
from treadle.testing.expressions import apart
from treadle.testing.operands import of_shape
from treadle.testing.sample import Sample

# An array, or a variable.
Matrix = TypeVar("Matrix", np.ndarray, tt.TensorVariable)

_apart = partial(apart, "composed.linear_algebra_functions", variants=("plain",))
_MATRIX = of_shape((3, 3), domain=UNIT)


def _positive(a: Matrix) -> Matrix:
    product: Matrix = a @ a.T + np.eye(3)
    return product


SAMPLES: tuple[Sample, ...] = (
    _apart("expm_frechet", tt.linalg.expm_frechet, linalg.expm_frechet, _MATRIX, _MATRIX),
    _apart(
        "solve_continuous_lyapunov",
        lambda a, q: tt.linalg.solve_continuous_lyapunov(a + 3 * np.eye(3), q),
        lambda a, q: linalg.solve_continuous_lyapunov(a + 3 * np.eye(3), q),
        _MATRIX,
        _MATRIX,
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
    ),
    *(
        _apart(name, getattr(tt.linalg, name), getattr(linalg, name), _MATRIX)
        for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")
    ),
    _apart(
        "fractional_matrix_power",
        lambda a: tt.linalg.fractional_matrix_power(a + 3 * np.eye(3), 0.3),
        lambda a: linalg.fractional_matrix_power(a + 3 * np.eye(3), 0.3),
        _MATRIX,
    ),
    # These functions read one triangle of Hermitian matrices, SciPy's read both.
    _apart(
        "sqrtm_hermitian",
        lambda a: tt.linalg.sqrtm(_positive(a), hermitian=True),
        lambda a: linalg.sqrtm(_positive(a)),
        _MATRIX,
    ),
    _apart(
        "logm_hermitian",
        lambda a: tt.linalg.logm(_positive(a), hermitian=True),
        lambda a: linalg.logm(_positive(a)),
        _MATRIX,
        wrt=(0,),
    ),
    _apart(
        "fractional_matrix_power_hermitian",
        lambda a: tt.linalg.fractional_matrix_power(_positive(a), -0.5, hermitian=True),
        lambda a: linalg.fractional_matrix_power(_positive(a), -0.5),
        _MATRIX,
    ),
    _apart(
        "funm",
        lambda a: tt.linalg.funm(_positive(a), tt.sin, hermitian=True),
        lambda a: linalg.sinm(_positive(a)),
        _MATRIX,
    ),
)
