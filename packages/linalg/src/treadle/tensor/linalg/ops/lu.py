"""LU factors, solving with them, and permutations from pivots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import lazy_module
from treadle.graph import composed, static_op
from treadle.tensor.arrangement.triangles import tril, triu
from treadle.tensor.elementwise.arithmetic import add, neg, sub
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import isnan
from treadle.tensor.indexing.gathering import take_along_axis
from treadle.tensor.indexing.ranges import arange, eye
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.linalg.ops.matrix_op import MatrixOp, require_finite
from treadle.tensor.linalg.ops.triangular import SolveTriangular
from treadle.tensor.products.product import adjoint, matmul
from treadle.tensor.reductions.reduction import any_
from treadle.tensor.shapes.broadcasting import broadcast_to, sum_to
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import lengths, shape_i
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from treadle.graph import Apply, Variable
    from treadle.tensor.variables.variable import TensorVariable

    lapack: ModuleType
else:
    lapack = lazy_module("scipy.linalg.lapack")

__all__ = ["LU", "LUFactor", "LUSolve", "PivotToPermutations"]


@static_op
class LUFactor(MatrixOp):
    """The LU factors of matrices in one matrix each, and the pivots: A = P L U, by rows exchanged.

    The matrix holds U on and above its diagonal, and below it L, whose diagonal is 1. Row i was exchanged for row
    ``pivots[i]``, one after the other. A singular matrix has factors too, with a zero on the diagonal of U, but there
    they have no derivatives.

    Parameters
    ----------
    check_finite
        Whether matrices with NaN or infinity have none.
    on_error
        What becomes of these.
    """

    check_finite: bool = True
    on_error: str = "nan"

    signature = "(m,n)->(m,n),(min(m,n))"

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the dtype, and int32."""
        return [dtype, "int32"]

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Factorise with LAPACK."""
        (a,) = matrices
        if self.check_finite:
            require_finite(a)
        if not a.size:
            return a, np.arange(min(a.shape), dtype="int32")
        (getrf,) = lapack.get_lapack_funcs(("getrf",), (a,))
        factor, pivots, _ = getrf(a)
        return factor, pivots

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that pivots do not change smoothly."""
        return [[True, False]]

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Take the factors apart, and go back through each."""
        (factor, pivots), ct = tensors(outputs), tensors(cotangents)[0]
        low, up = parts(factor)
        of_low, of_up = tril(ct, -1)[..., :, : shape_i(up, -2)], triu(ct)[..., : shape_i(up, -2), :]
        return [_by_matrix(rows_of(pivots, factor), low, up, of_low, of_up)]


@static_op
class LU(MatrixOp):
    """The factors of A = L[p] U: positions p of rows, L with a diagonal of 1, and U.

    Parameters
    ----------
    check_finite
        Whether matrices with NaN or infinity have none.
    on_error
        What becomes of these.
    """

    check_finite: bool = True
    on_error: str = "nan"

    signature = "(m,n)->(m),(m,min(m,n)),(min(m,n),n)"

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return int64, and the dtype twice."""
        return ["int64", dtype, dtype]

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Factorise with LAPACK."""
        factor, pivots = LUFactor(self.check_finite).of_matrices(*matrices)
        m, n = factor.shape
        k = min(m, n)
        rows = np.concatenate([pivots, np.arange(k, m)])
        low = np.tril(factor[:, :k], -1) + np.eye(m, k, dtype=factor.dtype)
        return _permutation(rows, inverse=False), low, np.triu(factor[:k])

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Take apart what `LUFactor` makes."""
        factor, pivots = LUFactor(self.check_finite, self.on_error)(*inputs)
        low, up = parts(factor)
        if self.check_finite and self.on_error == "nan":
            has_none = any_(isnan(factor), axis=(-2, -1), keepdims=True)
            missing = np.array(np.nan, factor.dtype)
            low, up = switch(has_none, missing, low), switch(has_none, missing, up)
            return [switch(has_none[..., 0], np.zeros((), "int64"), rows_of(pivots, factor)), low, up]
        return [rows_of(pivots, factor), low, up]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that positions do not change smoothly."""
        return [[False, True, True]]

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Go back through both factors."""
        return [_by_matrix(*tensors(outputs), *tensors(cotangents)[1:])]


