"""Functions of matrices, such as exponentials and logarithms: the ops, and their functions."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, overload

import numpy as np

from treadle.config import lazy_module, new_lock
from treadle.graph import as_flag, composed, static_op
from treadle.tensor.arguments.values import as_callable, as_choice, as_number, check_flags
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import gt
from treadle.tensor.elementwise.complex_numbers import complex_
from treadle.tensor.elementwise.exponential import log, sqrt
from treadle.tensor.errors import ArgumentError, ShapeError
from treadle.tensor.indexing.ranges import eye
from treadle.tensor.joins.common_shapes import broadcast_arrays
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.linalg.functions.hermitian_functions import hermitian_function
from treadle.tensor.linalg.functions.matrix_equations import Sylvester
from treadle.tensor.linalg.functions.matrix_sign import MatrixSign, derivative_along, mean_row_sum
from treadle.tensor.linalg.functions.scaling_and_squaring import scaled_and_squared
from treadle.tensor.linalg.inverses import matrix_power
from treadle.tensor.linalg.linear_systems import Solve, solve
from treadle.tensor.linalg.matrix_op import (
    REAL_OF,
    MatrixOp,
    as_matrices,
    as_on_error,
    as_square_matrices,
    not_finite,
    require_finite,
    settled,
)
from treadle.tensor.products.product import adjoint
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import constant, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import scipy.linalg

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable
else:
    scipy = lazy_module("scipy")

__all__ = [
    "Expm", "Logm", "Sqrtm", "coshm", "cosm", "expm", "expm_frechet", "fractional_matrix_power", "funm", "logm",
    "sinhm", "sinm", "sqrtm", "tanhm", "tanm",
]  # fmt: skip

_FILTERS = new_lock()


@static_op
class Expm(MatrixOp):
    """The exponential of a square matrix, the sum of A**k / k!; NaN for a matrix that holds NaN or infinities.

    Higham (2005) and Al-Mohy and Higham (2009) describe the computation: scaling, a Pade approximant, and squaring.
    """

    signature = "(n,n)->(n,n)"
    check_finite: ClassVar[bool] = True

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute with SciPy."""
        (a,) = matrices
        require_finite(a)
        with np.errstate(all="ignore"):
            return (scipy.linalg.expm(a),)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Scale and square all matrices at once, with the approximant of degree 13."""
        (a,) = tensors(inputs)
        wrong = not_finite(a)
        finite = switch(expand_dims(wrong, (-2, -1)), np.zeros((), a.dtype), a)
        return settled(self, inputs, [scaled_and_squared(finite)], wrong)

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the derivative at the adjoint, in the direction of the cotangent (Mathias 1996).

        Through `decompose`: the number of squarings would be differentiated too, in which the result is not smooth.
        """
        a, ct = tensors(inputs)[0], tensors(cotangents)[0]
        return [derivative_along(Expm(), adjoint(a), ct)[1]]


