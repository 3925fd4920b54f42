"""Linear systems with tridiagonal matrices, by LU factors: the ops, and their functions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import lazy_module
from treadle.graph import as_flag, static_op
from treadle.tensor.arguments.values import as_items
from treadle.tensor.arrangement.diagonals import AllocDiag, diagonal
from treadle.tensor.arrangement.triangles import tril
from treadle.tensor.elementwise.arithmetic import add, sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.errors import DtypeError, ShapeError
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.linalg.decompositions.lu import LUFactor, LUSolve
from treadle.tensor.linalg.matrix_op import (
    MatrixOp,
    as_matrices,
    as_on_error,
    as_square_matrices,
    as_system,
    pullback_of_parts,
    require_finite,
)
from treadle.tensor.products.product import stacked_term
from treadle.tensor.reductions.reduction import min_, sum_
from treadle.tensor.shapes.broadcasting import broadcast_to, zeros_like
from treadle.tensor.shapes.dimshuffle import expand_dims, shape_padleft, squeeze
from treadle.tensor.shapes.shape import lengths, shape_i
from treadle.tensor.types.conversion import as_tensor_variable, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.linalg import lapack

    from treadle.graph import Apply, Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable
else:
    lapack = lazy_module("scipy.linalg.lapack")

__all__ = ["LUFactorTridiagonal", "SolveLUFactorTridiagonal", "tridiagonal_lu_factor", "tridiagonal_lu_solve"]


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
        matrix = add(AllocDiag(-1)(below, n, n), AllocDiag(0)(main, n, n), AllocDiag(1)(above, n, n))
        factor, pivots = LUFactor(check_finite=False)(matrix)
        # In each column of L at most one element is not zero.
        low = sum_(tril(factor, -1), axis=-2)[..., : shape_i(below, -1)]
        up = [diagonal(factor, offset, -2, -1) for offset in (0, 1, 2)]
        return [low, *up, cast(add(pivots, 1), "int32")]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that pivots are not differentiable."""
        return [[True, True, True, True, False] for _ in range(3)]


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
        """Say that pivots are not differentiable."""
        return [[True], [True], [True], [True], [False], [True]]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve with the conjugate transpose for the right side; differentiate the full matrix for the factors.

        Through `decompose`: as well for the factors, but m**3 operations in place of m for the right side.
        """
        *factors, pivots, b = tensors(inputs)
        turned = replace(self, transposed=not self.transposed)
        by_b = turned(*(x.conj() for x in factors), pivots, cotangents[0])
        return [*pullback_of_parts(self, inputs, cotangents, [0, 1, 2, 3]), None, stacked_term(by_b, b)]


def _check_shorter(op: MatrixOp, diagonal: np.ndarray, n: int, less: int) -> None:
    if diagonal.size != max(n - less, 0):
        msg = f"{op}: a diagonal beside the main one, of length {n}, must be {less} shorter, got {diagonal.size}."
        raise ShapeError(msg)


def tridiagonal_lu_factor(
    a: TensorLike,
) -> tuple[TensorVariable, TensorVariable, TensorVariable, TensorVariable, TensorVariable]:
    """Return the LU factors of tridiagonal matrices (as scipy.linalg.lapack.dgttrf).

    Parameters
    ----------
    a
        Square matrices, of which the three diagonals are read.

    Returns
    -------
    The factors below the diagonal, the three diagonals of U, and the pivots, int32, counted from 1: what
    `tridiagonal_lu_solve` takes. On C the cost grows with the length of the diagonals; the other backends, and
    derivatives by the factors, take the whole matrix.

    Raises
    ------
    ShapeError
        If lengths are known and matrices are not square.

    Examples
    --------
    >>> len(tt.linalg.tridiagonal_lu_factor(4 * np.eye(3)))
    5
    """
    matrix = as_square_matrices("tridiagonal_lu_factor", a)
    low, up, up1, up2, pivots = LUFactorTridiagonal()(*(diagonal(matrix, offset, -2, -1) for offset in (-1, 0, 1)))
    return low, up, up1, up2, pivots


def tridiagonal_lu_solve(
    a_diagonals: Sequence[TensorLike],
    b: TensorLike,
    *,
    b_ndim: int | None = None,
    transposed: bool = False,
    on_error: str = "nan",
) -> TensorVariable:
    """Solve A x = b by the LU factors of tridiagonal matrices (as scipy.linalg.lapack.dgttrs).

    Parameters
    ----------
    a_diagonals
        What `tridiagonal_lu_factor` returns.
    b
        The right sides.
    b_ndim
        1 if b is a vector or a stack of vectors, 2 if it is one of matrices; None takes one dimension for a vector.
    transposed
        Whether to solve A^T x = b.
    on_error
        What becomes of singular matrices: ``"nan"`` makes their solutions NaN, ``"raise"`` raises a `MatrixError`.

    Raises
    ------
    ShapeError
        If there are not five parts of factors, or lengths are known and do not fit.

    Examples
    --------
    >>> tt.linalg.tridiagonal_lu_solve(tt.linalg.tridiagonal_lu_factor(4 * np.eye(3)), [4.0, 8.0, 12.0]).eval()
    array([1., 2., 3.])
    """
    parts = as_items("tridiagonal_lu_solve: a_diagonals", a_diagonals)
    if len(parts) != 5:
        msg = (
            "tridiagonal_lu_solve: the factors, three diagonals and pivots are needed, got "
            f"{len(parts)} parts. Pass what tridiagonal_lu_factor returns."
        )
        raise ShapeError(msg)
    *factors, pivots = parts
    _, right, is_vector = as_system("tridiagonal_lu_solve", factors[1], b, b_ndim, core=1)
    stacks = as_matrices("tridiagonal_lu_solve", *factors, right, core=(1, 1, 1, 1, 2))
    exchanged = as_tensor_variable(pivots)
    if exchanged.ndim == 0 or exchanged.type.numpy_dtype.kind not in "iu":
        msg = f"tridiagonal_lu_solve: pivots are integers, got {exchanged} of type {exchanged.type}."
        raise DtypeError(msg)
    exchanged = shape_padleft(cast(exchanged, "int32"), stacks[-1].ndim - 1 - exchanged.ndim)
    op = SolveLUFactorTridiagonal(
        as_flag("tridiagonal_lu_solve: transposed", transposed), on_error=as_on_error("tridiagonal_lu_solve", on_error)
    )
    x: TensorVariable = op(*stacks[:-1], exchanged, stacks[-1])
    return squeeze(x, -1) if is_vector else x
