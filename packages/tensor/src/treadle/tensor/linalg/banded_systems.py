"""Systems of banded and tridiagonal matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import as_flag
from treadle.tensor.arguments import as_integer, as_items
from treadle.tensor.banded import SolveBanded, SolveHermitianBanded
from treadle.tensor.dimshuffle import squeeze
from treadle.tensor.errors import ShapeError
from treadle.tensor.matrix_op import as_on_error, as_system

if TYPE_CHECKING:
    from treadle.tensor.variable import TensorLike, TensorVariable

__all__ = ["solve_banded", "solveh_banded"]


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
