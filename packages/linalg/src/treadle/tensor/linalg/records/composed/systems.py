"""Records of functions that solve with, invert and multiply square matrices by ops of other families."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import linalg

from treadle import tensor as tt
from treadle.testing.domain import UNIT, Array
from treadle.testing.expressions import apart
from treadle.testing.operands import of_shape
from treadle.testing.sample import Sample

_apart = partial(apart, "composed.linear_algebra_systems", variants=("plain",))
_MATRIX = of_shape((3, 3), domain=UNIT)
_STACK = of_shape((2, 3, 3), domain=UNIT)
_VECTORS = of_shape((2, 3))
_REGULAR = 3 * np.eye(3)


def _assuming(kind: str) -> Sample:
    def build(a: tt.TensorVariable, b: tt.TensorVariable) -> object:
        return tt.linalg.solve(a + _REGULAR, b, assume_a=kind, transposed=kind.startswith("upper"), b_ndim=1)

    def oracle(a: Array, b: Array) -> object:
        read = {"diagonal": (0, 0), "tridiagonal": (-1, 1), "upper triangular": (0, 2), "banded": (-2, 2)}[kind]
        band = np.triu(np.tril(a + _REGULAR, read[1]), read[0])
        return np.linalg.solve(band.T if kind.startswith("upper") else band, b[..., None])[..., 0]

    return _apart(f"solve_{kind.replace(' ', '_')}", build, oracle, _MATRIX, _VECTORS, wrt=(0, 1))


def _both(name: str, expression: Any, *operands: Any) -> Sample:
    return _apart(name, partial(expression, tt.linalg), partial(expression, np.linalg), *operands, wrt=(0,))


SAMPLES: tuple[Sample, ...] = (
    *map(_assuming, ("diagonal", "tridiagonal", "upper triangular", "banded")),
    _apart("inv_symmetric", lambda a: tt.linalg.inv(a + _REGULAR, assume_a="sym", lower=True),
           lambda a: linalg.inv(np.tril(a) + np.tril(a, -1).T + _REGULAR), _MATRIX, wrt=(0,)),
    _both("matrix_power", lambda xp, a: xp.matrix_power(a, 5), _STACK),
    _both("matrix_power_negative", lambda xp, a: xp.matrix_power(a + _REGULAR, -3), _STACK),
    _both("tensorinv", lambda xp, a: xp.tensorinv(a, 1), of_shape((6, 2, 3))),
    _both("tensorsolve", lambda xp, a: xp.tensorsolve(a, np.ones((2, 3)), axes=(0,)), of_shape((6, 2, 3))),
)  # fmt: skip
