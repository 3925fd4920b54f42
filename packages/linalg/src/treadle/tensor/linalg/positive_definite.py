"""Cholesky factors of positive definite matrices, and solutions by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.graph import as_flag
from treadle.tensor.arguments.values import as_items
from treadle.tensor.errors import ArgumentError, TensorTypeError
from treadle.tensor.linalg.ops.cholesky import Cholesky, CholeskySolve
from treadle.tensor.linalg.ops.matrix_op import as_on_error, as_square_matrices, as_system
from treadle.tensor.shapes.dimshuffle import squeeze

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["cho_factor", "cho_solve", "cholesky"]


def cholesky(
    x: TensorLike,
    lower: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    upper: bool | None = None,
    on_error: str = "nan",
) -> TensorVariable:
    """Return the Cholesky factors of positive definite matrices (as numpy.linalg.cholesky, scipy.linalg.cholesky).

    Only the lower triangle is read for L, the upper one for U; that is where gradients flow to.

    Parameters
    ----------
    x
        A Hermitian positive definite matrix, or a stack of such.
    lower
        Whether to return L of x = L L^H, else U of x = U^H U.
    overwrite_a
        Without effect: rewriting decides what is overwritten.
    check_finite
        Whether a matrix with NaN or infinities counts as not positive definite.
    upper
        The opposite of `lower`, by NumPy's name; it decides if given.
    on_error
        What becomes of matrices that are not positive definite: ``"nan"`` makes their factors NaN, ``"raise"`` raises
        a `MatrixError`, which is a ``numpy.linalg.LinAlgError``.

    Raises
    ------
    ArgumentError
        If `upper` and `lower` are both False, or `on_error` is something else.
    ShapeError
        If lengths are known and matrices are not square.

    Examples
    --------
    >>> import numpy as np
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).eval()
    array([[2., 0.],
           [1., 2.]])
    """
    as_flag("cholesky: overwrite_a", overwrite_a)
    is_lower = as_flag("cholesky: lower", lower)
    if upper is not None:
        if not as_flag("cholesky: upper", upper) and not is_lower:
            msg = "cholesky: upper and lower cannot both be False. Pass one of them."
            raise ArgumentError(msg)
        is_lower = not upper
    a = as_square_matrices("cholesky", x)
    factors: TensorVariable = Cholesky(
        is_lower, as_flag("cholesky: check_finite", check_finite), as_on_error("cholesky", on_error)
    )(a)
    return factors


def cho_factor(
    a: TensorLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True, *, on_error: str = "nan"
) -> tuple[TensorVariable, bool]:
    """Return Cholesky factors, and which triangle they are, for `cho_solve` (as scipy.linalg.cho_factor).

    Parameters and errors are those of `cholesky`. The other triangle, which SciPy leaves as it is, is zero.
    """
    is_lower = as_flag("cho_factor: lower", lower)
    return cholesky(a, is_lower, overwrite_a, check_finite, on_error=on_error), is_lower


def cho_solve(
    c_and_lower: tuple[TensorLike, bool],
    b: TensorLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
    *,
    b_ndim: int | None = None,
    on_error: str = "nan",
) -> TensorVariable:
    """Solve A x = b by Cholesky factors of A (as scipy.linalg.cho_solve).

    Parameters
    ----------
    c_and_lower
        The factors, and whether they are lower triangles: what `cho_factor` returns. The other triangle is not read.
    b
        The right sides.
    overwrite_b
        Without effect: rewriting decides what is overwritten.
    check_finite
        Whether NaN or infinities count as failures.
    b_ndim
        1 if b is a vector or a stack of vectors, 2 if it is one of matrices; None takes one dimension for a vector.
    on_error
        What becomes of failures: ``"nan"`` makes their solutions NaN, ``"raise"`` raises a `MatrixError`.

    Raises
    ------
    ShapeError
        If lengths are known and do not fit.
    """
    as_flag("cho_solve: overwrite_b", overwrite_b)
    if len(as_items("cho_solve: c_and_lower", c_and_lower)) != 2:
        msg = f"cho_solve: a pair of factors and whether they are lower is needed, got {text_of(c_and_lower)}."
        raise TensorTypeError(msg)
    factor, is_lower = c_and_lower
    factor, right, is_vector = as_system("cho_solve", factor, b, b_ndim)
    op = CholeskySolve(
        as_flag("cho_solve: lower", is_lower),
        as_flag("cho_solve: check_finite", check_finite),
        as_on_error("cho_solve", on_error),
    )
    x: TensorVariable = op(factor, right)
    return squeeze(x, -1) if is_vector else x
