"""Singular values, polar factors, and the spaces that singular vectors span: the ops, and their functions."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treadle.graph import as_flag, composed, static_op
from treadle.tensor.arguments.values import as_choice, as_option
from treadle.tensor.arrangement.rearrangement import flip
from treadle.tensor.control.conditional import ifelse
from treadle.tensor.elementwise.arithmetic import abs_, clip, maximum, mul, true_div
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, lt
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.elementwise.trigonometric import arccos, arcsin
from treadle.tensor.errors import MatrixShapeError, ShapeError
from treadle.tensor.indexing.gathering import take_along_axis
from treadle.tensor.indexing.ranges import eye
from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import Eigh, Eigvalsh
from treadle.tensor.linalg.matrix_op import REAL_OF, MatrixOp, as_matrices, as_on_error, require_finite
from treadle.tensor.products.product import adjoint, matmul
from treadle.tensor.reductions.reduction import max_, sum_
from treadle.tensor.shapes.broadcasting import is_zeros
from treadle.tensor.shapes.dimshuffle import expand_dims, squeeze
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.sorting.sorting import argsort, sort
from treadle.tensor.types.conversion import as_tensor_variable, cotangent_of, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    QRFactors = TensorVariable | tuple[TensorVariable | tuple[TensorVariable, ...], ...]

__all__ = ["SVD", "PolarFactor", "null_space", "orth", "polar", "subspace_angles", "svd", "svdvals"]


@static_op
class SVD(MatrixOp):
    """The singular value decomposition: ``A = U diag(s) Vh`` with orthonormal columns of U and rows of Vh.

    Outputs: U, the singular values s in descending order, and Vh; or s alone. The signs of vectors, or for complex
    matrices their phases, and the basis where singular values coincide, are LAPACK's choice, and so are the further
    columns of `full_matrices`.

    Derivatives of vectors hold for all results that do not depend on that choice, where no two singular values coincide
    (and, of matrices that are not square, none is zero). Where some do, derivatives of singular values hold; those of
    vectors are infinite or NaN, unless the gradient by them is zero between such vectors.

    Parameters
    ----------
    full_matrices
        Whether U and Vh are square; else they have as many columns, and rows, as there are singular values.
    compute_uv
        Whether U and Vh are returned.
    on_error
        What becomes of matrices with elements that are not finite, or for which LAPACK does not converge.
    overwrite_a
        Whether the matrix is overwritten, which rewriting decides.
    """

    full_matrices: bool = True
    compute_uv: bool = True
    on_error: str = "nan"
    overwrite_a: bool = False

    overwritable = MappingProxyType({"overwrite_a": (0, None)})

    check_finite = True

    def __post_init__(self) -> None:
        """Check the choice."""
        super().__post_init__()
        if not self.compute_uv and self.full_matrices:
            # Equal ops for equal results.
            object.__setattr__(self, "full_matrices", False)

    @property
    def signature(self) -> str:  # type: ignore[override]  # depends on the fields
        """Core dimensions."""
        if not self.compute_uv:
            return "(m,n)->(min(m,n))"
        return "(m,n)->" + ("(m,m),(min(m,n)),(n,n)" if self.full_matrices else "(m,min(m,n)),(min(m,n)),(min(m,n),n)")

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the dtype of vectors, and the real one of values."""
        return [dtype, REAL_OF[dtype], dtype] if self.compute_uv else [REAL_OF[dtype]]

    def of_stacks(self, *stacks: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute whole stacks with NumPy."""
        return self.of_matrices(*stacks)

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the outputs for a matrix, or a stack of them, by NumPy."""
        (a,) = matrices
        require_finite(a)
        if self.compute_uv:
            return tuple(np.linalg.svd(a, full_matrices=self.full_matrices))
        return (np.linalg.svd(a, compute_uv=False),)

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise that square U and Vh are orthogonal, and that singular values are not negative."""
        outputs = output.owner.outputs if output.owner is not None else []
        if fact == "nonnegative":
            return output is outputs[len(outputs) // 2]
        return fact == "orthogonal" and self.full_matrices and output is not outputs[1]

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return U diag(ds) Vh, and what flows back from vectors (M. Giles, 2008; complex: Z. Wan and S. Zhang, 2019).

        With ``K = U^H dU`` and ``L = V^H dV``, the part between the vectors is half of ``G * (X - X^H)`` for ``X = K +
        L``, ``G = 1 / (s_j - s_i)``, and of ``H * (Y - Y^H)`` for ``Y = K - L``, ``H = 1 / (s_j + s_i)``: the sum of
        both is Giles's ``F = 1 / (s_j^2 - s_i^2)``, without differences of squares.
        """
        (a,) = tensors(inputs)
        of_factors = tensors(cotangents)
        if not self.compute_uv:
            u, s, vh = SVD(full_matrices=False, on_error=self.on_error)(a)
            of_u, of_s, of_vh = None, of_factors[0], None
        else:
            u, s, vh = tensors(outputs)
            of_u, of_vh = (None if is_zeros(g) else g for g in (of_factors[0], of_factors[2]))
            of_s = of_factors[1]
        m, n = a.type.shape[-2:]
        if self.full_matrices and (m is None or m != n):
            k = shape_i(s, s.ndim - 1)
            u, of_u = _first_columns(u, of_u, k)
            v, of_v = _first_columns(adjoint(vh), None if of_vh is None else adjoint(of_vh), k)
        else:
            v, of_v = adjoint(vh), None if of_vh is None else adjoint(of_vh)
        vh = adjoint(v)
        column, row = expand_dims(s, -2), expand_dims(s, -1)
        gradient = matmul(mul(u, expand_dims(of_s, -2)), vh)
        both = apart = None
        if of_u is not None:
            both = apart = matmul(adjoint(u), of_u)
            if m is None or n is None or m > n:
                gradient = gradient + matmul(_quotient(of_u - matmul(u, both), column), vh)
        if of_v is not None:
            of_l = matmul(adjoint(v), of_v)
            both, apart = (of_l, -of_l) if both is None or apart is None else (both + of_l, apart - of_l)
            if m is None or n is None or m < n:
                gradient = gradient + matmul(u, adjoint(_quotient(of_v - matmul(v, of_l), column)))
        if both is not None and apart is not None:
            # The terms of a vector along itself are 0 over 0, and count as 0.
            itself = eye(shape_i(s, s.ndim - 1), dtype="bool")
            between = _quotient(switch(itself, np.zeros((), a.dtype), both - adjoint(both)), column - row)
            between = mul(between + _quotient(apart - adjoint(apart), column + row), np.array(0.5, REAL_OF[a.dtype]))
            gradient = gradient + matmul(matmul(u, between), vh)
        return [cotangent_of(a, gradient)]


def _first_columns(
    u: TensorVariable, of_u: TensorVariable | None, k: TensorVariable
) -> tuple[TensorVariable, TensorVariable | None]:
    """Return the columns that belong to singular values, and the gradient by them for one by all columns."""
    first = u[..., :k]
    if of_u is None:
        return first, None
    # The further columns turn with the first ones, which they stay orthogonal to.
    return first, of_u[..., :k] - matmul(u[..., k:], matmul(adjoint(of_u[..., k:]), first))


def _quotient(x: TensorVariable, y: TensorVariable) -> TensorVariable:
    """Return x / y, and 0 for 0 / 0."""
    result: TensorVariable = true_div(x, switch(bitwise_and(eq(x, 0), eq(y, 0)), np.ones((), y.dtype), y))
    return result


@static_op
class PolarFactor(MatrixOp):
    """The factor of the polar decomposition with orthonormal columns, or rows: U Vh, by singular vectors.

    Derivatives hold where no singular value is zero, or for a square matrix at most one; second ones where no two
    coincide.

    Parameters
    ----------
    on_error
        What becomes of matrices with elements that are not finite, or for which LAPACK does not converge.
    """

    on_error: str = "nan"

    signature = "(m,n)->(m,n)"

    def of_stacks(self, *stacks: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute whole stacks with NumPy."""
        return self.of_matrices(*stacks)

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the factor of a matrix, or of a stack of them, by NumPy."""
        require_finite(*matrices)
        u, _, vh = np.linalg.svd(matrices[0], full_matrices=False)
        return (u @ vh,)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the product of singular vectors."""
        u, _, vh = SVD(full_matrices=False, on_error=self.on_error)(*inputs)
        return [matmul(u, vh)]

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return what flows back from singular vectors, of which the terms with differences of values cancel.

        Through `decompose`: 60 nodes in place of 37.
        """
        (a,), (ct,) = tensors(inputs), tensors(cotangents)
        u, s, vh = SVD(full_matrices=False, on_error=self.on_error)(a)
        column, row = expand_dims(s, -2), expand_dims(s, -1)
        right, left = matmul(ct, adjoint(vh)), matmul(adjoint(u), ct)
        inner = matmul(adjoint(u), right)
        gradient = matmul(matmul(u, _quotient(inner - adjoint(inner), column + row)), vh)
        m, n = a.type.shape[-2:]
        if m is None or n is None or m > n:
            gradient = gradient + matmul(_quotient(right - matmul(u, inner), column), vh)
        if m is None or n is None or m < n:
            gradient = gradient + matmul(u, _quotient(left - matmul(inner, vh), row))
        return [cotangent_of(a, gradient)]


class SVDResult(NamedTuple):
    """The three results, named as in NumPy's result."""

    U: TensorVariable
    S: TensorVariable
    Vh: TensorVariable


@composed
def svd(
    a: TensorLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
    on_error: str = "nan",
) -> TensorVariable | SVDResult:
    """Return the singular value decomposition ``A = U @ diag(S) @ Vh`` of matrices (as numpy.linalg.svd).

    Parameters
    ----------
    a
        Matrices ``(..., m, n)``; k is the smaller length.
    full_matrices
        Whether U is ``(..., m, m)`` and Vh ``(..., n, n)``; else ``(..., m, k)`` and ``(..., k, n)``.
    compute_uv
        Whether all three are returned; else S ``(..., k)`` alone: the singular values, real, in descending order.
    hermitian
        Whether the matrices are Hermitian, of which the lower triangle is read: their eigenvalues are computed then.
    overwrite_a, check_finite, lapack_driver
        Taken for SciPy's sake, without effect.
    on_error
        What becomes of a matrix with NaN or infinities, or for which LAPACK does not converge: ``"nan"``, NaN for its
        results; ``"raise"``, a `MatrixError`.

    Notes
    -----
    Derivatives (M. Giles, 2008; J. Townsend, 2016; Z. Wan and S. Zhang, 2019): of S always, one of several where
    singular values coincide or are zero; of U and Vh where singular values are distinct and, if m and n differ, not
    zero. Signs of singular vectors, phases of complex ones, and the further columns of full matrices, are LAPACK's
    choice: derivatives hold for results that do not depend on it.

    Examples
    --------
    >>> tt.linalg.svd([[3.0, 0.0], [0.0, 4.0]], compute_uv=False).eval()
    array([4., 3.])
    """
    for name, flag in (("overwrite_a", overwrite_a), ("check_finite", check_finite)):
        as_flag(f"svd: {name}", flag)
    as_choice("svd: lapack_driver", lapack_driver, ("gesdd", "gesvd"))
    (x,) = as_matrices("svd", a)
    is_full, has_vectors = as_flag("svd: full_matrices", full_matrices), as_flag("svd: compute_uv", compute_uv)
    choice = as_on_error("svd", on_error)
    if as_flag("svd: hermitian", hermitian):
        return _of_hermitian(x, has_vectors, choice)
    factors = SVD(is_full, has_vectors, choice)(x)
    return SVDResult(*factors) if has_vectors else factors


def _of_hermitian(x: TensorVariable, has_vectors: bool, on_error: str) -> TensorVariable | SVDResult:
    """Return the decomposition by eigenvalues: singular values are their sizes, Vh takes their signs."""
    if not has_vectors:
        return flip(sort(abs_(Eigvalsh(on_error=on_error)(x))), -1)
    w, v = Eigh(on_error=on_error)(x)
    order = expand_dims(flip(argsort(abs_(w)), -1), -2)
    w, v = take_along_axis(expand_dims(w, -2), order, -1), take_along_axis(v, order, -1)
    return SVDResult(v, squeeze(abs_(w), -2), adjoint(switch(lt(w, 0), -v, v)))


def svdvals(
    a: TensorLike, overwrite_a: bool = False, check_finite: bool = True, *, on_error: str = "nan"
) -> TensorVariable:
    """Return the singular values of matrices in descending order (as scipy.linalg.svdvals, numpy.linalg.svdvals).

    Parameters and derivatives as for `svd`.

    Examples
    --------
    >>> tt.linalg.svdvals([[3.0, 0.0], [0.0, 4.0]]).eval()
    array([4., 3.])
    """
    for name, flag in (("overwrite_a", overwrite_a), ("check_finite", check_finite)):
        as_flag(f"svdvals: {name}", flag)
    (x,) = as_matrices("svdvals", a)
    result: TensorVariable = SVD(compute_uv=False, on_error=as_on_error("svdvals", on_error))(x)
    return result


@composed
def polar(a: TensorLike, side: str = "right", *, on_error: str = "nan") -> tuple[TensorVariable, TensorVariable]:
    """Return the polar decomposition of matrices: ``a = u @ p``, or ``a = p @ u`` (as scipy.linalg.polar).

    Parameters
    ----------
    a
        Matrices ``(..., m, n)``.
    side
        Where p is: ``"right"``, ``(..., n, n)``, or ``"left"``, ``(..., m, m)``.
    on_error
        What becomes of matrices with NaN or infinities: ``"nan"`` or ``"raise"`` a `MatrixError`.

    Returns
    -------
    u, with orthonormal columns, or rows where m < n; and p, Hermitian and positive semidefinite.

    Examples
    --------
    >>> tt.linalg.polar([[2.0, 0.0], [0.0, 3.0]])[1].eval().round(12)
    array([[2., 0.],
           [0., 3.]])
    """
    place = as_option("polar: side", side, ("right", "left"))
    (x,) = as_matrices("polar", a)
    u: TensorVariable = PolarFactor(as_on_error("polar", on_error))(x)
    p = matmul(adjoint(u), x) if place == "right" else matmul(x, adjoint(u))
    # Rounding leaves the product nearly Hermitian.
    return u, mul(p + adjoint(p), np.array(0.5, REAL_OF[x.dtype]))


def _matrix(what: str, values: TensorLike) -> TensorVariable:
    """Return a value as one matrix; stacks are refused, since their results could differ in length."""
    (x,) = as_matrices(what, values)
    if x.ndim != 2:
        msg = f"{what}: one matrix is needed, got {x} of type {x.type}: of a stack, results may differ in length."
        raise MatrixShapeError(msg)
    return x


def _count(x: TensorVariable, s: TensorVariable, rcond: TensorLike | None) -> TensorVariable:
    """Return the numerical rank of a matrix: how many of its singular values do not count as zero."""
    if rcond is None:
        least = mul(cast(maximum(shape_i(x, 0), shape_i(x, 1)), s.dtype), np.array(np.finfo(s.dtype).eps, s.dtype))
    else:
        least = as_tensor_variable(rcond)
    return sum_(gt(s, mul(max_(s, initial=0), least)), dtype="int64")


@composed
def orth(A: TensorLike, rcond: TensorLike | None = None) -> TensorVariable:
    """Return an orthonormal basis of what the columns of a matrix span (as scipy.linalg.orth).

    How many vectors there are depends on values: backends that compile for fixed shapes refuse it.

    Parameters
    ----------
    A
        A matrix ``(m, n)``.
    rcond
        Singular values up to this, relative to the largest one, count as zero; by default the machine precision times
        the larger one of m and n.

    Examples
    --------
    >>> abs(tt.linalg.orth([[2.0], [0.0]])).eval()
    array([[1.],
           [0.]])
    """
    x = _matrix("orth", A)
    u, s, _ = SVD(full_matrices=False)(x)
    basis: TensorVariable = u[:, : _count(x, s, rcond)]
    return basis


@composed
def null_space(
    A: TensorLike,
    rcond: TensorLike | None = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> TensorVariable:
    """Return an orthonormal basis of the x for which ``A @ x`` is 0 (as scipy.linalg.null_space; see `orth`).

    `overwrite_a`, `check_finite` and `lapack_driver` are taken for SciPy's sake, without effect.

    Examples
    --------
    >>> abs(tt.linalg.null_space([[1.0, 0.0]])).eval()
    array([[0.],
           [1.]])
    """
    for name, flag in (("overwrite_a", overwrite_a), ("check_finite", check_finite)):
        as_flag(f"null_space: {name}", flag)
    as_choice("null_space: lapack_driver", lapack_driver, ("gesdd", "gesvd"))
    x = _matrix("null_space", A)
    _, s, vh = SVD()(x)
    return adjoint(vh[_count(x, s, rcond) :])


@composed
def subspace_angles(A: TensorLike, B: TensorLike) -> TensorVariable:
    """Return the angles between what the columns of two matrices span, descending (as scipy.linalg.subspace_angles).

    Parameters
    ----------
    A, B
        Matrices ``(m, n)`` and ``(m, k)``.

    Notes
    -----
    Small angles by their sines, others by their cosines (A. Knyazev and M. Argentati, 2002).

    Examples
    --------
    >>> tt.linalg.subspace_angles([[1.0], [0.0]], [[0.0], [1.0]]).eval().round(6)
    array([1.570796])
    """
    a, b = orth(A), orth(B)
    m, n = a.type.shape[0], b.type.shape[0]
    if m is not None and n is not None and m != n:
        msg = f"subspace_angles: A and B must have the same number of rows, got {m} and {n}. Check their shapes."
        raise ShapeError(msg)
    product = matmul(adjoint(a), b)
    cosines = svdvals(product)
    # The part of the smaller space that is orthogonal to the other one.
    is_first = ge(shape_i(a, 1), shape_i(b, 1))
    residuals = ifelse(is_first, b - matmul(a, product), a - matmul(b, adjoint(product)))
    sines = svdvals(residuals)
    is_small = ge(mul(cosines, cosines), 0.5)
    zero = np.zeros((), cosines.dtype)
    # The slopes at 1 are infinite: avoid them.
    small = arcsin(clip(switch(is_small, sines, zero), -1, 1))
    return switch(is_small, small, arccos(clip(switch(is_small, zero, flip(cosines)), -1, 1)))
