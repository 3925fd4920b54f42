"""Cholesky factors, and solving by them: the ops, and their functions."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import lazy_module, text_of
from treadle.graph import as_flag, static_op
from treadle.tensor.arguments.values import as_items
from treadle.tensor.arrangement.triangles import tril, triu
from treadle.tensor.elementwise.arithmetic import add, mul, neg
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.errors import ArgumentError, DtypeError, TensorTypeError
from treadle.tensor.indexing.ranges import eye
from treadle.tensor.linalg.matrix_op import (
    REAL_OF,
    MatrixOp,
    as_on_error,
    as_square_matrices,
    as_system,
    by_columns,
    not_finite,
    require_finite,
    settled,
)
from treadle.tensor.linalg.triangular_systems import SolveTriangular
from treadle.tensor.products.product import adjoint, matmul, stacked_term
from treadle.tensor.shapes.dimshuffle import squeeze
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import constant, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scipy.linalg import lapack

    from treadle.graph import Type, Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable
else:
    lapack = lazy_module("scipy.linalg.lapack")

__all__ = ["Cholesky", "CholeskyPullback", "CholeskySolve", "cho_factor", "cho_solve", "cholesky"]


@static_op
class Cholesky(MatrixOp):
    """The triangular factor of Hermitian positive definite matrices: L of A = L L^H, or U of A = U^H U.

    Only that triangle of a matrix is read; the other one of the result is zero.

    Parameters
    ----------
    lower
        Whether L is made, of the lower triangle; else U, of the upper one.
    check_finite
        Whether a matrix with NaN or infinities in the triangle counts as not positive definite.
    on_error
        What becomes of matrices that are not positive definite: ``"nan"`` or ``"raise"``.
    overwrite_a
        Whether the matrix is overwritten, which rewriting decides.
    """

    lower: bool = True
    check_finite: bool = True
    on_error: str = "nan"
    overwrite_a: bool = False

    signature = "(m,m)->(m,m)"
    overwritable = MappingProxyType({"overwrite_a": (0, 0)})

    def of_stacks(self, *stacks: np.ndarray) -> tuple[np.ndarray, ...]:
        """Factor with NumPy."""
        return self.of_matrices(*stacks)

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Factor with NumPy, which takes stacks too."""
        (a,) = matrices
        if self.check_finite:
            require_finite(np.tril(a) if self.lower else np.triu(a))
        try:
            return (np.linalg.cholesky(a, upper=not self.lower),)
        except np.linalg.LinAlgError as error:
            msg = "the matrix is not positive definite"
            raise np.linalg.LinAlgError(msg) from error

    def of_overwritten(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Factor with LAPACK's potrf; by rows, the triangle is the other one of the transpose."""
        (a,) = matrices
        placed = by_columns(a)
        if placed is None:
            return None
        if self.check_finite:
            require_finite(np.tril(a) if self.lower else np.triu(a))
        x, turned = placed
        (potrf,) = lapack.get_lapack_funcs(("potrf",), (x,))
        factor, info = potrf(x, lower=self.lower != turned, clean=True, overwrite_a=True)
        if info:
            msg = "the matrix is not positive definite"
            raise np.linalg.LinAlgError(msg)
        return (factor.T if turned else factor,)

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise the triangle; the factor of a diagonal matrix is diagonal."""
        if fact == ("lower_triangular" if self.lower else "upper_triangular"):
            return True
        diagonal = fact in {"diagonal", "lower_triangular", "upper_triangular", "symmetric"}
        return diagonal and output.owner is not None and holds("diagonal", output.owner.inputs[0])

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the gradient by the triangle that is read."""
        factor, ct = tensors(outputs)[0], tensors(cotangents)[0]
        if factor.type.numpy_dtype.kind == "c":
            return [_pulled_back(factor, ct, self.lower)]
        return [CholeskyPullback(self.lower)(factor, ct)]


@static_op
class CholeskyPullback(MatrixOp):
    """The gradients by real positive definite matrices from those by their Cholesky factors.

    Inputs: the factors, and the gradients by them, of which the factor's triangle counts. The result is the gradient by
    the triangle that is read of each matrix, and zero in the other. Where BLAS is at hand it takes a sixth of the
    operations of the formula with inverses (Murray, Differentiation of the Cholesky decomposition, 2016, section 3.2).

    Parameters
    ----------
    lower
        Whether the factors are lower triangles, else upper ones.
    overwrite_b
        Whether the right side is overwritten, which rewriting decides.
    """

    lower: bool = True
    overwrite_b: bool = False

    signature = "(m,m),(m,m)->(m,m)"
    overwritable = MappingProxyType({"overwrite_b": (1, 0)})

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the type of the matrices.

        Raises
        ------
        DtypeError
            If they are not real.
        """
        outputs = super().infer(*types)
        if types[0].numpy_dtype.kind != "f":  # type: ignore[attr-defined]  # a tensor's, now
            msg = f"{self}: real factors are needed, got {types[0]}. Differentiate a Cholesky factor in their place."
            raise DtypeError(msg)
        return outputs

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Solve two triangular systems, by SciPy."""
        factor, ct = matrices if self.lower else (x.T for x in matrices)
        if not factor.size:
            return (factor,)
        half = np.tril(np.tril(factor).T @ np.tril(ct))
        np.fill_diagonal(half, half.diagonal() / 2)
        (trtrs,) = lapack.get_lapack_funcs(("trtrs",), (factor,))
        once = trtrs(factor, half + half.T, lower=True, trans=1)[0]
        gradient = np.tril(trtrs(factor, once.T, lower=True, trans=1)[0])
        np.fill_diagonal(gradient, gradient.diagonal() / 2)
        return (gradient if self.lower else gradient.T,)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the gradients by solutions of triangular systems."""
        factor, ct = tensors(inputs)
        return [_pulled_back(tril(factor) if self.lower else triu(factor), ct, self.lower)]

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise the triangle."""
        return fact == ("lower_triangular" if self.lower else "upper_triangular")


def _pulled_back(factor: TensorVariable, ct: TensorVariable, lower: bool) -> TensorVariable:
    """Return P(S + S^H), where S is L^-H P(L^H ct) L^-1 and P takes the lower triangle with half the diagonal.

    See Murray, Differentiation of the Cholesky decomposition, 2016, section 3.1; for an upper triangle by the conjugate
    transposes.
    """
    if not lower:
        factor, ct = adjoint(factor), adjoint(ct)
    turned = adjoint(factor)
    half = _half_lower(matmul(turned, ct))
    # The factor has no zero on its diagonal, or is NaN.
    solve = SolveTriangular(lower=False, check_finite=False)
    gradient = _half_lower(solve(turned, adjoint(solve(turned, add(half, adjoint(half))))))
    return gradient if lower else adjoint(gradient)


def _half_lower(x: TensorVariable) -> TensorVariable:
    """Return the lower triangle with half the diagonal."""
    dtype = REAL_OF[x.dtype]
    weights = switch(eye(shape_i(x, -1), dtype="bool"), constant(0.5, dtype=dtype), constant(1, dtype=dtype))
    half: TensorVariable = mul(tril(x), weights)
    return half


@static_op
class CholeskySolve(MatrixOp):
    """The solutions x of A x = b by Cholesky factors of A, of which only one triangle is read.

    Parameters
    ----------
    lower
        Whether the factor is L of A = L L^H; else U of A = U^H U.
    check_finite
        Whether a factor or a right side with NaN or infinities counts as a failure.
    on_error
        What becomes of failures: ``"nan"`` or ``"raise"``.
    overwrite_b
        Whether the right side is overwritten, which rewriting decides.
    """

    lower: bool = True
    check_finite: bool = True
    on_error: str = "nan"
    overwrite_b: bool = False

    signature = "(m,m),(m,n)->(m,n)"
    overwritable = MappingProxyType({"overwrite_b": (1, 0)})

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Solve with LAPACK's potrs."""
        factor, b = matrices
        if self.check_finite:
            require_finite(np.tril(factor) if self.lower else np.triu(factor), b)
        if not b.size:
            return (b,)
        (potrs,) = lapack.get_lapack_funcs(("potrs",), (factor, b))
        return (potrs(factor, b, lower=self.lower, overwrite_b=self.overwrite_b and b.flags.writeable)[0],)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Solve with the factor and with its conjugate transpose."""
        factor, b = tensors(inputs)
        low, up = (factor, adjoint(factor)) if self.lower else (adjoint(factor), factor)
        x = SolveTriangular(False, False, False)(up, SolveTriangular(True, False, False)(low, b))
        failed = not_finite(tril(low)) | not_finite(b) if self.check_finite else None
        return settled(self, inputs, [x], failed, "a factor or right side has NaN or infinities")

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve for the cotangent: A is Hermitian. What flows to A = L L^H flows to L twice (Giles 2008, 2.3).

        Through `decompose`: 60 nodes in place of 30.
        """
        factor, b = tensors(inputs)
        x, by_b = tensors(outputs)[0], self(factor, cotangents[0])
        low = tril(factor) if self.lower else adjoint(triu(factor))
        # Minus the gradient by A, plus its conjugate transpose, times L.
        if b.type.shape[-1] == 1:
            # Products with vectors, in place of one of two matrices.
            product = add(mul(by_b, matmul(adjoint(x), low)), mul(x, matmul(adjoint(by_b), low)))
        else:
            outer = matmul(by_b, adjoint(x))
            product = matmul(add(outer, adjoint(outer)), low)
        by_factor = tril(product) if self.lower else triu(adjoint(product))
        return [stacked_term(neg(by_factor), factor), stacked_term(by_b, b)]


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

    Examples
    --------
    >>> tt.linalg.cho_factor([[4.0, 2.0], [2.0, 5.0]], lower=True)[0].eval()
    array([[2., 0.],
           [1., 2.]])
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

    Examples
    --------
    >>> A = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> tt.linalg.cho_solve(tt.linalg.cho_factor(A), [8.0, 12.0]).eval()
    array([1., 2.])
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
