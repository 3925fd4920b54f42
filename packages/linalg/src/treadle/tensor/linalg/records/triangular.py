"""Records of triangular systems."""

from __future__ import annotations

from functools import partial
from typing import Unpack

import numpy as np

from treadle import tensor as tt
from treadle.tensor.linalg.records.matrix_domains import DOMINANT, FEW_OF_MATRICES, INEXACT, LOSSY, OF_MATRICES
from treadle.testing.domain import UNIT, Array
from treadle.testing.operands import of_shape
from treadle.testing.sample import DISCRETE, Function, Operand, Sample, Traits, costly

F = "triangular"
LEFT_OUT = {tt.SolveTriangular: DISCRETE}
_solve = tt.linalg.solve_triangular
_MATRICES = of_shape((2, 3, 3), broadcast=(1, 3, 3), empty=(2, 0, 0), long=(2, 30, 30), domain=DOMINANT)
_SIDES = of_shape((2, 3, 2), broadcast=(2, 3, 1), empty=(2, 0, 2), long=(1, 30, 5), domain=UNIT)
_ONE, _SIDE = of_shape((4, 4), domain=DOMINANT), of_shape((4, 3), domain=UNIT)


def _of(name: str, build: Function, oracle: Function, *operands: Operand, **record: Unpack[Traits]) -> Sample:
    traits: Traits = {
        "dtypes": INEXACT, "variants": OF_MATRICES, "wrt": (0, 1), "tolerances": LOSSY, **record,
    }  # fmt: skip
    return Sample(name, F, build, oracle, operands, **traits)


def _solved(a: Array, b: Array, lower: bool, unit: bool = False) -> Array:
    read = np.tril(a, -int(unit)) if lower else np.triu(a, int(unit))
    return np.linalg.solve(read + np.eye(a.shape[-1], dtype=a.dtype) if unit else read, b)


SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    _of("solve_triangular_upper", _solve, partial(_solved, lower=False), _MATRICES, _SIDES),
    _of("solve_triangular_lower", partial(_solve, lower=True, check_finite=False), partial(_solved, lower=True),
        _MATRICES, _SIDES, order=1),
    _of("solve_triangular_unit", partial(_solve, lower=True, unit_diagonal=True),
        partial(_solved, lower=True, unit=True), _ONE, _SIDE, variants=FEW_OF_MATRICES, order=1),
    _of("solve_triangular_unit_upper", partial(_solve, unit_diagonal=True),
        partial(_solved, lower=False, unit=True), _ONE, _SIDE, variants=FEW_OF_MATRICES, order=1),
    _of("solve_triangular_that_raises", partial(_solve, on_error="raise"), partial(_solved, lower=False), _ONE, _SIDE,
        variants=FEW_OF_MATRICES, order=1),
    _of("solve_triangular_adjoint", lambda a, b: _solve(a, b, "C"),
        lambda a, b: _solved(a.conj().T, b, lower=True), _ONE, _SIDE, variants=("plain",), order=1),
)  # fmt: skip