@static_op
class Sqrtm(MatrixOp):
    """The principal square root of a square matrix: that whose eigenvalues have positive real parts.

    There is none where an eigenvalue is 0, or real and negative. Roots of real matrices are real.

    Parameters
    ----------
    on_error
        ``"nan"`` or ``"raise"``: what to do then.
    """

    signature = "(m,m)->(m,m)"
    check_finite: ClassVar[bool] = True
    on_error: str = "nan"

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute with SciPy, by a Schur form."""
        (a,) = matrices
        _require_principal(a)
        root = scipy.linalg.sqrtm(a) if a.size else a
        return (root if a.dtype.kind == "c" else np.asarray(root).real.astype(a.dtype),)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return a block of a sign: that of [[0, A], [I, 0]] is [[0, R], [R**-1, 0]] (Higham 2008, chapter 5)."""
        (a,) = tensors(inputs)
        n = shape_i(a, -1)
        size = _size(a)
        zero = zeros_like(a)
        top = concatenate([zero, a / size], axis=-1)
        block = concatenate([top, concatenate([zero + eye(n, dtype=a.dtype), zero], axis=-1)], axis=-2)
        sign: TensorVariable = MatrixSign(self.on_error)(block)
        return settled(self, inputs, [sign[..., :n, n:] * sqrt(size)])

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve the equation of the adjoint, R* W + W R* = cotangent.

        Through `decompose`: 88 nodes in place of 5.
        """
        turned = adjoint(tensors(outputs)[0])
        return [Sylvester()(turned, turned, tensors(cotangents)[0])]


@static_op
class Logm(MatrixOp):
    """The principal logarithm of a square matrix: the imaginary parts of its eigenvalues are between -pi and pi.

    There is none where an eigenvalue is 0, or real and negative. Logarithms of real matrices are real.

    Parameters
    ----------
    on_error
        ``"nan"`` or ``"raise"``: what to do then.
    """

    signature = "(m,m)->(m,m)"
    check_finite: ClassVar[bool] = True
    on_error: str = "nan"

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute with SciPy (Al-Mohy and Higham 2012)."""
        (a,) = matrices
        _require_principal(a)
        # The filters of warnings belong to the process: threads that change them in turns would leave them changed.
        with _FILTERS, warnings.catch_warnings():
            # It warns where it estimates its result to have fewer than 13 correct digits.
            warnings.simplefilter("ignore", RuntimeWarning)
            logarithm = scipy.linalg.logm(a.astype("complex128" if a.dtype.kind == "c" else "float64")) if a.size else a
        return (np.asarray(logarithm if a.dtype.kind == "c" else logarithm.real).astype(a.dtype),)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the logarithm of a root that is near the identity, by quadrature, times the root's order.

        The rule of Gauss and Legendre with 8 points is the Pade approximant of that degree (Dieci, Morini and Papini
        1996).
        """
        (a,) = tensors(inputs)
        size = _size(a)
        one = zeros_like(a) + eye(shape_i(a, -1), dtype=a.dtype)
        root: TensorVariable = a / size
        for _ in range(_ROOTS):
            root = Sqrtm(self.on_error)(root)
        points, weights = np.polynomial.legendre.leggauss(8)
        points, weights = (
            x.reshape(8, *[1] * a.ndim).astype(REAL_OF[a.dtype]) for x in ((points + 1) / 2, weights / 2)
        )
        beyond = (root - one)[None]
        terms: TensorVariable = Solve()(one[None] + points * beyond, beyond)
        logarithm = (terms * weights).sum(axis=0) * np.array(2**_ROOTS, REAL_OF[a.dtype])
        return settled(self, inputs, [logarithm + log(size) * one])

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the derivative at the adjoint, in the direction of the cotangent (Mathias 1996).

        Through `decompose`: 89 nodes in place of 31.
        """
        a, ct = tensors(inputs)[0], tensors(cotangents)[0]
        return [derivative_along(Logm(), adjoint(a), ct)[1]]


# After so many square roots, matrices of a condition up to 1e16 are near enough to the identity.
_ROOTS = 8


def _size(a: TensorVariable) -> TensorVariable:
    """Return the mean row sum of each matrix as its size, or 1 where that is 0."""
    norm = mean_row_sum(a)
    return switch(gt(norm, 0), norm, constant(1, dtype=norm.dtype))


