"""Systems of banded matrices, whose diagonals are rows: of A, row k of ab holds A[i, j] with i = j + k - u in column j.

Places of ab that lie outside of A are not read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import lazy_module
from treadle.graph import static_op
from treadle.tensor.conversion import constant, tensors
from treadle.tensor.dimshuffle import expand_dims
from treadle.tensor.fields import fix_integers
from treadle.tensor.joining import arange
from treadle.tensor.linear_systems import Solve
from treadle.tensor.matrix_op import REAL_OF, MatrixOp, as_on_error, require_finite
from treadle.tensor.product import stacked_term
from treadle.tensor.reduction import sum_
from treadle.tensor.scalar.arithmetic import add, maximum, minimum, mul, neg, sub
from treadle.tensor.scalar.cast import switch
from treadle.tensor.scalar.comparison import eq, ge, lt
from treadle.tensor.scalar.logic import bitwise_and
from treadle.tensor.shape import shape_i

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.linalg import lapack

    from treadle.graph import Variable
    from treadle.tensor.variable import TensorLike, TensorVariable
else:
    lapack = lazy_module("scipy.linalg.lapack")

__all__ = ["SolveBanded", "SolveHermitianBanded"]


@static_op
class SolveBanded(MatrixOp):
    """The solutions x of A x = b for banded matrices A, of which the diagonals are given, the uppermost first.

    Parameters
    ----------
    lower, upper
        How many diagonals there are below and above the main one.
    check_finite
        Whether NaN or infinities in a diagonal or a right side count as a failure.
    on_error
        What becomes of failures and singular matrices: ``"nan"`` or ``"raise"``.
    """

    lower: int
    upper: int
    check_finite: bool = True
    on_error: str = "nan"

    def __post_init__(self) -> None:
        """Bring the fields to one form."""
        fix_integers(self, "lower", "upper")
        as_on_error(str(self), self.on_error)

    @property
    def signature(self) -> str:  # type: ignore[override]  # depends on the number of diagonals
        """One row for each diagonal."""
        return f"({self.lower + self.upper + 1},m),(m,n)->(m,n)"

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Solve with LAPACK's gbsv."""
        ab, b = matrices
        ab = _inside(ab, self.upper)
        if self.check_finite:
            require_finite(ab, b)
        if not b.size:
            return (b,)
        # Rows above, for what pivoting fills.
        wide = np.concatenate([np.zeros((self.lower, ab.shape[1]), ab.dtype), ab])
        (gbsv,) = lapack.get_lapack_funcs(("gbsv",), (ab, b))
        *_, x, info = gbsv(self.lower, self.upper, wide, b)
        if info:
            msg = "the matrix is singular"
            raise np.linalg.LinAlgError(msg)
        return (x,)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Solve with the whole matrix."""
        ab, b = tensors(inputs)
        return [Solve(check_finite=self.check_finite, on_error=self.on_error)(_whole(ab, self.upper), b)]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve with the conjugate transpose; minus the products of that with x^H flow to the diagonals."""
        ab, b = tensors(inputs)
        turned = replace(self, lower=self.upper, upper=self.lower)
        # Its row k holds the diagonal that stands in row lower + upper - k of this one, moved.
        k, column = _rows_and_columns(ab)
        by_b = turned(_taken(ab[..., ::-1, :].conj(), k, column - self.lower + k), cotangents[0])
        by_ab = neg(_products(by_b, tensors(outputs)[0], ab, self.upper))
        return [stacked_term(by_ab, ab), stacked_term(by_b, b)]


