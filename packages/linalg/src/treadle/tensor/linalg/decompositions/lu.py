"""LU factors, pivots, and solving by them: the ops, and their functions."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import lazy_module
from treadle.graph import as_flag, composed, static_op
from treadle.tensor.arguments.values import as_items, as_option
from treadle.tensor.arrangement.diagonals import diagonal
from treadle.tensor.arrangement.triangles import tril, triu
from treadle.tensor.elementwise.arithmetic import add, maximum, minimum, neg, sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, isnan, lt
from treadle.tensor.errors import ArgumentError, TensorTypeError
from treadle.tensor.indexing.gathering import take_along_axis
from treadle.tensor.indexing.ranges import arange, eye
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.linalg.matrix_op import (
    REAL_OF,
    MatrixOp,
    as_matrices,
    as_on_error,
    as_square_matrices,
    as_system,
    check_lengths,
    not_finite,
    require_finite,
    settled,
)
from treadle.tensor.linalg.triangular_systems import SolveTriangular
from treadle.tensor.loops.plain import fori_loop
from treadle.tensor.products.product import adjoint, matmul
from treadle.tensor.reductions.reduction import any_
from treadle.tensor.shapes.broadcasting import broadcast_to, sum_to
from treadle.tensor.shapes.dimshuffle import expand_dims, shape_padleft, squeeze
from treadle.tensor.shapes.shape import lengths, shape_i
from treadle.tensor.types.conversion import as_tensor_variable, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from treadle.graph import Apply, Variable
    from treadle.tensor.variables.variable import TensorVariable

    lapack: ModuleType
    from treadle.tensor.linalg.matrix_op import MatrixOp
    from treadle.tensor.variables.variable import TensorLike
else:
    lapack = lazy_module("scipy.linalg.lapack")

__all__ = ["LU", "LUFactor", "LUSolve", "PivotToPermutations", "lu", "lu_factor", "lu_solve", "pivot_to_permutation"]


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
    overwrite_a
        Whether the matrix is overwritten, which rewriting decides.
    """

    check_finite: bool = True
    on_error: str = "nan"
    overwrite_a: bool = False

    signature = "(m,n)->(m,n),(min(m,n))"
    overwritable = MappingProxyType({"overwrite_a": (0, 0)})

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
        factor, pivots, _ = getrf(a, overwrite_a=self.overwrite_a and a.flags.writeable)
        return factor, pivots

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that pivots are not differentiable."""
        return [[True, False]]

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Split the two factors, and return the gradient by the matrix."""
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
        """Split the result of `LUFactor` into L and U, and turn its pivots into positions."""
        factor, pivots = LUFactor(self.check_finite, self.on_error)(*inputs)
        low, up = parts(factor)
        if self.check_finite and self.on_error == "nan":
            has_none = any_(isnan(factor), axis=(-2, -1), keepdims=True)
            missing = np.array(np.nan, factor.dtype)
            low, up = switch(has_none, missing, low), switch(has_none, missing, up)
            return [switch(has_none[..., 0], np.zeros((), "int64"), rows_of(pivots, factor)), low, up]
        return [rows_of(pivots, factor), low, up]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that positions are not differentiable."""
        return [[False, True, True]]

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the gradient from the cotangents of both factors.

        Through `decompose`: 99 nodes in place of 54.
        """
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
    """Return positions p with A = L[p] U; rows of tall matrices that have no pivot keep their places."""
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
            # One of the two blocks is empty.
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
    overwrite_b
        Whether the right side is overwritten, which rewriting decides.
    """

    adjoint: bool = False
    check_finite: bool = True
    on_error: str = "nan"
    overwrite_b: bool = False

    signature = "(m,m),(m),(m,n)->(m,n)"
    overwritable = MappingProxyType({"overwrite_b": (2, 0)})
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
        x, _ = getrs(
            factor, pivots, b, trans=2 if self.adjoint else 0, overwrite_b=self.overwrite_b and b.flags.writeable
        )
        return (x,)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Solve with both triangles, and put the rows in order, of the right sides or of the solutions."""
        factor, pivots, b = tensors(inputs)
        failed = any_(eq(diagonal(factor, 0, -2, -1), 0), axis=-1) | _misplaced(pivots)
        if self.check_finite:
            failed = failed | not_finite(factor) | not_finite(b)
        # The inverse permutation, where the solutions are put in order.
        order = expand_dims(PivotToPermutations(not self.adjoint)(_within(pivots)), -1)
        ones, other = SolveTriangular(not self.adjoint, True, False), SolveTriangular(self.adjoint, False, False)
        if self.adjoint:
            turned = adjoint(factor)
            x = take_along_axis(ones(turned, other(turned, b)), order, -2)
        else:
            x = other(factor, ones(factor, take_along_axis(b, order, -2)))
        return settled(
            self, inputs, [x], failed, "a matrix is singular, or has NaN or infinities, or its pivots are no rows"
        )

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that pivots are not differentiable."""
        return [[True], [False], [True]]

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve with the conjugate transpose; the gradient by the factors follows from that solution.

        Through `decompose`: the solution is computed a second time, by triangles.

        From A dX = -dA X with dA = P (dL U + L dU), as for `Solve`, where the gradient by A is -Z X^H.
        """
        (factor, pivots, b), (x,), (ct,) = tensors(inputs), tensors(outputs), tensors(cotangents)
        by_b: TensorVariable = LUSolve(not self.adjoint, self.check_finite, self.on_error)(factor, pivots, ct)
        order = expand_dims(PivotToPermutations(inverse=True)(pivots), -1)
        low, up = parts(factor)
        # The gradient by A = P L U is -left @ right^H: left is on the side of L, right on that of U.
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
        """Apply the exchanges one after the other."""
        (pivots,) = matrices
        _check_pivots(pivots)
        return (_permutation(pivots, self.inverse),)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Exchange in a loop; the inverse is what the exchanges make from the last to the first."""
        (pivots,) = tensors(inputs)
        n, within = shape_i(pivots, -1), _within(pivots)
        places = arange(n)

        def exchanged(step: TensorVariable, order: TensorVariable) -> TensorVariable:
            at = step if self.inverse else sub(sub(n, 1), step)
            other = expand_dims(within[..., at], -1)
            here, there = expand_dims(order[..., at], -1), take_along_axis(order, other, -1)
            return switch(eq(places, at), there, switch(eq(places, other), here, order))

        order = fori_loop(0, n, exchanged, broadcast_to(places, lengths(pivots)))
        return settled(self, inputs, [order], _misplaced(pivots), "pivots run from 0 to the last row")

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that nothing flows back."""
        return [[False]]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return that nothing flows back.

        Through `decompose`: the same, after all nodes of a loop were looked at.
        """
        return [None]


def _misplaced(pivots: TensorVariable) -> TensorVariable:
    """Return for each matrix whether a pivot is out of range."""
    return any_(lt(pivots, 0) | ge(pivots, shape_i(pivots, -1)), axis=-1)


def _within(pivots: TensorVariable) -> TensorVariable:
    """Return pivots as positions of rows that there are."""
    last = maximum(sub(shape_i(pivots, -1), 1), 0)
    return minimum(maximum(cast(pivots, "int64"), 0), last)


def _check_pivots(pivots: np.ndarray) -> None:
    if pivots.size and not 0 <= pivots.min() <= pivots.max() < pivots.size:
        msg = f"pivots of {pivots.size} rows run from 0 to {pivots.size - 1}, got {pivots}"
        raise np.linalg.LinAlgError(msg)


def _permutation(pivots: np.ndarray, inverse: bool) -> np.ndarray:
    """Return the permutation that pivots represent, or its inverse."""
    order = np.arange(pivots.size)
    for i, j in enumerate(pivots):
        order[[i, j]] = order[[j, i]]
    return order if inverse else np.argsort(order)


def lu_factor(
    a: TensorLike, overwrite_a: bool = False, check_finite: bool = True, *, on_error: str = "nan"
) -> tuple[TensorVariable, TensorVariable]:
    """Return LU factors in one matrix, and pivots (as scipy.linalg.lu_factor): what `lu_solve` takes.

    The matrix holds U on and above its diagonal, and L below it, whose diagonal is 1. Row i was exchanged for row
    ``pivots[i]``, one after the other. A singular matrix has factors too, without a warning: there is a zero on the
    diagonal of U, and they have no derivatives.

    Parameters
    ----------
    a
        Matrices of any shape; integers are converted to float64, float16 to float32.
    overwrite_a
        Without effect: rewriting decides what is overwritten.
    check_finite
        Whether a matrix with NaN or infinity counts as one without factors.
    on_error
        What becomes of these: ``"nan"`` or ``"raise"`` a `MatrixError`.

    Examples
    --------
    >>> factor, pivots = lu_factor([[1.0, 2.0], [2.0, 2.0]])
    >>> factor.eval(), pivots.eval()
    (array([[2. , 2. ],
           [0.5, 1. ]]), array([1, 1], dtype=int32))
    """
    as_flag("lu_factor: overwrite_a", overwrite_a)
    op = LUFactor(as_flag("lu_factor: check_finite", check_finite), as_on_error("lu_factor", on_error))
    factor, pivots = op(*as_matrices("lu_factor", a))
    return factor, pivots


@composed
def lu_solve(
    LU_and_pivots: Sequence[TensorLike],
    b: TensorLike,
    trans: int | bool = 0,
    b_ndim: int | None = None,
    check_finite: bool = True,
    overwrite_b: bool = False,
    *,
    on_error: str = "nan",
) -> TensorVariable:
    """Return x with ``a @ x == b`` for a matrix whose factors are known (as scipy.linalg.lu_solve).

    Parameters
    ----------
    LU_and_pivots
        What `lu_factor` returns for square matrices.
    b
        Right sides: vectors or matrices.
    trans
        Which system to solve: 0 for ``a @ x == b``, 1 for ``a.T @ x == b``, 2 for ``a.conj().T @ x == b``.
    b_ndim
        1 if `b` is a vector or a stack of vectors, 2 if it is one of matrices. None takes one dimension for a vector.
    check_finite
        Whether factors and right sides with NaN or infinity count as ones without a solution.
    overwrite_b
        Without effect: rewriting decides what is overwritten.
    on_error
        What becomes of these, and of singular matrices: ``"nan"`` or ``"raise"`` a `MatrixError`.

    Raises
    ------
    ArgumentError
        If `trans` is something else.
    TensorTypeError
        If the pivots are not integers, or not one for each row.

    Examples
    --------
    >>> lu_solve(lu_factor([[2.0, 1.0], [0.0, 4.0]]), [4.0, 8.0]).eval()
    array([1., 2.])
    """
    as_flag("lu_solve: overwrite_b", overwrite_b)
    pair = as_items("lu_solve: LU_and_pivots", LU_and_pivots)
    if len(pair) != 2:
        msg = f"lu_solve: factors and pivots are needed, got {len(pair)} values. Pass what lu_factor returns."
        raise ArgumentError(msg)
    form = as_option("lu_solve: trans", trans, (0, 1, 2))
    pivots = as_tensor_variable(pair[1])
    if pivots.ndim == 0 or pivots.type.numpy_dtype.kind not in "iu":
        msg = f"lu_solve: pivots must be integers, one for each row, got {pivots} of type {pivots.type}."
        raise TensorTypeError(msg)
    factor, right, is_vector = as_system("lu_solve", as_square_matrices("lu_solve", pair[0]), b, b_ndim)
    check_lengths("lu_solve", factor, right)
    batch = max(factor.ndim - 2, pivots.ndim - 1)
    factor, right = (shape_padleft(x, batch + 2 - x.ndim) for x in (factor, right))
    # With the transpose: of the conjugate, and back.
    turned = form == 1 and factor.type.numpy_dtype.kind == "c"
    op = LUSolve(form != 0, as_flag("lu_solve: check_finite", check_finite), as_on_error("lu_solve", on_error))
    x: TensorVariable = op(
        factor, cast(shape_padleft(pivots, batch + 1 - pivots.ndim), "int32"), right.conj() if turned else right
    )
    x = x.conj() if turned else x
    return squeeze(x, -1) if is_vector else x


@composed
def lu(
    a: TensorLike,
    permute_l: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
    overwrite_a: bool = False,
    *,
    on_error: str = "nan",
) -> tuple[TensorVariable, ...]:
    """Return factors with ``a == p @ l @ u`` (as scipy.linalg.lu).

    `p` is a permutation matrix, `l` lower triangular with a diagonal of 1, `u` upper triangular. A singular matrix has
    factors too, but there they have no derivatives.

    Parameters
    ----------
    a
        Matrices of any shape; integers are converted to float64, float16 to float32.
    permute_l
        Whether to return ``p @ l`` and `u` only.
    check_finite
        Whether a matrix with NaN or infinity counts as one without factors.
    p_indices
        Whether to return int32 positions `p` with ``a == l[p] @ u`` in place of the matrix.
    overwrite_a
        Without effect: rewriting decides what is overwritten.
    on_error
        What becomes of matrices without factors: ``"nan"`` or ``"raise"`` a `MatrixError`.

    Examples
    --------
    >>> p, low, up = lu([[1.0, 2.0], [2.0, 2.0]], p_indices=True)
    >>> (low[p] @ up).eval()
    array([[1., 2.],
           [2., 2.]])
    """
    as_flag("lu: overwrite_a", overwrite_a)
    op = LU(as_flag("lu: check_finite", check_finite), as_on_error("lu", on_error))
    rows, low, up = op(*as_matrices("lu", a))
    as_indices = as_flag("lu: p_indices", p_indices)
    if as_flag("lu: permute_l", permute_l):
        return take_along_axis(low, expand_dims(rows, -1), -2), up
    if as_indices:
        return cast(rows, "int32"), low, up
    chosen = eq(expand_dims(rows, -1), arange(shape_i(rows, -1)))
    return cast(chosen, REAL_OF[low.dtype]), low, up


def pivot_to_permutation(p: TensorLike, inverse: bool = False) -> TensorVariable:
    """Return the permutation that the pivots of `lu_factor` stand for, int64.

    Parameters
    ----------
    p
        Pivots of square matrices: row i is exchanged for row ``p[i]``, one after the other.
    inverse
        Whether to return the rows of `a` in their new order, with ``a[result] == l @ u``; or, by default, positions
        with ``a == (l @ u)[result]``.

    Raises
    ------
    TensorTypeError
        If the pivots are not integers.

    Examples
    --------
    >>> pivot_to_permutation([2, 2, 2]).eval()
    array([1, 2, 0])
    """
    pivots = as_tensor_variable(p)
    if pivots.ndim == 0 or pivots.type.numpy_dtype.kind not in "iu":
        msg = f"pivot_to_permutation: integers are needed, got {pivots} of type {pivots.type}."
        raise TensorTypeError(msg)
    op = PivotToPermutations(as_flag("pivot_to_permutation: inverse", inverse))
    result: TensorVariable = op(cast(pivots, "int32"))
    return result