def _require_principal(a: np.ndarray) -> None:
    require_finite(a)
    values = np.linalg.eigvals(a)
    least = np.abs(values).max(initial=0) * np.finfo(a.dtype).eps * len(a)
    if np.any((np.abs(values.imag) <= least) & (values.real <= least)):
        msg = "an eigenvalue is 0, or real and negative"
        raise np.linalg.LinAlgError(msg)


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

    Examples
    --------
    >>> tt.linalg.expm(np.zeros((2, 2))).eval()
    array([[1., 0.],
           [0., 1.]])
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

    Examples
    --------
    >>> tt.linalg.expm_frechet(np.zeros((1, 1)), np.ones((1, 1)))[1].eval()
    array([[1.]])
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

    Examples
    --------
    >>> tt.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]]).eval().round(6)
    array([[2., 0.],
           [0., 3.]])
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

    Examples
    --------
    >>> tt.linalg.logm(np.eye(2)).eval().round(6)
    array([[0., 0.],
           [0., 0.]])
    """
    a = as_square_matrices("logm", A)
    if as_flag("logm: hermitian", hermitian):
        return hermitian_function(a, log, as_on_error("logm", on_error))
    result: TensorVariable = Logm(on_error)(a)
    return result


def _power(exponent: float, w: TensorVariable) -> TensorVariable:
    """Return an elementwise power; unlike a lambda, this function can be pickled."""
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

    Examples
    --------
    >>> tt.linalg.fractional_matrix_power([[4.0, 0.0], [0.0, 9.0]], 0.5).eval().round(6)
    array([[2., 0.],
           [0., 3.]])
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


@composed
def cosm(A: TensorLike) -> TensorVariable:
    """Return the cosine of each square matrix of a stack, by exponentials (as scipy.linalg.cosm).

    Examples
    --------
    >>> tt.linalg.cosm(np.zeros((2, 2))).eval().round(6)
    array([[1., 0.],
           [0., 1.]])
    """
    a = as_square_matrices("cosm", A)
    if a.type.numpy_dtype.kind == "c":
        return (expm(1j * a) + expm(-1j * a)) / 2
    return expm(_times_i(a)).real


@composed
def sinm(A: TensorLike) -> TensorVariable:
    """Return the sine of each square matrix of a stack, by exponentials (as scipy.linalg.sinm).

    Examples
    --------
    >>> tt.linalg.sinm(np.zeros((2, 2))).eval().round(6)
    array([[0., 0.],
           [0., 0.]])
    """
    a = as_square_matrices("sinm", A)
    if a.type.numpy_dtype.kind == "c":
        return (expm(1j * a) - expm(-1j * a)) * -0.5j
    # Where there is no exponential, only the real part is NaN.
    return (expm(_times_i(a)) * -1j).real


@composed
def tanm(A: TensorLike) -> TensorVariable:
    """Return the tangent of each square matrix of a stack, as a quotient (as scipy.linalg.tanm).

    Examples
    --------
    >>> tt.linalg.tanm(np.zeros((2, 2))).eval().round(6)
    array([[0., 0.],
           [0., 0.]])
    """
    return solve(cosm(A), sinm(A), b_ndim=2)


@composed
def coshm(A: TensorLike) -> TensorVariable:
    """Return the hyperbolic cosine of each square matrix of a stack, by exponentials (as scipy.linalg.coshm).

    Examples
    --------
    >>> tt.linalg.coshm(np.zeros((2, 2))).eval().round(6)
    array([[1., 0.],
           [0., 1.]])
    """
    a = as_square_matrices("coshm", A)
    return (expm(a) + expm(-a)) / 2


@composed
def sinhm(A: TensorLike) -> TensorVariable:
    """Return the hyperbolic sine of each square matrix of a stack, by exponentials (as scipy.linalg.sinhm).

    Examples
    --------
    >>> tt.linalg.sinhm(np.zeros((2, 2))).eval().round(6)
    array([[0., 0.],
           [0., 0.]])
    """
    a = as_square_matrices("sinhm", A)
    return (expm(a) - expm(-a)) / 2


@composed
def tanhm(A: TensorLike) -> TensorVariable:
    """Return the hyperbolic tangent of each square matrix of a stack, as a quotient (as scipy.linalg.tanhm).

    Examples
    --------
    >>> tt.linalg.tanhm(np.zeros((2, 2))).eval().round(6)
    array([[0., 0.],
           [0., 0.]])
    """
    return solve(coshm(A), sinhm(A), b_ndim=2)


def _times_i(a: TensorVariable) -> TensorVariable:
    """Return i times a real tensor, in its precision."""
    result: TensorVariable = complex_(zeros_like(a), a)
    return result
