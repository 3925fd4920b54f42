"""Least squares, pseudo-inverses, ranks and condition numbers: the ops, and their functions."""

from __future__ import annotations

from functools import reduce
from types import EllipsisType
from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import as_flag, composed, static_op
from treadle.tensor.arguments.values import known_integer
from treadle.tensor.arrangement.triangles import tril
from treadle.tensor.elementwise.arithmetic import abs_, add, maximum, mul, true_div
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, gt, isfinite, isnan, lt
from treadle.tensor.elementwise.logic import bitwise_and, invert
from treadle.tensor.errors import ArgumentError, MatrixShapeError
from treadle.tensor.indexing.ranges import eye
from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import Eigh, Eigvalsh
from treadle.tensor.linalg.decompositions.svd import SVD
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.matrix_op import REAL_OF, MatrixOp, as_matrices, as_on_error, as_system, require_finite
from treadle.tensor.linalg.norms import matrix_norm
from treadle.tensor.products.product import adjoint, matmul, stacked_term
from treadle.tensor.reductions.moments import squared_size
from treadle.tensor.reductions.reduction import all_, any_, max_, sum_
from treadle.tensor.shapes.broadcasting import is_zeros
from treadle.tensor.shapes.dimshuffle import expand_dims, squeeze
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import as_tensor_variable, constant, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.linalg.norms import Order
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["Lstsq", "MatrixPinv", "cond", "lstsq", "matrix_rank", "pinv", "pinvh"]


