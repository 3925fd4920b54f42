"""Systems of banded and tridiagonal matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import as_flag
from treadle.tensor.arguments.values import as_integer, as_items
from treadle.tensor.arrangement.diagonals import diagonal
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.errors import DtypeError, ShapeError
from treadle.tensor.linalg.ops.banded import (
    LUFactorTridiagonal,
    SolveBanded,
    SolveHermitianBanded,
    SolveLUFactorTridiagonal,
)
from treadle.tensor.linalg.ops.matrix_op import as_matrices, as_on_error, as_square_matrices, as_system
from treadle.tensor.shapes.dimshuffle import shape_padleft, squeeze
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["solve_banded", "solveh_banded", "tridiagonal_lu_factor", "tridiagonal_lu_solve"]


def solve_banded(
    l_and_u: tuple[int, int],
    ab: TensorLike,
    b: TensorLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    *,
    b_ndim: int | None = None,
    on_error: str = "nan",
) -> TensorVariable:
    """Solve a x = b for banded matrices (as scipy.linalg.solve_banded).

    On C the cost grows with the length times the square of the number of diagonals; the other backends solve with the
    whole matrix.

    Parameters
    ----------
    l_and_u
        How many diagonals there are below and above the main one.
    ab
        The diagonals as rows: ``ab[u + i - j, j] == a[i, j]``. Places outside of the matrix are not read.
    b
        The right sides.
    overwrite_ab, overwrite_b
        Without effect: rewriting decides what is overwritten.
    check_finite
        Whether NaN or infinities count as failures.
    b_ndim
        1 if b is a vector or a stack of vectors, 2 if it is one of matrices; None takes one dimension for a vector.
    on_error
        What becomes of failures and singular matrices: ``"nan"`` makes their solutions NaN, ``"raise"`` raises a
        `MatrixError`, which is a ``numpy.linalg.LinAlgError``.

    Raises
    ------
    ShapeError
        If lengths are known and do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> solve_banded((1, 0), np.array([[2.0, 4.0], [1.0, 0.0]]), np.array([2.0, 9.0])).eval()
    array([1., 2.])
    """
    as_flag("solve_banded: overwrite_ab", overwrite_ab)
    as_flag("solve_banded: overwrite_b", overwrite_b)
    pair = [as_integer("solve_banded: l_and_u", n, 0) for n in as_items("solve_banded: l_and_u", l_and_u)]
    if len(pair) != 2:
        msg = f"solve_banded: two numbers of diagonals are needed, below and above the main one, got {pair}."
        raise ShapeError(msg)
    lower, upper = pair
    diagonals, right, is_vector = as_system("solve_banded", ab, b, b_ndim)
    rows = diagonals.type.shape[-2]
    if rows is not None and rows != lower + upper + 1:
        msg = (
            f"solve_banded: invalid values for the number of lower and upper diagonals: l+u+1 ({lower + upper + 1}) "
            f"does not equal ab.shape[-2] ({rows}). Pass a row for each diagonal."
        )
        raise ShapeError(msg)
    op = SolveBanded(
        lower, upper, as_flag("solve_banded: check_finite", check_finite), as_on_error("solve_banded", on_error)
    )
    x: TensorVariable = op(diagonals, right)
    return squeeze(x, -1) if is_vector else x


def solveh_banded(
    ab: TensorLike,
    b: TensorLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
    *,
    b_ndim: int | None = None,
    on_error: str = "nan",
) -> TensorVariable:
    """Solve a x = b for Hermitian positive definite banded matrices (as scipy.linalg.solveh_banded).

    Parameters
    ----------
    ab
        The diagonals of one triangle as rows: ``ab[i - j, j] == a[i, j]`` of the lower one, ``ab[u + i - j, j]`` of the
        upper one. Places outside of the matrix are not read.
    b
        The right sides.
    overwrite_ab, overwrite_b
        Without effect: rewriting decides what is overwritten.
    lower
        Whether it is the lower triangle.
    check_finite, b_ndim, on_error
        As for `solve_banded`; what fails are matrices that are not positive definite.

    Raises
    ------
    ShapeError
        If lengths are known and do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> solveh_banded(np.array([[4.0, 5.0], [2.0, 0.0]]), np.array([8.0, 12.0]), lower=True).eval()
    array([1., 2.])
    """
    as_flag("solveh_banded: overwrite_ab", overwrite_ab)
    as_flag("solveh_banded: overwrite_b", overwrite_b)
    diagonals, right, is_vector = as_system("solveh_banded", ab, b, b_ndim)
    op = SolveHermitianBanded(
        as_flag("solveh_banded: lower", lower),
        as_flag("solveh_banded: check_finite", check_finite),
        as_on_error("solveh_banded", on_error),
    )
    x: TensorVariable = op(diagonals, right)
    return squeeze(x, -1) if is_vector else x


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
