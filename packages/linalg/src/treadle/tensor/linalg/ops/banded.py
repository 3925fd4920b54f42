"""Systems of banded and tridiagonal matrices.

Diagonals of banded ones are rows of ab, which holds A[i, j] in row i - j + u of column j. Places outside of A are not
read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import lazy_module
from treadle.graph import static_op
from treadle.tensor.arrangement.diagonals import AllocDiag, diagonal
from treadle.tensor.arrangement.triangles import tril
from treadle.tensor.elementwise.arithmetic import add, maximum, minimum, mul, neg, sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, lt
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.errors import ShapeError
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.linalg.ops.linear_systems import Solve
from treadle.tensor.linalg.ops.lu import LUFactor, LUSolve
from treadle.tensor.linalg.ops.matrix_op import REAL_OF, MatrixOp, pullback_of_parts, require_finite
from treadle.tensor.ops.fields import fix_integers
from treadle.tensor.products.product import stacked_term
from treadle.tensor.reductions.reduction import min_, sum_
from treadle.tensor.shapes.broadcasting import broadcast_to, zeros_like
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import lengths, shape_i
from treadle.tensor.shapes.shape_specification import specify_shape
from treadle.tensor.types.conversion import constant, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.linalg import lapack

    from treadle.graph import Apply, Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable
else:
    lapack = lazy_module("scipy.linalg.lapack")

__all__ = ["LUFactorTridiagonal", "SolveBanded", "SolveHermitianBanded", "SolveLUFactorTridiagonal"]


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
        super().__post_init__()
        fix_integers(self, "lower", "upper")

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
        ab = specify_shape(ab, (*[None] * (ab.ndim - 2), self.lower + self.upper + 1, None))
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


@static_op
class LUFactorTridiagonal(MatrixOp):
    """The LU factors of tridiagonal matrices: from the diagonals below, on and above the main one.

    Results are what LAPACK's gttrf makes: the factors by which rows are taken off the next one, the three diagonals of
    U, and pivots: i + 1 where row i stays, i + 2 where it is exchanged for the next. A singular matrix has factors
    with a zero on the diagonal of U.
    """

    signature = "(k),(m),(k)->(k),(m),(k),(m-2),(m)"

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the dtype for the factors, and int32 for the pivots."""
        return [dtype, dtype, dtype, dtype, "int32"]

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Factor with LAPACK's gttrf."""
        below, main, above = matrices
        n = main.size
        _check_shorter(self, below, n, 1)
        if not n:
            return below, main, above, above, np.zeros(0, "int32")
        (gttrf,) = lapack.get_lapack_funcs(("gttrf",), (main,))
        # SciPy's interface takes three rows or more: those of the identity change nothing.
        more = max(0, 3 - n)
        low, up, up1, up2, pivots, _ = gttrf(
            np.pad(below, (0, more)), np.pad(main, (0, more), constant_values=1), np.pad(above, (0, more))
        )
        return low[: n - 1], up[:n], up1[: n - 1], up2[: max(n - 2, 0)], pivots[:n]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Factor the whole matrix."""
        below, main, above = tensors(inputs)
        n = shape_i(main, -1)
        whole = add(AllocDiag(-1)(below, n, n), AllocDiag(0)(main, n, n), AllocDiag(1)(above, n, n))
        factor, pivots = LUFactor(check_finite=False)(whole)
        # In each column of L at most one element is not zero.
        low = sum_(tril(factor, -1), axis=-2)[..., : shape_i(below, -1)]
        up = [diagonal(factor, offset, -2, -1) for offset in (0, 1, 2)]
        return [low, *up, cast(add(pivots, 1), "int32")]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that pivots do not change smoothly."""
        return [[True, True, True, True, False] for _ in range(3)]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Go back through the factors of the whole matrix."""
        return pullback_of_parts(self, inputs, cotangents[:4], [0, 1, 2])


@static_op
class SolveLUFactorTridiagonal(MatrixOp):
    """The solutions x of A x = b, or A^T x = b, for the LU factors of tridiagonal matrices, from `LUFactorTridiagonal`.

    Inputs: its five results, and b.

    Parameters
    ----------
    transposed
        Whether A^T x = b is solved.
    check_finite
        Whether NaN or infinities in a factor or a right side count as a failure.
    on_error
        What becomes of failures and singular matrices: ``"nan"`` or ``"raise"``.
    """

    transposed: bool = False
    check_finite: bool = True
    on_error: str = "nan"

    signature = "(k),(m),(k),(e),(m),(m,n)->(m,n)"
    positions = (4,)

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Solve with LAPACK's gttrs."""
        low, up, up1, up2, pivots, b = matrices
        n = up.size
        _check_shorter(self, low, n, 1)
        _check_shorter(self, up2, n, 2)
        if self.check_finite:
            require_finite(low, up, up1, up2, b)
        if not up.all():
            msg = "the matrix is singular"
            raise np.linalg.LinAlgError(msg)
        place = np.arange(1, n + 1)
        if not ((pivots == place) | ((pivots == place + 1) & (place < n))).all():
            msg = f"pivots of row i are i + 1 or i + 2, and not beyond {n}, got {pivots}"
            raise np.linalg.LinAlgError(msg)
        if not b.size:
            return (b,)
        (gttrs,) = lapack.get_lapack_funcs(("gttrs",), (up, b))
        more = max(0, 3 - n)
        x, _ = gttrs(
            np.pad(low, (0, more)), np.pad(up, (0, more), constant_values=1), np.pad(up1, (0, more)),
            np.pad(up2, (0, more - max(0, 2 - n))), np.concatenate([pivots, np.arange(n + 1, n + more + 1)]),
            np.pad(b, ((0, more), (0, 0))), trans="T" if self.transposed else "N",
        )  # fmt: skip
        return (x[:n],)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Solve with the factors of the whole matrix."""
        low, up, up1, up2, pivots, b = tensors(inputs)
        n, k = shape_i(up, -1), shape_i(low, -1)
        place = arange(n)
        # The factor of a column stands in the next row that was not exchanged for the one after it.
        stays = bitwise_and(
            ge(expand_dims(place, 0), add(expand_dims(arange(k), 1), 1)),
            expand_dims(eq(pivots, add(place, 1)), -2),
        )
        rows = min_(switch(stays, place, sub(n, 1)), axis=-1, initial=n)
        chosen = switch(eq(expand_dims(place, 1), expand_dims(rows, -2)), expand_dims(low, -2), np.zeros((), low.dtype))
        last = zeros_like(b[..., :1])
        below = concatenate([chosen, broadcast_to(last, [*lengths(chosen)[:-1], 1])], axis=-1)[..., :n]
        factor = add(below, AllocDiag(0)(up, n, n), AllocDiag(1)(up1, n, n), AllocDiag(2)(up2, n, n))
        solve = LUSolve(self.transposed, self.check_finite, self.on_error)
        return [solve(factor.conj() if self.transposed else factor, sub(pivots, 1), b)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that pivots do not change smoothly."""
        return [[True], [True], [True], [True], [False], [True]]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve with the conjugate transpose for the right side; for the factors go back through the whole matrix."""
        *factors, pivots, b = tensors(inputs)
        turned = replace(self, transposed=not self.transposed)
        by_b = turned(*(x.conj() for x in factors), pivots, cotangents[0])
        return [*pullback_of_parts(self, inputs, cotangents, [0, 1, 2, 3]), None, stacked_term(by_b, b)]


def _check_shorter(op: MatrixOp, diagonal: np.ndarray, n: int, less: int) -> None:
    if diagonal.size != max(n - less, 0):
        msg = f"{op}: a diagonal beside the main one, of length {n}, must be {less} shorter, got {diagonal.size}."
        raise ShapeError(msg)


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
    nearest = x[..., minimum(maximum(row, 0), n - 1), minimum(maximum(column, 0), m - 1)]
    elements: TensorVariable = switch(inside, nearest, np.zeros((), x.dtype))
    return elements


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
    rows = w[..., minimum(maximum(row, 0), m - 1), :]
    summed = sum_(mul(rows, expand_dims(x.conj(), -3)), axis=-1)
    diagonals: TensorVariable = switch(bitwise_and(ge(row, 0), lt(row, m)), summed, np.zeros((), summed.dtype))
    return diagonals
