"""Records of systems of banded matrices."""

from __future__ import annotations

from functools import partial
from typing import Unpack

import numpy as np
from scipy.linalg import get_lapack_funcs

from treadle import tensor as tt
from treadle.tensor.linalg.records.matrix_domains import (
    DOMINANT_BELOW,
    FEW_OF_MATRICES,
    INEXACT,
    LOSSY,
    OF_MATRICES,
    Diagonals,
)
from treadle.testing.domain import UNIT, Array
from treadle.testing.operands import of_shape
from treadle.testing.sample import DISCRETE, Function, Operand, Sample, Traits, costly

F = "banded"
linalg = tt.linalg
LEFT_OUT = dict.fromkeys(
    (tt.SolveBanded, tt.SolveHermitianBanded, tt.LUFactorTridiagonal, tt.SolveLUFactorTridiagonal), DISCRETE
)
_SIDES = of_shape((2, 5, 2), broadcast=(2, 5, 1), empty=(2, 0, 2), long=(1, 17, 3), domain=UNIT)


def _diagonals(n: int, main: int) -> Operand:
    return of_shape((2, n, 5), broadcast=(1, n, 5), empty=(2, n, 0), long=(2, n, 17), domain=Diagonals(main=main))


# Their gradients are those of the other records' ops, or are tested on the Python VM alone.
_VALUES: Traits = {"kinds": ("values",), "variants": FEW_OF_MATRICES, "dtypes": ("float32", "float64", "complex128")}
_FEW: Traits = {"kinds": ("values",), "variants": FEW_OF_MATRICES, "dtypes": ("float64",)}
# Most of their rows are exchanged for the next.
_EXCHANGED = of_shape((2, 5, 5), domain=DOMINANT_BELOW)


def _of(name: str, build: Function, oracle: Function, *operands: Operand, **record: Unpack[Traits]) -> Sample:
    traits: Traits = {
        "dtypes": INEXACT, "variants": OF_MATRICES, "wrt": (0, 1), "tolerances": LOSSY, **record,
    }  # fmt: skip
    return Sample(name, F, build, oracle, operands, **traits)


def _whole(ab: Array, above: int, hermitian: bool = False) -> Array:
    n = ab.shape[-1]
    matrix = np.zeros((*ab.shape[:-2], n, n), ab.dtype)
    for k in range(ab.shape[-2]):
        for j in range(n):
            i = j + k - above
            if 0 <= i < n:
                matrix[..., i, j] = ab[..., k, j]
                if hermitian:
                    matrix[..., j, i] = ab[..., k, j].conj() if i != j else ab[..., k, j].real
    return matrix


def _solved(ab: Array, b: Array, above: int, hermitian: bool = False) -> Array:
    return np.linalg.solve(_whole(ab, above, hermitian), b)


def _tridiagonal(x: Array) -> Array:
    return np.triu(np.tril(x, 1), -1)


def _factors(x: Array) -> tuple[Array, ...]:
    """Return LAPACK's factors of each matrix, stacked."""
    (gttrf,) = get_lapack_funcs(("gttrf",), (x,))
    factors = [gttrf(*(a.diagonal(k) for k in (-1, 0, 1)))[:5] for a in x]
    return tuple(np.array(part) for part in zip(*factors, strict=True))


SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    _of("solve_banded", partial(linalg.solve_banded, (2, 1)), partial(_solved, above=1), _diagonals(4, 1), _SIDES),
    _of("solve_banded_that_raises", partial(linalg.solve_banded, (0, 2), on_error="raise", check_finite=False),
        partial(_solved, above=2), _diagonals(3, 2), _SIDES, **_FEW),
    _of("solveh_banded_upper", linalg.solveh_banded, partial(_solved, above=2, hermitian=True), _diagonals(3, 2),
        _SIDES),
    _of("solveh_banded_lower", partial(linalg.solveh_banded, lower=True), partial(_solved, above=0, hermitian=True),
        _diagonals(2, 0), _SIDES, **_FEW),
    _of("tridiagonal_lu_factor", linalg.tridiagonal_lu_factor, _factors, _EXCHANGED, **_VALUES),
    _of("tridiagonal_lu_solve", lambda a, b: linalg.tridiagonal_lu_solve(linalg.tridiagonal_lu_factor(a), b, b_ndim=2),
        lambda a, b: np.linalg.solve(_tridiagonal(a), b), _EXCHANGED, _SIDES, **_VALUES),
    _of("tridiagonal_lu_solve_transposed",
        lambda a, b: linalg.tridiagonal_lu_solve(linalg.tridiagonal_lu_factor(a), b, b_ndim=2, transposed=True),
        lambda a, b: np.linalg.solve(_tridiagonal(a).swapaxes(-1, -2), b), _EXCHANGED, _SIDES, **_FEW),
)  # fmt: skip
