"""Functions of square matrices: the exponential, the sign, the square root and the logarithm."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.config import lazy_module, new_lock
from treadle.graph import static_op
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import gt
from treadle.tensor.elementwise.exponential import log, sqrt
from treadle.tensor.indexing.ranges import eye
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.linalg.ops.linear_systems import Solve
from treadle.tensor.linalg.ops.matrix_equations import Sylvester
from treadle.tensor.linalg.ops.matrix_op import REAL_OF, MatrixOp, require_finite
from treadle.tensor.linalg.ops.matrix_sign import MatrixSign, derivative_along, mean_row_sum, of_output_type
from treadle.tensor.products.product import adjoint
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import constant, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    import scipy.linalg

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorVariable
else:
    scipy = lazy_module("scipy")

__all__ = ["Expm", "Logm", "Sqrtm"]

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

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the derivative at the adjoint, in the direction of the cotangent (Mathias 1996)."""
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
        return [of_output_type(self, inputs, sign[..., :n, n:] * sqrt(size))]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve the equation of the adjoint, R* W + W R* = cotangent."""
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
            # It warns where it finds its result not to be good to 13 digits.
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
        whole = (terms * weights).sum(axis=0) * np.array(2**_ROOTS, REAL_OF[a.dtype])
        return [of_output_type(self, inputs, whole + log(size) * one)]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the derivative at the adjoint, in the direction of the cotangent (Mathias 1996)."""
        a, ct = tensors(inputs)[0], tensors(cotangents)[0]
        return [derivative_along(Logm(), adjoint(a), ct)[1]]


# After so many square roots, matrices of a condition up to 1e16 are near enough to the identity.
_ROOTS = 8


def _size(a: TensorVariable) -> TensorVariable:
    """Return the norm of each matrix, or 1 where that is 0."""
    norm = mean_row_sum(a)
    return switch(gt(norm, 0), norm, constant(1, dtype=norm.dtype))


def _require_principal(a: np.ndarray) -> None:
    require_finite(a)
    values = np.linalg.eigvals(a)
    least = np.abs(values).max(initial=0) * np.finfo(a.dtype).eps * len(a)
    if np.any((np.abs(values.imag) <= least) & (values.real <= least)):
        msg = "an eigenvalue is 0, or real and negative"
        raise np.linalg.LinAlgError(msg)
