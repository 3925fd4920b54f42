"""Records of Cholesky factors, and of solving with them."""

from __future__ import annotations

from functools import partial
from typing import Unpack

import numpy as np

from treadle import tensor as tt
from treadle.tensor.linalg.records.matrix_domains import (
    DOMINANT,
    FEW_OF_MATRICES,
    INEXACT,
    LOSSY,
    OF_MATRICES,
    POSITIVE_DEFINITE,
)
from treadle.testing.domain import UNIT, Array
from treadle.testing.operands import of_shape
from treadle.testing.sample import DISCRETE, FLOATS, Function, Operand, Sample, Traits, costly

F = "cholesky"
LEFT_OUT = dict.fromkeys((tt.Cholesky, tt.CholeskySolve), DISCRETE) | {
    tt.CholeskyPullback: (*DISCRETE, "complex64", "complex128")
}
linalg = tt.linalg
_MATRICES = of_shape((2, 3, 3), empty=(2, 0, 0), long=(2, 30, 30), domain=POSITIVE_DEFINITE)
_ONE = of_shape((4, 4), domain=POSITIVE_DEFINITE)
_FACTORS = of_shape((2, 3, 3), broadcast=(1, 3, 3), empty=(2, 0, 0), long=(2, 30, 30), domain=DOMINANT)
_COTANGENTS = of_shape((2, 3, 3), empty=(2, 0, 0), long=(1, 30, 30), domain=UNIT)
_SIDES = of_shape((2, 3, 2), broadcast=(2, 3, 1), empty=(2, 0, 2), long=(1, 30, 5), domain=UNIT)


def _of(name: str, build: Function, oracle: Function, *operands: Operand, **record: Unpack[Traits]) -> Sample:
    traits: Traits = {
        "dtypes": INEXACT, "variants": OF_MATRICES, "wrt": tuple(range(len(operands))), "tolerances": LOSSY,
        **record,
    }  # fmt: skip
    return Sample(name, F, build, oracle, operands, **traits)


def _solved(factor: Array, b: Array, lower: bool) -> Array:
    read = np.tril(factor) if lower else np.triu(factor).conj().swapaxes(-1, -2)
    return np.linalg.solve(read @ read.conj().swapaxes(-1, -2), b)


def _pulled_back(factor: Array, ct: Array, lower: bool) -> Array:
    """Return the gradient by A of sum(ct * factor), from the factor's derivative by each element that is read."""
    if not lower:
        return _pulled_back(factor.swapaxes(-1, -2), ct.swapaxes(-1, -2), lower=True).swapaxes(-1, -2)
    inverse = np.linalg.inv(np.tril(factor)).astype("float64")
    n = factor.shape[-1]
    result = np.zeros(np.broadcast_shapes(factor.shape, ct.shape))
    weights = np.tril(np.ones((n, n))) - np.eye(n) / 2
    for i in range(n):
        for j in range(i + 1):
            change = np.zeros((n, n))
            change[i, j] = change[j, i] = 1
            moved = np.tril(factor) @ (weights * (inverse @ change @ inverse.swapaxes(-1, -2)))
            result[..., i, j] = (ct * moved).sum((-1, -2))
    return result.astype(factor.dtype)


SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    _of("cholesky_lower", linalg.cholesky, np.linalg.cholesky, _MATRICES),
    _of("cholesky_upper", partial(linalg.cholesky, upper=True, check_finite=False),
        partial(np.linalg.cholesky, upper=True), _MATRICES, order=1),
    _of("cholesky_that_raises", partial(linalg.cholesky, on_error="raise"), np.linalg.cholesky, _ONE,
        variants=FEW_OF_MATRICES, order=1),
    _of("cholesky_pullback_lower", tt.CholeskyPullback(), partial(_pulled_back, lower=True), _FACTORS, _COTANGENTS,
        dtypes=FLOATS),
    _of("cholesky_pullback_upper", tt.CholeskyPullback(lower=False), partial(_pulled_back, lower=False), _FACTORS,
        _COTANGENTS, dtypes=FLOATS, order=1, variants=FEW_OF_MATRICES),
    _of("cholesky_solve_lower", lambda c, b: linalg.cho_solve((c, True), b), partial(_solved, lower=True), _FACTORS,
        _SIDES),
    _of("cholesky_solve_upper", lambda c, b: linalg.cho_solve((c, False), b, check_finite=False),
        partial(_solved, lower=False), _FACTORS, _SIDES, order=1),
)  # fmt: skip