def parts(factor: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return L, with its diagonal of 1, and U, from the matrix that holds both."""
    m, n = lengths(factor)[-2:]
    rows, columns = factor.type.shape[-2:]
    below, above = factor, factor
    # The one that is longer is cut: which of both it is may be known only when the program runs.
    if rows is None or columns is None or columns > rows:
        below = below[..., :, :m]
    if rows is None or columns is None or rows > columns:
        above = above[..., :n, :]
    ones = eye(m, shape_i(below, -1), dtype=factor.dtype)
    return add(tril(below, -1), ones), triu(above)


def rows_of(pivots: TensorVariable, factor: TensorVariable) -> TensorVariable:
    """Return positions p with A = L[p] U, for the pivots of as many rows as A has columns, if it is that tall."""
    m, n = factor.type.shape[-2:]
    if m is None or n is None or m > n:
        *batch, k = lengths(pivots)
        further = arange(k, shape_i(factor, -2), dtype="int32")
        pivots = concatenate([pivots, broadcast_to(further, [*batch, *lengths(further)])], axis=-1)
    result: TensorVariable = PivotToPermutations(inverse=False)(pivots)
    return result


def _by_matrix(
    rows: TensorVariable, low: TensorVariable, up: TensorVariable, of_low: TensorVariable, of_up: TensorVariable
) -> TensorVariable:
    """Return the gradient by A = L[rows] U for those by L and U.

    For square matrices: F. R. de Hoog, R. S. Anderssen and M. A. Lukas, Differentiation of matrix functionals using
    triangular factorization (Mathematics of Computation 80, 2011). The rows of L, and columns of U, beyond the square
    part S follow from it: for dS = L F U they change by (dA - L dU) U^-1 and L^-1 (dA - dL U).
    """
    k = shape_i(up, -2)
    m, n = low.type.shape[-2], up.type.shape[-1]
    is_tall, is_wide = (m is None or n is None or m > n), (m is None or n is None or n > m)
    square, triangle, of_square, of_triangle = low, up, of_low, of_up
    if is_tall:
        square, of_square = low[..., :k, :], of_low[..., :k, :]
    if is_wide:
        triangle, of_triangle = up[..., :, :k], of_up[..., :, :k]
    below = matmul(adjoint(square), of_square)
    above = matmul(of_triangle, adjoint(triangle))
    if is_tall:
        above = sub(above, matmul(adjoint(low[..., k:, :]), of_low[..., k:, :]))
    if is_wide:
        below = sub(below, matmul(of_up[..., :, k:], adjoint(up[..., :, k:])))
    solve_low, solve_up = SolveTriangular(False, True, False), SolveTriangular(False, False, False)
    turned = adjoint(square)

    def behind(x: TensorVariable) -> TensorVariable:
        """Return x U^-H."""
        return adjoint(solve_up(triangle, adjoint(x)))

    result = behind(solve_low(turned, add(tril(below, -1), triu(above))))
    if is_wide:
        result = concatenate([result, solve_low(turned, of_up[..., :, k:])], axis=-1)
    if is_tall:
        further = behind(of_low[..., k:, :])
        if is_wide:
            # One of both is empty.
            missing = shape_i(up, -1) - k
            further = concatenate(
                [further, broadcast_to(np.zeros((), up.dtype), [*lengths(further)[:-1], missing])], -1
            )
        result = concatenate([result, further], axis=-2)
    return take_along_axis(result, expand_dims(rows, -1), -2)


@static_op
class LUSolve(MatrixOp):
    """The solutions X of A X = B, or A^H X = B, for the LU factors and pivots of square matrices A.

    Parameters
    ----------
    adjoint
        Whether A^H X = B is solved.
    check_finite
        Whether factors and right sides with NaN or infinity have none.
    on_error
        What becomes of these, and of singular matrices.
    """

    adjoint: bool = False
    check_finite: bool = True
    on_error: str = "nan"

    signature = "(m,m),(m),(m,n)->(m,n)"
    positions = (1,)

    def __post_init__(self) -> None:
        """Bring the fields to one form."""
        super().__post_init__()
        object.__setattr__(self, "adjoint", bool(self.adjoint))

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Solve with LAPACK."""
        factor, pivots, b = matrices
        if self.check_finite:
            require_finite(factor, b)
        _check_pivots(pivots)
        if not factor.diagonal().all():
            msg = "the matrix is singular"
            raise np.linalg.LinAlgError(msg)
        if not b.size:
            return (b,)
        (getrs,) = lapack.get_lapack_funcs(("getrs",), (factor, b))
        x, _ = getrs(factor, pivots, b, trans=2 if self.adjoint else 0)
        return (x,)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that pivots do not change smoothly."""
        return [[True], [False], [True]]

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve with the conjugate transpose; what that makes on the way is the gradient by the factors.

        From A dX = -dA X with dA = P (dL U + L dU), as for `Solve`, where the gradient by A is -Z X^H.
        """
        (factor, pivots, b), (x,), (ct,) = tensors(inputs), tensors(outputs), tensors(cotangents)
        by_b: TensorVariable = LUSolve(not self.adjoint, self.check_finite, self.on_error)(factor, pivots, ct)
        order = expand_dims(PivotToPermutations(inverse=True)(pivots), -1)
        low, up = parts(factor)
        # Both sides of A = P L U: what stands left of L, and right of U.
        left, right = (x, by_b) if self.adjoint else (by_b, x)
        left = take_along_axis(left, order, -2)
        by_low = matmul(left, adjoint(matmul(up, right)))
        by_up = matmul(matmul(adjoint(low), left), adjoint(right))
        return [sum_to(neg(add(tril(by_low, -1), triu(by_up))), factor), None, sum_to(by_b, b)]


@static_op
class PivotToPermutations(MatrixOp):
    """Permutations for the exchanges of rows that pivots stand for, one after the other.

    Parameters
    ----------
    inverse
        Whether the result is what the exchanges make of 0, 1, 2 ..., with which A[result] = L U; or its inverse, with
        which A = L[result] U.
    """

    inverse: bool = True

    signature = "(m)->(m)"
    dtypes = ("int32", "int64")
    on_error = "raise"

    def __post_init__(self) -> None:
        """Bring the field to one form."""
        super().__post_init__()

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return int64."""
        return ["int64"]

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Exchange one after the other."""
        (pivots,) = matrices
        _check_pivots(pivots)
        return (_permutation(pivots, self.inverse),)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that nothing flows back."""
        return [[False]]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return that nothing flows back."""
        return [None]


def _check_pivots(pivots: np.ndarray) -> None:
    if pivots.size and not 0 <= pivots.min() <= pivots.max() < pivots.size:
        msg = f"pivots of {pivots.size} rows run from 0 to {pivots.size - 1}, got {pivots}"
        raise np.linalg.LinAlgError(msg)


def _permutation(pivots: np.ndarray, inverse: bool) -> np.ndarray:
    """Return the permutation that pivots stand for, or its inverse."""
    order = np.arange(pivots.size)
    for i, j in enumerate(pivots):
        order[[i, j]] = order[[j, i]]
    return order if inverse else np.argsort(order)