@static_op
class MatrixPinv(MatrixOp):
    """The Moore-Penrose pseudo-inverses of matrices.

    Inputs: matrices, and for each the relative size up to which singular values count as zero.

    Derivatives hold where the rank does not change: singular values pass that size nowhere near.

    Parameters
    ----------
    hermitian
        Whether the matrices are Hermitian: their eigenvalues are computed then, of the lower triangle.
    on_error
        What becomes of matrices with elements that are not finite, or for which LAPACK does not converge.
    """

    hermitian: bool = False
    on_error: str = "nan"

    signature = "(m,n),()->(n,m)"

    def of_stacks(self, *stacks: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute whole stacks with NumPy."""
        return self.of_matrices(*stacks)

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the pseudo-inverse of a matrix, or of a stack of them, by NumPy."""
        a, size = matrices
        require_finite(a)
        batch = np.broadcast_shapes(a.shape[:-2], size.shape)
        inverses = np.linalg.pinv(np.broadcast_to(a, (*batch, *a.shape[-2:])), size.real, self.hermitian)
        return (inverses.astype(a.dtype, copy=False),)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the inverses of singular values between the vectors."""
        a, size = tensors(inputs)
        least = expand_dims(size.real, -1)
        if self.hermitian:
            w, v = Eigh(on_error=self.on_error)(a)
            values, of_rows, of_columns = w, v, adjoint(v)
            # In ascending order: the largest is at an end.
            least = mul(least, maximum(abs_(w[..., :1]), abs_(w[..., -1:])))
        else:
            u, values, vh = SVD(full_matrices=False, on_error=self.on_error)(a)
            of_rows, of_columns = adjoint(vh), adjoint(u)
            least = mul(least, values[..., :1])
        return [matmul(mul(of_rows, expand_dims(_inverse(values, least), -2)), of_columns)]

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the gradient by the matrix (G. Golub and V. Pereyra, 1973, theorem 4.3).

        With P = A^+ it is ``-P^H G P^H + (I - A P) G^H P P^H + P^H P G^H (I - P A)``.

        Through `decompose`: 81 nodes in place of 18, and NaN where singular values coincide.
        """
        (a, _), (p,), (ct,) = tensors(inputs), tensors(outputs), tensors(cotangents)
        turned, back = adjoint(p), adjoint(ct)
        left, right = matmul(matmul(back, p), turned), matmul(turned, matmul(p, back))
        gradient = left - matmul(a, matmul(p, left)) + right - matmul(matmul(right, p), a)
        return [stacked_term(gradient - matmul(matmul(turned, ct), turned), a), None]

    def connection_pattern(self, node: object) -> list[list[bool]]:
        """Say that there is no derivative by the cutoff below which singular values count as zero."""
        return [[True], [False]]


@static_op
class Lstsq(MatrixOp):
    """The solutions of least norm among those that make ``|a @ x - b|`` smallest.

    Inputs: matrices a, matrices of right sides b, and for each a the relative size up to which singular values count
    as zero, the machine precision if it is negative. Outputs: x; the sums of squares of ``a @ x - b`` in each column;
    the rank of a, int32; its singular values.

    Derivatives hold where the rank does not change.

    Parameters
    ----------
    on_error
        What becomes of problems with elements that are not finite, or for which LAPACK does not converge.
    """

    on_error: str = "nan"

    check_finite = True
    signature = "(m,n),(m,k),()->(n,k),(k),(),(min(m,n))"

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the dtype of solutions, the real one of sizes, and that of a rank."""
        return [dtype, REAL_OF[dtype], "int32", REAL_OF[dtype]]

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Solve one problem with NumPy."""
        a, b, size = matrices
        require_finite(a, b)
        x, residuals, rank, s = np.linalg.lstsq(a, b, rcond=float(size.real))
        if residuals.shape != b.shape[1:]:
            # NumPy leaves them out where they are rounding errors, or the rank is not full.
            residuals = (np.abs(b - a @ x) ** 2).sum(0)
        return x, residuals, np.asarray(rank), s

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the solution by singular vectors."""
        a, b, _ = tensors(inputs)
        usable = all_(isfinite(b), axis=(-2, -1), keepdims=True)
        u, s, vh = SVD(full_matrices=False, on_error=self.on_error)(switch(usable, a, np.array(np.nan, a.dtype)))
        least = mul(expand_dims(self._size(inputs).real, -1), s[..., :1])
        x = matmul(adjoint(vh), mul(expand_dims(_inverse(s, least), -1), matmul(adjoint(u), b)))
        rank = sum_(gt(s, least), axis=-1, dtype="int32")
        return [x, sum_(squared_size(b - matmul(a, x)), axis=-2), rank, s]

    def _size(self, inputs: Sequence[Variable]) -> TensorVariable:
        """Return the relative size up to which singular values count as zero."""
        size = tensors(inputs)[2]
        return switch(lt(size.real, 0), np.array(np.finfo(size.dtype).eps, size.dtype), size)

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the gradients (G. Golub and V. Pereyra, 1973), by the differential of ``A^+ b``.

        With P = A^+, g = P^H ct and r = b - A x: g by b, and ``-g x^H + r (P g)^H + P^H x (ct - P A ct)^H`` by A.

        Through `decompose`: 119 nodes in place of 24, and wrong where singular values coincide (by 0.4 of 1).
        """
        (a, b, _), (x, *_) = tensors(inputs), tensors(outputs)
        ct, of_residuals, _, of_s = tensors(cotangents)
        of_a: list[TensorVariable] = []
        of_b: list[TensorVariable] = []
        rest = b - matmul(a, x)
        if not is_zeros(ct):
            p = MatrixPinv(on_error=self.on_error)(a, self._size(inputs))
            turned = adjoint(p)
            g = matmul(turned, ct)
            of_b.append(g)
            through_p = matmul(rest, adjoint(matmul(p, g))) - matmul(g, adjoint(x))
            of_a.append(through_p + matmul(matmul(turned, x), adjoint(ct - matmul(p, matmul(a, ct)))))
        if not is_zeros(of_residuals):
            # At the least sum, its derivative by x is 0.
            g = mul(rest, expand_dims(of_residuals, -2)) * np.array(2, REAL_OF[a.dtype])
            of_b.append(g)
            of_a.append(-matmul(g, adjoint(x)))
        if not is_zeros(of_s):
            u, _, vh = SVD(full_matrices=False, on_error=self.on_error)(a)
            of_a.append(matmul(mul(u, expand_dims(of_s, -2)), vh))
        return [*(stacked_term(reduce(add, g), v) if g else None for g, v in ((of_a, a), (of_b, b))), None]

    def connection_pattern(self, node: object) -> list[list[bool]]:
        """Say that there is no derivative of the rank, nor by the cutoff of singular values."""
        return [[True, True, False, True], [True, True, False, False], [False] * 4]


def _inverse(values: TensorVariable, least: TensorVariable) -> TensorVariable:
    """Return 1 / values, and 0 for values of at most the size `least`."""
    return true_div(np.ones((), values.dtype), switch(gt(abs_(values), least), values, np.array(np.inf, values.dtype)))


def _epsilon(a: TensorVariable) -> TensorVariable:
    """Return the machine precision times the larger length of matrices, in their real dtype."""
    kind = REAL_OF[a.dtype]
    larger = maximum(shape_i(a, a.ndim - 2), shape_i(a, a.ndim - 1))
    return mul(cast(larger, kind), np.array(np.finfo(kind).eps, kind))


@composed
def lstsq(
    a: TensorLike,
    b: TensorLike,
    rcond: TensorLike | None = None,
    *,
    b_ndim: int | None = None,
    on_error: str = "nan",
) -> tuple[TensorVariable, TensorVariable, TensorVariable, TensorVariable]:
    """Return the x for which ``|a @ x - b|`` is smallest (as numpy.linalg.lstsq): the one of least norm, of several.

    Parameters
    ----------
    a
        Matrices ``(..., m, n)``.
    b
        A vector ``(m,)``, or matrices ``(..., m, k)``, each column of which is a problem of its own.
    rcond
        Singular values up to this, relative to the largest one, count as zero. None: the machine precision times the
        larger one of m and n; negative: the machine precision.
    b_ndim
        1 if b is a stack of vectors; by default only what has one dimension is a vector.
    on_error
        What becomes of problems with NaN or infinities: ``"nan"``, NaN for their results; ``"raise"``, a `MatrixError`.

    Returns
    -------
    The solutions; the sums of squares of ``a @ x - b``; the ranks, int32; and the singular values. As in NumPy the sums
    are left out, a vector of no elements, where m <= n or the rank is less than n; of stacks they always are there.

    Notes
    -----
    Derivatives hold where the rank does not change (G. Golub and V. Pereyra, 1973). How many sums there are depends on
    values: backends that compile for fixed shapes refuse a graph that needs them, unless m <= n is known.

    Examples
    --------
    >>> tt.linalg.lstsq([[1.0], [1.0]], [1.0, 3.0])[0].eval().round(6)
    array([2.])
    """
    left, right, is_vector = as_system("lstsq", a, b, b_ndim)
    m, n = left.type.shape[-2:]
    size = _epsilon(left) if rcond is None else as_tensor_variable(rcond)
    left, right, size = as_matrices("lstsq", left, right, cast(size, left.dtype), core=(2, 2, 0))
    x, residuals, rank, s = Lstsq(as_on_error("lstsq", on_error))(left, right, size)
    if left.ndim > 2:
        return squeeze(x, -1) if is_vector else x, squeeze(residuals, -1) if is_vector else residuals, rank, s
    if m is not None and n is not None and m <= n:
        residuals = constant(np.zeros(0, residuals.dtype))
    else:
        is_full = eq(rank, shape_i(left, 1))
        if m is None or n is None:
            is_full = bitwise_and(is_full, gt(shape_i(left, 0), shape_i(left, 1)))
        residuals = residuals[: switch(is_full, shape_i(residuals, 0), 0)]
    return squeeze(x, -1) if is_vector else x, residuals, rank, s


@composed
def pinv(
    x: TensorLike,
    rcond: TensorLike | bool | None = None,
    hermitian: bool = False,
    *,
    rtol: TensorLike | EllipsisType | None = ...,
    on_error: str = "nan",
) -> TensorVariable:
    """Return the Moore-Penrose pseudo-inverses of matrices (as numpy.linalg.pinv).

    Parameters
    ----------
    x
        Matrices ``(..., m, n)``.
    rcond
        Singular values up to this, relative to the largest one, count as zero: a number, or one for each matrix; 1e-15
        if None. True or False is taken for `hermitian`.
    hermitian
        Whether the matrices are Hermitian, of which the lower triangle is read: their eigenvalues are computed then.
    rtol
        The same as `rcond`; but None is the machine precision times the larger length. Pass one of the two.
    on_error
        What becomes of matrices with NaN or infinities: ``"nan"`` or ``"raise"`` a `MatrixError`.

    Notes
    -----
    Derivatives hold where the rank does not change (G. Golub and V. Pereyra, 1973).

    Examples
    --------
    >>> tt.linalg.pinv([[2.0, 0.0], [0.0, 4.0]]).eval()
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    if isinstance(rcond, bool):
        return pinv(x, hermitian=rcond, rtol=rtol, on_error=on_error)
    if rcond is not None and rtol is not ...:
        msg = "pinv: `rtol` and `rcond` can't be both set. Pass one of them."
        raise ArgumentError(msg)
    (a,) = as_matrices("pinv", x)
    if rtol is None:
        size = _epsilon(a)
    elif isinstance(rtol, EllipsisType):
        size = as_tensor_variable(1e-15 if rcond is None else rcond)
    else:
        size = as_tensor_variable(rtol)
    is_hermitian = as_flag("pinv: hermitian", hermitian)
    if is_hermitian:
        a = _from_triangle("pinv", a, True)
    return _pinv(a, size, is_hermitian, as_on_error("pinv", on_error))


def _pinv(a: TensorVariable, size: TensorVariable, hermitian: bool, on_error: str) -> TensorVariable:
    a, sizes = as_matrices("pinv", a, cast(size, a.dtype), core=(2, 0))
    result: TensorVariable = MatrixPinv(hermitian, on_error)(a, sizes)
    return result


def _from_triangle(what: str, a: TensorVariable, lower: bool) -> TensorVariable:
    """Return the Hermitian matrices with the lower or upper triangle of `a`."""
    m, n = a.type.shape[-2:]
    if m is not None and n is not None and m != n:
        msg = f"{what}: Last 2 dimensions of the array must be square, got {a} of type {a.type}. Leave out hermitian."
        raise MatrixShapeError(msg)
    below = tril(a if lower else adjoint(a), -1)
    diagonal = mul(a.real, eye(shape_i(a, a.ndim - 1), dtype=REAL_OF[a.dtype]))
    return add(below, adjoint(below), diagonal)


@composed
def pinvh(
    a: TensorLike,
    atol: TensorLike | None = None,
    rtol: TensorLike | None = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
    *,
    on_error: str = "nan",
) -> TensorVariable | tuple[TensorVariable, TensorVariable]:
    """Return the pseudo-inverses of Hermitian matrices by their eigenvalues (as scipy.linalg.pinvh).

    Parameters
    ----------
    a
        Matrices ``(..., n, n)``, of which one triangle is read.
    atol, rtol
        Eigenvalues of an absolute value up to ``atol + rtol * the largest one`` count as zero; by default 0, and the
        machine precision times n.
    lower
        Whether the lower triangle is read, or the upper one.
    return_rank
        Whether to return how many eigenvalues do not count as zero too.
    check_finite
        Taken for SciPy's sake, without effect: NaN and infinities always are a failure.
    on_error
        What becomes of matrices with NaN or infinities: ``"nan"`` or ``"raise"`` a `MatrixError`.

    Examples
    --------
    >>> tt.linalg.pinvh([[2.0, 0.0], [0.0, 4.0]]).eval()
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    as_flag("pinvh: check_finite", check_finite)
    (x,) = as_matrices("pinvh", a)
    choice = as_on_error("pinvh", on_error)
    matrices = _from_triangle("pinvh", x, as_flag("pinvh: lower", lower))
    kind = REAL_OF[x.dtype]
    sizes = abs_(Eigvalsh(on_error=choice)(matrices))
    # Empty matrices have no largest eigenvalue.
    largest = max_(sizes, axis=-1, initial=0)
    least = mul(_epsilon(x) if rtol is None else cast(as_tensor_variable(rtol), kind), largest)
    if atol is not None:
        least = least + cast(as_tensor_variable(atol), kind)
    relative = switch(gt(largest, 0), true_div(least, largest), np.zeros((), kind))
    inverse = _pinv(matrices, relative, True, choice)
    if not as_flag("pinvh: return_rank", return_rank):
        return inverse
    return inverse, sum_(gt(sizes, expand_dims(least, -1)), axis=-1, dtype="int64")


@composed
def matrix_rank(
    A: TensorLike,
    tol: TensorLike | None = None,
    hermitian: bool = False,
    *,
    rtol: TensorLike | None = None,
) -> TensorVariable:
    """Return the ranks of matrices, int64 (as numpy.linalg.matrix_rank): how many singular values exceed a size.

    Parameters
    ----------
    A
        Matrices ``(..., m, n)``; of a vector the rank is 0 if all elements are 0, else 1.
    tol
        The size: a number, or one for each matrix.
    hermitian
        Whether the matrices are Hermitian, of which the lower triangle is read.
    rtol
        The size relative to the largest singular value, by default the machine precision times the larger length. Pass
        this or `tol`.

    Examples
    --------
    >>> tt.linalg.matrix_rank(np.ones((2, 2))).eval()
    array(1)
    """
    if tol is not None and rtol is not None:
        msg = "matrix_rank: `tol` and `rtol` can't be both set. Pass one of them."
        raise ArgumentError(msg)
    var = as_tensor_variable(A)
    if var.ndim < 2:
        return cast(invert(all_(eq(var, 0))), "int64")
    (a,) = as_matrices("matrix_rank", var)
    s = abs_(Eigvalsh()(a)) if as_flag("matrix_rank: hermitian", hermitian) else SVD(compute_uv=False)(a)
    if tol is None:
        relative = _epsilon(a) if rtol is None else as_tensor_variable(rtol)
        least = mul(max_(s, axis=-1, keepdims=True, initial=0), expand_dims(relative, -1))
    else:
        least = expand_dims(as_tensor_variable(tol), -1)
    return sum_(gt(s, least), axis=-1, dtype="int64")


@composed
def cond(x: TensorLike, p: Order = None) -> TensorVariable:
    """Return the condition numbers of matrices (as numpy.linalg.cond), infinite for singular ones.

    Parameters
    ----------
    x
        Matrices ``(..., m, n)``; square ones for other norms than 2 and -2.
    p
        The norm, as `norm` takes it; None is 2, the ratio of the largest singular value to the smallest.

    Raises
    ------
    MatrixShapeError
        If the matrices are known to have no elements, or not to be square.

    Examples
    --------
    >>> tt.linalg.cond([[2.0, 0.0], [0.0, 1.0]]).eval().round(6)
    np.float64(2.0)
    """
    (a,) = as_matrices("cond", x)
    if 0 in a.type.shape[-2:]:
        msg = f"cond: it is not defined on empty arrays, got {a} of type {a.type}. Pass matrices with elements."
        raise MatrixShapeError(msg)
    if p is None or known_integer(p) in {2, -2}:
        s = SVD(compute_uv=False)(a)
        condition = true_div(s[..., -1], s[..., 0]) if p == -2 else true_div(s[..., 0], s[..., -1])
    else:
        condition = mul(matrix_norm(a, ord=p), matrix_norm(MatrixInverse()(a), ord=p))
    # A singular matrix that holds no NaN itself.
    singular = bitwise_and(isnan(condition), invert(any_(isnan(a), axis=(-2, -1))))
    return switch(singular, np.array(np.inf, condition.dtype), condition)