@static_op
class SolveHermitianBanded(MatrixOp):
    """The solutions x of A x = b for Hermitian positive definite banded matrices, of which one triangle is given.

    Parameters
    ----------
    lower
        Whether the main diagonal and those below it are given, in this order; else those above it and the main one.
    check_finite
        Whether NaN or infinities in a diagonal or a right side count as a failure.
    on_error
        What becomes of failures and matrices that are not positive definite: ``"nan"`` or ``"raise"``.
    """

    lower: bool = False
    check_finite: bool = True
    on_error: str = "nan"

    signature = "(r,m),(m,n)->(m,n)"

    def __post_init__(self) -> None:
        """Check the fields."""
        as_on_error(str(self), self.on_error)

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Solve with LAPACK's pbsv."""
        ab, b = matrices
        ab = _inside(ab, 0 if self.lower else ab.shape[0] - 1)
        if self.check_finite:
            require_finite(ab, b)
        if not b.size:
            return (b,)
        (pbsv,) = lapack.get_lapack_funcs(("pbsv",), (ab, b))
        _, x, info = pbsv(ab, b, lower=self.lower)
        if info:
            msg = "the matrix is not positive definite"
            raise np.linalg.LinAlgError(msg)
        return (x,)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Solve with the whole matrix, of which the same triangle is read."""
        ab, b = tensors(inputs)
        solve = Solve("pos", self.lower, self.check_finite, self.on_error)
        return [solve(_whole(ab, self._above(ab)), b)]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve with the same matrix; elements beside the main diagonal stand for two of it."""
        ab, b = tensors(inputs)
        x, by_b, above = tensors(outputs)[0], self(ab, cotangents[0]), self._above(ab)
        both = add(_products(by_b, x, ab, above), _products(x, by_b, ab, above))
        half, one = (constant(n, dtype=REAL_OF[ab.dtype]) for n in (-0.5, -1))
        weights = switch(eq(_rows_and_columns(ab)[0], above), half, one)
        return [stacked_term(mul(both, weights), ab), stacked_term(by_b, b)]

    def _above(self, ab: TensorVariable) -> TensorLike:
        """Return how many diagonals are given above the main one."""
        return 0 if self.lower else sub(shape_i(ab, -2), 1)


def _inside(ab: np.ndarray, above: int) -> np.ndarray:
    """Return diagonals with zeros outside of the matrix."""
    k, column = np.ogrid[: ab.shape[0], : ab.shape[1]]
    row = column + k - above
    inside: np.ndarray = np.where((row >= 0) & (row < ab.shape[1]), ab, np.zeros((), ab.dtype))
    return inside


def _rows_and_columns(ab: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return the positions in both dimensions, as a column and a row."""
    return expand_dims(arange(shape_i(ab, -2)), 1), expand_dims(arange(shape_i(ab, -1)), 0)


def _taken(x: TensorVariable, row: TensorVariable, column: TensorVariable) -> TensorVariable:
    """Return the elements of matrices at positions, zero where these lie outside."""
    n, m = shape_i(x, -2), shape_i(x, -1)
    inside = bitwise_and(bitwise_and(ge(row, 0), lt(row, n)), bitwise_and(ge(column, 0), lt(column, m)))
    found = x[..., minimum(maximum(row, 0), n - 1), minimum(maximum(column, 0), m - 1)]
    made: TensorVariable = switch(inside, found, np.zeros((), x.dtype))
    return made


def _whole(ab: TensorVariable, above: TensorLike) -> TensorVariable:
    """Return the matrices of which diagonals are given."""
    place = arange(shape_i(ab, -1))
    row, column = expand_dims(place, 1), expand_dims(place, 0)
    return _taken(ab, add(sub(row, column), above), column)


def _products(w: TensorVariable, x: TensorVariable, ab: TensorVariable, above: TensorLike) -> TensorVariable:
    """Return the diagonals of w x^H, as many as are given."""
    k, column = _rows_and_columns(ab)
    row = sub(add(column, k), above)
    m = shape_i(ab, -1)
    found = w[..., minimum(maximum(row, 0), m - 1), :]
    summed = sum_(mul(found, expand_dims(x.conj(), -3)), axis=-1)
    made: TensorVariable = switch(bitwise_and(ge(row, 0), lt(row, m)), summed, np.zeros((), summed.dtype))
    return made
