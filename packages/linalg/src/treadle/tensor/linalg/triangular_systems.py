"""Solutions of triangular systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.graph import as_flag
from treadle.tensor.errors import ArgumentError
from treadle.tensor.linalg.ops.matrix_op import as_on_error, as_system
from treadle.tensor.linalg.ops.triangular import SolveTriangular
from treadle.tensor.products.product import adjoint
from treadle.tensor.shapes.dimshuffle import matrix_transpose, squeeze

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["solve_triangular"]


def solve_triangular(
    a: TensorLike,
    b: TensorLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    *,
    b_ndim: int | None = None,
    on_error: str = "nan",
) -> TensorVariable:
    """Solve a x = b for triangular matrices (as scipy.linalg.solve_triangular).

    The other triangle is not read, and no gradient flows to it.

    Parameters
    ----------
    a
        A triangular matrix, or a stack of such.
    b
        The right sides.
    trans
        What to solve: 0 or ``"N"`` for a x = b, 1 or ``"T"`` for a^T x = b, 2 or ``"C"`` for a^H x = b.
    lower
        Whether the lower triangle of `a` is meant, else the upper one.
    unit_diagonal
        Whether the diagonal of `a` is taken to be 1, and not read.
    overwrite_b
        Without effect: rewriting decides what is overwritten.
    check_finite
        Whether NaN or infinities count as failures.
    b_ndim
        1 if b is a vector or a stack of vectors, 2 if it is one of matrices; None takes one dimension for a vector.
    on_error
        What becomes of failures and singular matrices, which have a zero on their diagonal: ``"nan"`` makes their
        solutions NaN, ``"raise"`` raises a `MatrixError`, which is a ``numpy.linalg.LinAlgError``.

    Raises
    ------
    ArgumentError
        If `trans`, `b_ndim` or `on_error` is something else.
    ShapeError
        If lengths are known and do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]), lower=True).eval()
    array([1., 2.])
    """
    as_flag("solve_triangular: overwrite_b", overwrite_b)
    if not isinstance(trans, int | str) or trans not in {0, 1, 2, "N", "T", "C"}:
        msg = f"solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', got {text_of(trans)}."
        raise ArgumentError(msg)
    matrix, right, is_vector = as_system("solve_triangular", a, b, b_ndim)
    is_lower = as_flag("solve_triangular: lower", lower)
    if trans in {1, "T", 2, "C"}:
        matrix, is_lower = matrix_transpose(matrix) if trans in {1, "T"} else adjoint(matrix), not is_lower
    op = SolveTriangular(
        is_lower,
        as_flag("solve_triangular: unit_diagonal", unit_diagonal),
        as_flag("solve_triangular: check_finite", check_finite),
        as_on_error("solve_triangular", on_error),
    )
    x: TensorVariable = op(matrix, right)
    return squeeze(x, -1) if is_vector else x
