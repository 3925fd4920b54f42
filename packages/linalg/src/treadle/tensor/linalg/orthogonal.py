"""Orthogonal factors: QR, singular values, and what follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treadle.graph import as_flag, composed
from treadle.tensor.arguments.values import as_choice, as_integer, as_option
from treadle.tensor.arrangement.rearrangement import flip
from treadle.tensor.control.conditional import ifelse
from treadle.tensor.elementwise.arithmetic import abs_, clip, maximum, mul
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import ge, gt, lt
from treadle.tensor.elementwise.trigonometric import arccos, arcsin
from treadle.tensor.errors import MatrixShapeError, ShapeError
from treadle.tensor.indexing.gathering import take_along_axis
from treadle.tensor.linalg.ops.eigenvalues import Eigh, Eigvalsh
from treadle.tensor.linalg.ops.matrix_op import REAL_OF, as_matrices, as_on_error
from treadle.tensor.linalg.ops.qr import QR, HouseholderProduct
from treadle.tensor.linalg.ops.svd import SVD, PolarFactor
from treadle.tensor.products.product import adjoint, matmul
from treadle.tensor.reductions.reduction import max_, sum_
from treadle.tensor.shapes.dimshuffle import expand_dims, squeeze
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.sorting.sorting import argsort, sort
from treadle.tensor.types.conversion import as_tensor_variable, tensors

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    QRFactors = TensorVariable | tuple[TensorVariable | tuple[TensorVariable, ...], ...]

__all__ = ["householder_product", "null_space", "orth", "polar", "qr", "subspace_angles", "svd", "svdvals"]


class QRResult(NamedTuple):
    """The two factors, named as in NumPy's result."""

    Q: TensorVariable
    R: TensorVariable


_MODES = {"reduced": "economic", "complete": "full"}


@composed
def qr(
    A: TensorLike,
    mode: str = "full",
    overwrite_a: bool = False,
    pivoting: bool = False,
    lwork: int | None = None,
    *,
    check_finite: bool = True,
    on_error: str = "nan",
) -> QRFactors:
    """Return the QR factors of matrices: ``A = Q @ R`` (as scipy.linalg.qr, and numpy.linalg.qr by its modes' names).

    The last two dimensions are the matrices'.

    Parameters
    ----------
    A
        Matrices ``(..., m, n)``; k is the smaller length.
    mode
        ``"full"`` or ``"complete"``: Q ``(..., m, m)`` and R ``(..., m, n)``; ``"economic"`` or ``"reduced"``: Q
        ``(..., m, k)`` and R ``(..., k, n)``; ``"r"``: R ``(..., m, n)`` alone; ``"raw"``: ``((qr, tau), R)``, where
        ``qr`` and ``tau`` are what `householder_product` takes and R is ``(..., k, n)``.
    pivoting
        Whether to exchange columns so that the diagonal of R does not increase in absolute value. Their positions P,
        int32, are the last result then: ``A[:, P] = Q @ R``.
    overwrite_a, lwork, check_finite
        Taken for SciPy's sake, without effect: rewriting decides where results are computed.
    on_error
        What becomes of a matrix with NaN or infinities: ``"nan"``, NaN for its results; ``"raise"``, a `MatrixError`.

    Notes
    -----
    By Householder reflections of LAPACK: the diagonal of R may be negative. Derivatives (S. Walter, L. Lehmann and R.
    Lamour, 2012; D. and J. Roberts, 2020) are defined where the first k columns are linearly independent; through the
    last m - k columns of a full Q, of results that depend on the space alone which they span; through ``qr`` and
    ``tau`` there are none.
    """
    if lwork is not None:
        as_integer("qr: lwork", lwork)
    for name, flag in (("overwrite_a", overwrite_a), ("check_finite", check_finite)):
        as_flag(f"qr: {name}", flag)
    kind = as_choice("qr: mode", mode, ("full", "economic", "r", "raw", "complete", "reduced"))
    (a,) = as_matrices("qr", A)
    op = QR(_MODES.get(kind, kind), as_flag("qr: pivoting", pivoting), as_on_error("qr", on_error))
    factors = tensors(op(a, return_list=True))
    if op.mode == "raw":
        return (tuple(factors[:2]), *factors[2:])
    if len(factors) == 1:
        return factors[0]
    return tuple(factors) if op.pivoting else QRResult(*factors)


@composed
def householder_product(A: TensorLike, tau: TensorLike) -> TensorVariable:
    """Return the first n columns of products of k Householder reflections (as torch.linalg.householder_product).

    Parameters
    ----------
    A
        Matrices ``(..., m, n)`` that hold the reflections' vectors below the diagonal, as ``qr(a, mode="raw")`` returns
        them; at least as many rows as columns.
    tau
        Their factors ``(..., k)``, at most n of them.

    Raises
    ------
    ShapeError
        If known lengths are not m >= n >= k.
    """
    a, factors = as_matrices("householder_product", A, tau, core=(2, 1))
    m, n, k = *a.type.shape[-2:], factors.type.shape[-1]
    known = [length for length in (m, n, k) if length is not None]
    if sorted(known, reverse=True) != known:
        msg = f"householder_product: rows >= columns >= factors is needed, got {a.type} and {factors.type}. Slice them."
        raise ShapeError(msg)
    result: TensorVariable = HouseholderProduct()(a, factors)
    return result


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
    """
    place = as_option("polar: side", side, ("right", "left"))
    (x,) = as_matrices("polar", a)
    u: TensorVariable = PolarFactor(as_on_error("polar", on_error))(x)
    p = matmul(adjoint(u), x) if place == "right" else matmul(x, adjoint(u))
    # Rounding leaves the product nearly Hermitian.
    return u, mul(p + adjoint(p), np.array(0.5, REAL_OF[x.dtype]))


def _matrix(what: str, values: TensorLike) -> TensorVariable:
    """Return one matrix: results of several would differ in length."""
    (x,) = as_matrices(what, values)
    if x.ndim != 2:
        msg = f"{what}: one matrix is needed, got {x} of type {x.type}: of a stack, results may differ in length."
        raise MatrixShapeError(msg)
    return x


def _count(x: TensorVariable, s: TensorVariable, rcond: TensorLike | None) -> TensorVariable:
    """Return how many singular values of a matrix do not count as zero."""
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
    """
    a, b = orth(A), orth(B)
    m, n = a.type.shape[0], b.type.shape[0]
    if m is not None and n is not None and m != n:
        msg = f"subspace_angles: A and B must have the same number of rows, got {m} and {n}. Check their shapes."
        raise ShapeError(msg)
    product = matmul(adjoint(a), b)
    cosines = svdvals(product)
    # Of the space of fewer dimensions, what is orthogonal to the other one.
    is_first = ge(shape_i(a, 1), shape_i(b, 1))
    rest = ifelse(is_first, b - matmul(a, product), a - matmul(b, adjoint(product)))
    sines = svdvals(rest)
    is_small = ge(mul(cosines, cosines), 0.5)
    zero = np.zeros((), cosines.dtype)
    # Slopes at 1, which are infinite, are kept out.
    small = arcsin(clip(switch(is_small, sines, zero), -1, 1))
    return switch(is_small, small, arccos(clip(switch(is_small, zero, flip(cosines)), -1, 1)))
