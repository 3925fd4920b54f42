"""Equations for matrices, by SciPy's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import composed
from treadle.tensor.arguments.values import as_choice, check_flags
from treadle.tensor.errors import ShapeError
from treadle.tensor.indexing.ranges import eye
from treadle.tensor.linalg.ops.linear_systems import Solve
from treadle.tensor.linalg.ops.matrix_equations import Riccati, Sylvester, stein
from treadle.tensor.linalg.ops.matrix_op import as_matrices, as_on_error
from treadle.tensor.products.product import adjoint
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle
from treadle.tensor.shapes.shape import lengths, reshape, shape_i
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_sylvester",
]


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


@composed
def solve_discrete_lyapunov(
    A: TensorLike, Q: TensorLike, method: str | None = "bilinear", *, on_error: str = "nan"
) -> TensorVariable:
    """Return X with A X A* - X + Q = 0 (as scipy.linalg.solve_discrete_lyapunov), for each of a stack.

    Parameters
    ----------
    A, Q
        Square matrices of one length, or stacks of them.
    method
        ``"bilinear"``: by a continuous equation (Popov 1964); ``"direct"``: by one linear system for all elements of X,
        which takes memory for the square of their number. None takes the latter below 10 rows, as SciPy does.
    on_error
        What becomes of X where there is no single one, the product of two eigenvalues of A being 1, and where matrices
        hold NaN or infinities: ``"nan"`` or ``"raise"``.

    Raises
    ------
    ShapeError
        If the shapes are known not to fit.
    ArgumentError
        If `method` is something else.
    """
    kind = as_choice("solve_discrete_lyapunov: method", method, (None, "direct", "bilinear"))
    as_on_error("solve_discrete_lyapunov", on_error)
    a, q = as_matrices("solve_discrete_lyapunov", A, Q)
    sides = [n for x in (a, q) for n in x.type.shape[-2:] if n is not None]
    if len(set(sides)) > 1:
        msg = f"solve_discrete_lyapunov: square matrices of one length are needed, got {a.type} and {q.type}."
        raise ShapeError(msg)
    if kind == "bilinear" or (kind is None and sides and sides[0] >= 10):
        return stein(a, q, on_error)
    batch = range(a.ndim - 2)
    n = shape_i(a, -1)
    left = dimshuffle(a, *batch, a.ndim - 2, NEW, a.ndim - 1, NEW)
    right = dimshuffle(a.conj(), *batch, NEW, a.ndim - 2, NEW, a.ndim - 1)
    product = reshape(left * right, [*lengths(a)[:-2], n * n, n * n])
    elements = reshape(q, [*lengths(q)[:-2], n * n, 1])
    x = Solve(on_error=on_error)(eye(n * n, dtype=a.dtype) - product, elements)
    return reshape(x, [*lengths(x)[:-2], n, n])


def solve_discrete_are(
    A: TensorLike,
    B: TensorLike,
    Q: TensorLike,
    R: TensorLike,
    e: TensorLike | None = None,
    s: TensorLike | None = None,
    balanced: bool = True,
    *,
    on_error: str = "nan",
) -> TensorVariable:
    """Return the stabilizing solution of the discrete Riccati equation (as scipy.linalg.solve_discrete_are).

    It is the X with A* X A - X - A* X B (R + B* X B)**-1 B* X A + Q = 0 for which A - B K has its eigenvalues inside
    the unit circle, where K = (R + B* X B)**-1 B* X A. The gradient solves a Lyapunov equation (Kao and Hennequin
    2020). Backends other than the Python VM need an R that has an inverse.

    Parameters
    ----------
    A, B
        A square matrix and one of as many rows, or stacks of them.
    Q, R
        Hermitian matrices, of the lengths of the rows and the columns of B; their Hermitian parts are taken.
    e, s
        A square matrix and one of the shape of B, in A* X A - E* X E - (A* X B + S) (R + B* X B)**-1 (B* X A + S*) + Q.
    balanced
        Without effect.
    on_error
        What becomes of X where there is no such solution: ``"nan"`` or ``"raise"``.

    Raises
    ------
    ShapeError
        If the shapes are known not to fit.
    """
    check_flags("solve_discrete_are", balanced=balanced)
    return _riccati("solve_discrete_are", "discrete", (A, B, Q, R, e, s), on_error)


def solve_continuous_are(
    A: TensorLike,
    B: TensorLike,
    Q: TensorLike,
    R: TensorLike,
    e: TensorLike | None = None,
    s: TensorLike | None = None,
    balanced: bool = True,
    *,
    on_error: str = "nan",
) -> TensorVariable:
    """Return the stabilizing solution of the continuous Riccati equation (as scipy.linalg.solve_continuous_are).

    It is the X with X A + A* X - X B R**-1 B* X + Q = 0 for which the eigenvalues of A - B R**-1 B* X have negative
    real parts. The gradient solves a Lyapunov equation (Kao and Hennequin 2020).

    Parameters
    ----------
    A, B
        A square matrix and one of as many rows, or stacks of them.
    Q, R
        Hermitian matrices, of the lengths of the rows and the columns of B; their Hermitian parts are taken.
    e, s
        A square matrix and one of the shape of B, in E* X A + A* X E - (E* X B + S) R**-1 (B* X E + S*) + Q = 0.
    balanced
        Without effect.
    on_error
        What becomes of X where there is no such solution: ``"nan"`` or ``"raise"``.

    Raises
    ------
    ShapeError
        If the shapes are known not to fit.
    """
    check_flags("solve_continuous_are", balanced=balanced)
    return _riccati("solve_continuous_are", "continuous", (A, B, Q, R, e, s), on_error)


# How many matrices an equation of Riccati's always has.
_NEEDED = 4


@composed
def _riccati(what: str, time: str, matrices: Sequence[TensorLike | None], on_error: str) -> TensorVariable:
    """Return the solution; the further matrices E and S are taken into the others."""
    *_, e, s = matrices
    # Only the last two may be left out.
    needed = [as_tensor_variable(x) for x in matrices[:_NEEDED]]  # type: ignore[arg-type]  # refuses None
    operands = as_matrices(what, *needed, *(x for x in (e, s) if x is not None))
    a, b, q, r = operands[:4]
    q, r = ((x + adjoint(x)) / 2 for x in (q, r))
    solve = Solve()
    if e is not None:
        e_adjoint = adjoint(operands[4])
        a = adjoint(solve(e_adjoint, adjoint(a)))
        q = adjoint(solve(e_adjoint, adjoint(solve(e_adjoint, q))))
    if s is not None:
        mixed = solve(adjoint(operands[4]), operands[-1]) if e is not None else operands[-1]
        share = solve(r, adjoint(mixed))
        a, q = a - b @ share, q - mixed @ share
    result: TensorVariable = Riccati(time, on_error)(a, b, q, r)
    return result
