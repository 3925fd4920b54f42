"""Write docs/matrix_accuracy.tsv: how far linear algebra is from exact values on ill-conditioned matrices, per backend.

Matrices are Hilbert's, nearly singular ones, and graded ones, whose elements differ by orders of magnitude; all are
positive definite. A result is compared with mpmath's as a whole: the norm of the difference by the norm of the exact
result, in units of the condition number times the machine epsilon. Add a function by a row of `FUNCTIONS`.
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
from scipy.linalg import hilbert

import treadle.tensor as tt
from tools.accuracy import DTYPES, PRECISION
from treadle.compile import BACKENDS, function
from treadle.config import config
from treadle.tensor import linalg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from treadle.tensor import TensorVariable

    Matrix = NDArray[np.floating]

TABLE = Path(__file__).resolve().parents[1] / "docs" / "matrix_accuracy.tsv"
COLUMNS = ("function", "matrices", "dtype", "backend", "error", "condition", "at")
# Matrices that are singular to rounding are left out: a result may lose at most this much.
MOST_LOST = 0.01


def _near(k: int) -> Matrix:
    return np.ones((5, 5)) + 10.0**-k * np.diag(np.arange(1.0, 6.0))


def _graded(n: int) -> Matrix:
    scale = 10.0 ** -np.arange(n)
    return scale[:, None] * (np.eye(n) + 0.1) * scale


# Each family, by a number: the length, or how near the matrices are to a singular one.
MATRICES: Mapping[str, Mapping[int, Matrix]] = {
    "hilbert": {n: hilbert(n) for n in range(4, 11)},
    "near_singular": {k: _near(k) for k in range(2, 13, 2)},
    "graded": {n: _graded(n) for n in range(3, 8)},
}


@dataclass(frozen=True, slots=True)
class Function:
    """A function that is measured.

    Attributes
    ----------
    name
        The public name.
    build
        Takes the variable, returns the result.
    exact
        The same of an mpmath matrix.
    is_well_conditioned
        Whether the condition of the matrix does not matter: the unit is the machine epsilon then.
    """

    name: str
    build: Callable[[TensorVariable], TensorVariable]
    exact: Callable[[mpmath.matrix], mpmath.matrix | mpmath.mpf]
    is_well_conditioned: bool = False


def _right(a: mpmath.matrix) -> mpmath.matrix:
    return mpmath.matrix([[i + 1] for i in range(a.rows)])


def _counted(x: TensorVariable) -> TensorVariable:
    return tt.arange(1, x.shape[0] + 1, dtype=x.dtype)


def _triangle(a: mpmath.matrix) -> mpmath.matrix:
    """Return R of the factors Q R, with a positive diagonal."""
    _, r = mpmath.qr(a)
    return mpmath.diag([mpmath.sign(r[i, i]) for i in range(a.rows)]) * r


def _positive_triangle(x: TensorVariable) -> TensorVariable:
    r: Any = linalg.qr(x, mode="r")
    upper: TensorVariable = r[0] if isinstance(r, tuple) else r
    return upper * tt.sign(tt.diagonal(upper))[:, None]


def _least_squares(a: mpmath.matrix) -> mpmath.matrix:
    tall = _doubled(a)
    right = mpmath.matrix([[i + 1] for i in range(a.rows)] * 2)
    return mpmath.lu_solve(tall.T * tall, tall.T * right)


def _doubled(a: mpmath.matrix) -> mpmath.matrix:
    return mpmath.matrix([*a.tolist(), *a.tolist()])


def _lstsq(x: TensorVariable) -> TensorVariable:
    right = tt.concatenate([_counted(x)] * 2)
    solution = linalg.lstsq(tt.concatenate([x, x]), right)
    return solution[0]


FUNCTIONS: tuple[Function, ...] = (
    Function("cholesky", linalg.cholesky, mpmath.cholesky),
    Function("solve", lambda x: linalg.solve(x, _counted(x)), lambda a: mpmath.lu_solve(a, _right(a))),
    Function("solve_pos", lambda x: linalg.solve(x, _counted(x), assume_a="pos"),
             lambda a: mpmath.lu_solve(a, _right(a))),
    Function("inv", linalg.inv, lambda a: a**-1),
    Function("det", linalg.det, mpmath.det),
    Function("slogdet", lambda x: linalg.slogdet(x).logabsdet, lambda a: mpmath.log(mpmath.det(a))),
    Function("eigh", lambda x: linalg.eigh(x)[0], lambda a: mpmath.eigsy(a, eigvals_only=True), True),
    Function("svd", lambda x: linalg.svd(x)[1], lambda a: mpmath.svd_r(a, compute_uv=False), True),
    Function("qr", _positive_triangle, _triangle),
    Function("lstsq", _lstsq, _least_squares),
    Function("expm", linalg.expm, mpmath.expm, True),
)  # fmt: skip


def measure(each: Function, family: str, dtype: str, modes: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Measure a function on backends; return the row of the largest error on each."""
    epsilon = float(np.finfo(dtype).eps)
    cases: list[tuple[int, Matrix, Matrix, float]] = []
    for number, matrix in MATRICES[family].items():
        value = matrix.astype(dtype)
        with mpmath.workdps(PRECISION):
            whole = mpmath.matrix(value.tolist())
            sizes = mpmath.svd_r(whole, compute_uv=False)
            least = sizes[len(sizes) - 1]
            condition = float(sizes[0] / least) if least else np.inf
            if condition * epsilon < MOST_LOST:
                solution = each.exact(whole)
                numbers = solution.tolist() if isinstance(solution, mpmath.matrix) else solution
                exact = np.array(numbers, dtype=float)
                cases.append((number, value, exact, condition))
    x = tt.matrix("x", dtype=dtype)
    for mode in modes:
        try:
            # The kernels are the same whether or not PyTorch compiles the code between them.
            with config.change_flags(torch__compile=False):
                f = function([x], each.build(x), mode=mode.upper())
        except NotImplementedError:
            continue
        errors = []
        for number, value, exact, condition in cases:
            result = np.asarray(f(value), dtype=float).reshape(exact.shape)
            unit = epsilon * (1 if each.is_well_conditioned else condition)
            error = float(np.linalg.norm(result - exact) / np.linalg.norm(exact)) / unit
            errors.append((error, condition, number))
        error, condition, number = max(errors)
        yield each.name, family, dtype, mode, f"{error:.2g}", f"{condition:.2g}", str(number)


def main() -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backends", nargs="*", default=BACKENDS.names(), help="names of backends")
    parser.add_argument("--functions", nargs="*", default=[each.name for each in FUNCTIONS], help="names of functions")
    options = parser.parse_args()
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    if TABLE.exists():
        with TABLE.open(encoding="utf-8", newline="") as file:
            known = {tuple(row[:4]): tuple(row) for row in list(csv.reader(file, delimiter="\t"))[1:]}
    for each in FUNCTIONS:
        if each.name in options.functions:
            for family in MATRICES:
                for dtype in DTYPES:
                    for row in measure(each, family, dtype, options.backends):
                        known[row[:4]] = row
                        print(*row, flush=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows([COLUMNS, *sorted(known.values())])
    return 0


if __name__ == "__main__":
    sys.exit(main())
