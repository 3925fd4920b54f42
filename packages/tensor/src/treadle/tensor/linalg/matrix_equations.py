"""Equations for matrices, by SciPy's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.matrix_equations import Sylvester
from treadle.tensor.matrix_op import as_matrices
from treadle.tensor.product import adjoint

if TYPE_CHECKING:
    from treadle.tensor.variable import TensorLike, TensorVariable

__all__ = ["solve_continuous_lyapunov", "solve_sylvester"]


def solve_sylvester(A: TensorLike, B: TensorLike, Q: TensorLike, *, on_error: str = "nan") -> TensorVariable:
    """Return X with A X + X B = Q (as scipy.linalg.solve_sylvester), for each of a stack.

    The gradient solves the adjoint equation. PyTorch, and JAX for small matrices, solve one linear system for all
    elements of X, which takes memory for the square of their number.

    Parameters
    ----------
    A, B
        Square matrices, or stacks of them.
    Q
        A matrix with the rows of A and the columns of B.
    on_error
        What becomes of X where there is no single one, an eigenvalue of A being the negative of one of B, and where
        matrices hold NaN or infinities: ``"nan"`` or ``"raise"``.

    Raises
    ------
    ShapeError
        If the shapes are known not to fit.
    """
    result: TensorVariable = Sylvester(on_error)(*as_matrices("solve_sylvester", A, B, Q))
    return result


def solve_continuous_lyapunov(A: TensorLike, Q: TensorLike, *, on_error: str = "nan") -> TensorVariable:
    """Return X with A X + X A* = Q (as scipy.linalg.solve_continuous_lyapunov), for each of a stack.

    Parameters
    ----------
    A, Q
        Square matrices of one length, or stacks of them.
    on_error
        What becomes of X where there is no single one, two eigenvalues of A adding up to 0, and where matrices hold
        NaN or infinities: ``"nan"`` or ``"raise"``.

    Raises
    ------
    ShapeError
        If the shapes are known not to fit.
    """
    a, q = as_matrices("solve_continuous_lyapunov", A, Q)
    result: TensorVariable = Sylvester(on_error)(a, adjoint(a), q)
    return result
