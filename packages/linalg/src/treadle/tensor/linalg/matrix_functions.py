"""Functions of square matrices, by SciPy's names."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from treadle.graph import as_flag, composed
from treadle.tensor.arguments.values import as_callable, as_choice, as_number, check_flags
from treadle.tensor.elementwise.complex_numbers import complex_
from treadle.tensor.elementwise.exponential import log, sqrt
from treadle.tensor.errors import ArgumentError, ShapeError
from treadle.tensor.joins.common_shapes import broadcast_arrays
from treadle.tensor.linalg.inverses import matrix_power
from treadle.tensor.linalg.ops.hermitian_functions import hermitian_function
from treadle.tensor.linalg.ops.matrix_functions import Expm, Logm, Sqrtm
from treadle.tensor.linalg.ops.matrix_op import REAL_OF, as_matrices, as_on_error, as_square_matrices
from treadle.tensor.linalg.ops.matrix_sign import MatrixSign, derivative_along
from treadle.tensor.linalg.systems import solve
from treadle.tensor.shapes.broadcasting import zeros_like

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "coshm",
    "cosm",
    "expm",
    "expm_frechet",
    "fractional_matrix_power",
    "funm",
    "logm",
    "signm",
    "sinhm",
    "sinm",
    "sqrtm",
    "tanhm",
    "tanm",
]


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
    check_flags("expm_frechet", check_finite=check_finite)
    as_choice("expm_frechet: method", method, (None, "SPS", "blockEnlarge"))
    a, direction = as_matrices("expm_frechet", A, E)
    sides = {n for x in (a, direction) for n in x.type.shape[-2:] if n is not None}
    if len(sides) > 1:
        msg = f"expm_frechet: square matrices of one length are needed, got {a.type} and {direction.type}."
        raise ShapeError(msg)
    value, slope = derivative_along(Expm(), *broadcast_arrays(a, direction))
    return (value, slope) if as_flag("expm_frechet: compute_expm", compute_expm) else slope


@composed
def sqrtm(A: TensorLike, *, hermitian: bool = False, on_error: str = "nan") -> TensorVariable:
    """Return the principal square root of each square matrix of a stack (as scipy.linalg.sqrtm).

    The root of a real matrix is real here, whatever its values.

    Parameters
    ----------
    A
        A square matrix, or a stack of them.
    hermitian
        Whether the matrices are symmetric or Hermitian and have no negative eigenvalues: only lower triangles are
        read, eigenvalues may be 0, and the root is found from them. The gradient is right where they coincide;
        second derivatives need them to differ.
    on_error
        What becomes of a matrix with NaN or infinities, or which has no such root, an eigenvalue being 0, or real and
        negative: ``"nan"`` or ``"raise"``. A negative eigenvalue of a Hermitian one gives NaN.

    Raises
    ------
    ShapeError
        If it has fewer dimensions than a matrix, or is known not to be square.
    """
    a = as_square_matrices("sqrtm", A)
    if as_flag("sqrtm: hermitian", hermitian):
        return hermitian_function(a, sqrt, as_on_error("sqrtm", on_error))
    result: TensorVariable = Sqrtm(on_error)(a)
    return result


@composed
def logm(A: TensorLike, *, hermitian: bool = False, on_error: str = "nan") -> TensorVariable:
    """Return the principal logarithm of each square matrix of a stack (as scipy.linalg.logm).

    The logarithm of a real matrix is real here, whatever its values.

    Parameters
    ----------
    A
        A square matrix, or a stack of them.
    hermitian
        Whether the matrices are symmetric or Hermitian and positive definite: only lower triangles are read, and the
        logarithm is found from the eigenvalues. The gradient is right where they coincide; second derivatives need
        them to differ.
    on_error
        What becomes of a matrix with NaN or infinities, or which has no such logarithm, an eigenvalue being 0, or real
        and negative: ``"nan"`` or ``"raise"``. A negative eigenvalue of a Hermitian one gives NaN.

    Raises
    ------
    ShapeError
        If it has fewer dimensions than a matrix, or is known not to be square.
    """
    a = as_square_matrices("logm", A)
    if as_flag("logm: hermitian", hermitian):
        return hermitian_function(a, log, as_on_error("logm", on_error))
    result: TensorVariable = Logm(on_error)(a)
    return result


def _power(exponent: float, w: TensorVariable) -> TensorVariable:
    """Return a power, as a function that can be pickled with what it is part of."""
    return w**exponent


@composed
def fractional_matrix_power(
    A: TensorLike, t: float, *, hermitian: bool = False, on_error: str = "nan"
) -> TensorVariable:
    """Return a real power of each square matrix of a stack (as scipy.linalg.fractional_matrix_power).

    Parameters
    ----------
    A
        A square matrix, or a stack of them.
    t
        The exponent, known when the graph is built. By integers the matrix is multiplied.
    hermitian, on_error
        As for `logm`: other powers are exponentials of t log(A), or powers of the eigenvalues.

    Raises
    ------
    ShapeError
        If it has fewer dimensions than a matrix, or is known not to be square.
    """
    a = as_square_matrices("fractional_matrix_power", A)
    exponent = as_number("fractional_matrix_power: t", t)
    is_hermitian = as_flag("fractional_matrix_power: hermitian", hermitian)
    if exponent == int(exponent):
        return matrix_power(a, int(exponent))
    if is_hermitian:
        return hermitian_function(a, partial(_power, exponent), as_on_error("fractional_matrix_power", on_error))
    result: TensorVariable = Expm()(Logm(on_error)(a) * np.array(exponent, REAL_OF[a.dtype]))
    return result


@composed
def funm(
    A: TensorLike, func: Callable[[TensorVariable], TensorVariable], disp: bool = True, *, hermitian: bool = False,
    on_error: str = "nan",
) -> TensorVariable:  # fmt: skip
    """Return a function of each Hermitian matrix of a stack (as scipy.linalg.funm), by its eigenvalues.

    >>> from treadle.tensor.linalg import funm
    >>> from treadle import tensor as tt
    >>> funm([[2.0, 1.0], [1.0, 2.0]], tt.sin, hermitian=True).eval().round(4)
    array([[ 0.4913, -0.3502],
           [-0.3502,  0.4913]])

    Parameters
    ----------
    A
        A symmetric or Hermitian matrix, or a stack of them; lower triangles are read.
    func
        An elementwise function of real tensors to real ones. The gradient is right where eigenvalues coincide; second
        derivatives need those of a matrix to differ.
    disp
        Accepted for compatibility.
    hermitian
        Must be true: functions of other matrices need more than values of `func`.
    on_error
        What becomes of a matrix with NaN or infinities: ``"nan"`` or ``"raise"``.

    Raises
    ------
    ArgumentError
        If `hermitian` is false.
    ShapeError
        If it has fewer dimensions than a matrix, or is known not to be square.
    """
    check_flags("funm", disp=disp)
    if not as_flag("funm: hermitian", hermitian):
        msg = (
            "funm: hermitian must be True, functions of other matrices are not computed, got False. Use expm, logm, "
            "sqrtm, cosm, signm or their like."
        )
        raise ArgumentError(msg)
    function = as_callable("funm: func", func)
    return hermitian_function(as_square_matrices("funm", A), function, as_on_error("funm", on_error))


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


@composed
def cosm(A: TensorLike) -> TensorVariable:
    """Return the cosine of each square matrix of a stack, by exponentials (as scipy.linalg.cosm)."""
    a = as_square_matrices("cosm", A)
    if a.type.numpy_dtype.kind == "c":
        return (expm(1j * a) + expm(-1j * a)) / 2
    return expm(_times_i(a)).real


@composed
def sinm(A: TensorLike) -> TensorVariable:
    """Return the sine of each square matrix of a stack, by exponentials (as scipy.linalg.sinm)."""
    a = as_square_matrices("sinm", A)
    if a.type.numpy_dtype.kind == "c":
        return (expm(1j * a) - expm(-1j * a)) * -0.5j
    # Where there is no exponential, only the real part is NaN.
    return (expm(_times_i(a)) * -1j).real


@composed
def tanm(A: TensorLike) -> TensorVariable:
    """Return the tangent of each square matrix of a stack, as a quotient (as scipy.linalg.tanm)."""
    return solve(cosm(A), sinm(A), b_ndim=2)


@composed
def coshm(A: TensorLike) -> TensorVariable:
    """Return the hyperbolic cosine of each square matrix of a stack, by exponentials (as scipy.linalg.coshm)."""
    a = as_square_matrices("coshm", A)
    return (expm(a) + expm(-a)) / 2


@composed
def sinhm(A: TensorLike) -> TensorVariable:
    """Return the hyperbolic sine of each square matrix of a stack, by exponentials (as scipy.linalg.sinhm)."""
    a = as_square_matrices("sinhm", A)
    return (expm(a) - expm(-a)) / 2


@composed
def tanhm(A: TensorLike) -> TensorVariable:
    """Return the hyperbolic tangent of each square matrix of a stack, as a quotient (as scipy.linalg.tanhm)."""
    return solve(coshm(A), sinhm(A), b_ndim=2)


def _times_i(a: TensorVariable) -> TensorVariable:
    """Return i times a real tensor, in its precision."""
    result: TensorVariable = complex_(zeros_like(a), a)
    return result
