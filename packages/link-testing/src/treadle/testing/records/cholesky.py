"""Records of Cholesky factors, and of solutions by them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import UNIT
from treadle.testing.records.matrix_domains import (
    DOMINANT,
    FEW_OF_MATRICES,
    INEXACT,
    LOSSY,
    OF_MATRICES,
    POSITIVE_DEFINITE,
)
from treadle.testing.records.structured import of_shape
from treadle.testing.sample import DISCRETE, Sample

if TYPE_CHECKING:
    from typing import Unpack

    from treadle.testing.domain import Array
    from treadle.testing.sample import Function, Operand, Traits

F = "cholesky"
LEFT_OUT = dict.fromkeys((tt.Cholesky, tt.CholeskySolve), DISCRETE)
linalg = tt.linalg
_MATRICES = of_shape((2, 3, 3), empty=(2, 0, 0), long=(2, 30, 30), domain=POSITIVE_DEFINITE)
_ONE = of_shape((4, 4), domain=POSITIVE_DEFINITE)
_FACTORS = of_shape((2, 3, 3), broadcast=(1, 3, 3), empty=(2, 0, 0), long=(2, 30, 30), domain=DOMINANT)
_SIDES = of_shape((2, 3, 2), broadcast=(2, 3, 1), empty=(2, 0, 2), long=(1, 30, 5), domain=UNIT)


def _of(name: str, build: Function, oracle: Function, *operands: Operand, **record: Unpack[Traits]) -> Sample:
    given: Traits = {
        "dtypes": INEXACT, "variants": OF_MATRICES, "wrt": tuple(range(len(operands))), "tolerances": LOSSY,
        **record,
    }  # fmt: skip
    return Sample(name, F, build, oracle, operands, **given)


def _solved(factor: Array, b: Array, lower: bool) -> Array:
    read = np.tril(factor) if lower else np.triu(factor).conj().swapaxes(-1, -2)
    return np.linalg.solve(read @ read.conj().swapaxes(-1, -2), b)


SAMPLES: tuple[Sample, ...] = (
    _of("cholesky_lower", linalg.cholesky, np.linalg.cholesky, _MATRICES),
    _of("cholesky_upper", partial(linalg.cholesky, upper=True, check_finite=False),
        partial(np.linalg.cholesky, upper=True), _MATRICES, order=1),
    _of("cholesky_that_raises", partial(linalg.cholesky, on_error="raise"), np.linalg.cholesky, _ONE,
        variants=FEW_OF_MATRICES, order=1),
    _of("cholesky_solve_lower", lambda c, b: linalg.cho_solve((c, True), b), partial(_solved, lower=True), _FACTORS,
        _SIDES),
    _of("cholesky_solve_upper", lambda c, b: linalg.cho_solve((c, False), b, check_finite=False),
        partial(_solved, lower=False), _FACTORS, _SIDES, order=1),
)  # fmt: skip
