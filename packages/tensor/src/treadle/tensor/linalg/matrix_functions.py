"""Functions of square matrices, by SciPy's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

from treadle.graph import composed
from treadle.tensor.arguments import as_choice
from treadle.tensor.common_shapes import broadcast_arrays
from treadle.tensor.errors import ShapeError
from treadle.tensor.matrix_functions import Expm, MatrixSign, derivative_along
from treadle.tensor.matrix_op import as_matrices, as_square_matrices

if TYPE_CHECKING:
    from treadle.tensor.variable import TensorLike, TensorVariable

__all__ = ["expm", "expm_frechet", "signm"]


def expm(A: TensorLike) -> TensorVariable:
    """Return the exponential of each square matrix of a stack (as scipy.linalg.expm).

    A matrix that holds NaN or infinities has NaN everywhere. The gradient is the Frechet derivative at the adjoint,
    taken of a block matrix of twice the size (Mathias 1996), to any order.

    Parameters
    ----------
    A
        A square matrix, or a stack of them.

    Raises
    ------
    ShapeError
        If it has fewer dimensions than a matrix, or is known not to be square.
    """
    result: TensorVariable = Expm()(as_square_matrices("expm", A))
    return result


@overload
def expm_frechet(
    A: TensorLike, E: TensorLike, method: str | None = None, compute_expm: Literal[True] = True,
    check_finite: bool = True,
) -> tuple[TensorVariable, TensorVariable]: ...  # fmt: skip


@overload
def expm_frechet(
    A: TensorLike, E: TensorLike, method: str | None = None, *, compute_expm: Literal[False], check_finite: bool = True
) -> TensorVariable: ...


@composed
def expm_frechet(
    A: TensorLike, E: TensorLike, method: str | None = None, compute_expm: bool = True, check_finite: bool = True
) -> TensorVariable | tuple[TensorVariable, TensorVariable]:
    """Return the exponential of a matrix and its Frechet derivative in a direction (as scipy.linalg.expm_frechet).

    Parameters
    ----------
    A, E
        Matrix and direction, square and of one length, or stacks of such.
    method
        Accepted for compatibility: both of SciPy's methods give the same numbers.
    compute_expm
        Whether to return the exponential too, as the first of two.
    check_finite
        Accepted for compatibility: NaN and infinities give NaN.

    Raises
    ------
    ShapeError
        If they are known not to be square, or not of one length.
    """
    del check_finite
    as_choice("expm_frechet: method", method, (None, "SPS", "blockEnlarge"))
    a, direction = as_matrices("expm_frechet", A, E)
    sides = {n for x in (a, direction) for n in x.type.shape[-2:] if n is not None}
    if len(sides) > 1:
        msg = f"expm_frechet: square matrices of one length are needed, got {a.type} and {direction.type}."
        raise ShapeError(msg)
    value, slope = derivative_along(Expm(), *broadcast_arrays(a, direction))
    return (value, slope) if compute_expm else slope


def signm(A: TensorLike, *, on_error: str = "nan") -> TensorVariable:
    """Return the sign of each square matrix of a stack (as scipy.linalg.signm).

    It has the eigenvectors of `A`, and as eigenvalues 1 and -1, by the sign of the real part of A's. The gradient is
    the Frechet derivative at the adjoint, to any order.

    Parameters
    ----------
    A
        A square matrix, or a stack of them.
    on_error
        What becomes of a matrix with an eigenvalue on the imaginary axis, or with NaN or infinities: ``"nan"`` or
        ``"raise"``.

    Raises
    ------
    ShapeError
        If it has fewer dimensions than a matrix, or is known not to be square.
    """
    result: TensorVariable = MatrixSign(on_error)(as_square_matrices("signm", A))
    return result
