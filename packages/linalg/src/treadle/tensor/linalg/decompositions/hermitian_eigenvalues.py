"""Eigenvalues and eigenvectors of symmetric and Hermitian matrices: the ops, and their functions."""

from __future__ import annotations

from abc import abstractmethod
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

import numpy as np

from treadle.config import text_of
from treadle.graph import as_flag, composed, static_op
from treadle.tensor.arguments.values import as_choice, as_integer, as_items, check_flags
from treadle.tensor.arrangement.triangles import tril, triu
from treadle.tensor.elementwise.arithmetic import abs_, mul, sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, le
from treadle.tensor.errors import ArgumentError, ShapeError
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.linalg.decompositions.cholesky import cholesky
from treadle.tensor.linalg.linear_systems import of_triangle
from treadle.tensor.linalg.matrix_op import (
    REAL_OF,
    MatrixOp,
    as_matrices,
    as_on_error,
    as_square_matrices,
    require_finite,
)
from treadle.tensor.linalg.triangular_systems import solve_triangular
from treadle.tensor.products.product import adjoint, matmul
from treadle.tensor.reductions.reduction import max_
from treadle.tensor.shapes.broadcasting import is_zeros
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["Eigh", "Eigvalsh", "eigh", "eigvalsh"]


@static_op
class _OfHermitian(MatrixOp):
    """Base of ops on symmetric or Hermitian matrices, of which one triangle is read."""

    # Whether the lower triangle is read, or the upper one. The imaginary part of the diagonal is never read.
    lower: bool = True
    # What becomes of matrices whose triangle is not finite, or for which LAPACK does not converge.
    on_error: str = "nan"
    # Whether the matrix is overwritten, which rewriting decides.
    overwrite_a: bool = False

    @property
    def uplo(self) -> Literal["L", "U"]:
        """The triangle, by NumPy's letter."""
        return "L" if self.lower else "U"

    @abstractmethod
    def computed(self, a: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the outputs for a stack of finite matrices, by NumPy."""

    def of_stacks(self, *stacks: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Return the outputs by NumPy, which takes whole stacks."""
        (a,) = stacks
        # NaN or infinities may lie in the triangle that is not read.
        return self.computed(a) if np.isfinite(a).all() else None

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the outputs for one matrix."""
        (a,) = matrices
        read = np.tril(a) if self.lower else np.triu(a)
        require_finite(read)
        return self.computed(read)


@static_op
class Eigh(_OfHermitian):
    """The eigenvalues of symmetric or Hermitian matrices, in ascending order, and eigenvectors of length 1.

    Outputs: the eigenvalues, real; and matrices of which each column is an eigenvector. Their signs, or for complex
    matrices their phases, and the basis where eigenvalues coincide, are LAPACK's choice.

    Derivatives of eigenvectors hold for all results that do not depend on that choice. Where two eigenvalues coincide,
    to rounding of the largest, the vectors have no derivative along each other: these terms are left out, so that
    functions of the eigenvalues, and of the space that such vectors span, keep theirs.
    """

    signature = "(m,m)->(m),(m,m)"
    overwritable = MappingProxyType({"overwrite_a": (0, 1)})

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the real dtype of eigenvalues, and the dtype of eigenvectors."""
        return [REAL_OF[dtype], dtype]

    def computed(self, a: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return eigenvalues and eigenvectors."""
        return tuple(np.linalg.eigh(a, self.uplo))

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise that the eigenvectors are orthogonal."""
        return fact == "orthogonal" and output.owner is not None and output is output.owner.outputs[1]

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return V (diag(dw) + F * (V^H dV)) V^H, where F is 1 / (w_j - w_i) (M. Giles, 2008, section 3.1)."""
        (w, v), (of_values, of_vectors) = tensors(outputs), tensors(cotangents)
        inner = mul(v, expand_dims(of_values, -2))
        if not is_zeros(of_vectors):
            inner = inner + matmul(v, mul(inverse_gaps(w), matmul(adjoint(v), of_vectors)))
        return [of_triangle(matmul(inner, adjoint(v)), self.lower, hermitian=True)]


@static_op
class Eigvalsh(_OfHermitian):
    """The eigenvalues of symmetric or Hermitian matrices, in ascending order.

    Where eigenvalues coincide, the gradient is one of several: that of `Eigh`, of which second derivatives hold where
    none coincide.
    """

    signature = "(m,m)->(m)"
    overwritable = MappingProxyType({"overwrite_a": (0, None)})

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the real dtype."""
        return [REAL_OF[dtype]]

    def computed(self, a: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the eigenvalues."""
        return (np.linalg.eigvalsh(a, self.uplo),)

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return V diag(dw) V^H, with the eigenvectors that are computed for it (M. Giles, 2008, section 3.1)."""
        (a,), (of_values,) = tensors(inputs), tensors(cotangents)
        _, v = Eigh(self.lower, self.on_error)(a)
        g = matmul(mul(v, expand_dims(of_values, -2)), adjoint(v))
        return [of_triangle(g, self.lower, hermitian=True)]


def inverse_gaps(w: TensorVariable) -> TensorVariable:
    """Return 1 / (w_j - w_i), and 0 where the two are equal to rounding of the largest."""
    gaps = sub(expand_dims(w, -2), expand_dims(w, -1))
    largest = expand_dims(max_(abs_(w), axis=-1, keepdims=True, initial=0), -1)
    real = REAL_OF[w.dtype]
    equal = le(abs_(gaps), mul(largest, np.array(np.finfo(real).eps, real)))
    zero, one = np.zeros((), w.dtype), np.ones((), w.dtype)
    # Both branches are computed: 1 in place of a gap of 0 keeps the division defined.
    inverse: TensorVariable = switch(equal, zero, one / switch(equal, one, gaps))
    return inverse


_STANDARD = ("ev", "evd", "evr", "evx")

_GENERALISED = ("gv", "gvd", "gvx")


class EighResult(NamedTuple):
    """Eigenvalues, and matrices of which each column is an eigenvector."""

    eigenvalues: TensorVariable
    eigenvectors: TensorVariable


@overload
def eigh(
    a: TensorLike,
    b: TensorLike | str | None = None,
    lower: bool = True,
    UPLO: str | None = None,
    driver: str | None = "evr",
    *,
    eigvals_only: Literal[False] = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: None = None,
    on_error: str = "nan",
) -> EighResult: ...


@overload
def eigh(
    a: TensorLike,
    b: TensorLike | str | None = None,
    lower: bool = True,
    UPLO: str | None = None,
    driver: str | None = "evr",
    *,
    eigvals_only: Literal[True],
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: None = None,
    on_error: str = "nan",
) -> TensorVariable: ...


def eigh(
    a: TensorLike,
    b: TensorLike | str | None = None,
    lower: bool = True,
    UPLO: str | None = None,
    driver: str | None = "evr",
    *,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: None = None,
    on_error: str = "nan",
) -> EighResult | TensorVariable:
    """Return the eigenvalues and eigenvectors of symmetric or Hermitian matrices (as scipy.linalg.eigh).

    The eigenvalues are real and ascend; ``v[..., :, i]`` is the eigenvector of ``w[..., i]``, of length 1. Signs,
    phases, and the basis where eigenvalues coincide are LAPACK's choice; derivatives hold for what does not depend on
    it (see `Eigh`).

    Parameters
    ----------
    a
        Matrices; integers are converted to float64.
    b
        Positive definite matrices, for the generalised problem that `type` says; it is solved by their Cholesky factors
        L. Vectors then have length 1 under b, or under its inverse for type 3. A letter here is taken for `UPLO`, which
        stands second in numpy.linalg.eigh.
    lower
        Whether the lower triangle of a and b is read, or the upper one. What is not read has gradient 0.
    UPLO
        ``"L"`` or ``"U"``, in place of `lower`.
    driver, overwrite_a, overwrite_b, check_finite
        As in SciPy, without effect: backends choose the routine, and what is read is always checked.
    eigvals_only
        Whether to return the eigenvalues alone, as `eigvalsh`.
    type
        1 for a x = w b x, 2 for a b x = w x, 3 for b a x = w x.
    subset_by_index
        The first and the last of the eigenvalues wanted, counted from 0; all if None.
    subset_by_value
        None: how many eigenvalues lie between two values is known only when the program runs.
    on_error
        What becomes of a matrix that is not finite in what is read, for which LAPACK does not converge, or whose b is
        not positive definite: ``"nan"`` fills its results with NaN, ``"raise"`` raises a `MatrixError`.

    Raises
    ------
    ArgumentError
        For a choice that there is not.
    ShapeError
        If matrices are known not to be square.

    Examples
    --------
    >>> import numpy as np
    >>> w, v = eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> w.eval()
    array([1., 3.])
    """
    check_flags("eigh", overwrite_a=overwrite_a, overwrite_b=overwrite_b, check_finite=check_finite)
    vectors = not as_flag("eigh: eigvals_only", eigvals_only)
    w, *v = _solved("eigh", a, b, lower, UPLO, driver, type, subset_by_index, subset_by_value, on_error, vectors)
    return EighResult(w, *v) if vectors else w


def eigvalsh(
    a: TensorLike,
    b: TensorLike | str | None = None,
    lower: bool = True,
    UPLO: str | None = None,
    *,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: None = None,
    driver: str | None = None,
    on_error: str = "nan",
) -> TensorVariable:
    """Return the eigenvalues of symmetric or Hermitian matrices, ascending (as scipy.linalg.eigvalsh).

    Parameters are those of `eigh`.

    Examples
    --------
    >>> tt.linalg.eigvalsh([[2.0, 0.0], [0.0, 3.0]]).eval()
    array([2., 3.])
    """
    check_flags("eigvalsh", overwrite_a=overwrite_a, overwrite_b=overwrite_b, check_finite=check_finite)
    arguments = (lower, UPLO, driver, type, subset_by_index, subset_by_value, on_error, False)
    return _solved("eigvalsh", a, b, *arguments)[0]


def _solved(
    what: str,
    a: TensorLike,
    b: TensorLike | str | None,
    lower: bool,
    uplo: str | None,
    driver: str | None,
    kind: int,
    by_index: Sequence[int] | None,
    by_value: None,
    on_error: str,
    vectors: bool,
) -> list[TensorVariable]:
    """Return the selected eigenvalues, and with `vectors` their eigenvectors."""
    letter = b if isinstance(b, str) else uplo
    chosen = as_choice(f"{what}: UPLO", letter.upper() if isinstance(letter, str) else letter, ("L", "U", None))
    is_lower = as_flag(f"{what}: lower", lower)
    low = is_lower if chosen is None else chosen == "L"
    failing = as_on_error(what, on_error)
    as_choice(f"{what}: driver", driver, (*_STANDARD, *_GENERALISED, None))
    if as_integer(f"{what}: type", kind) not in {1, 2, 3}:
        msg = f"{what}: type must be 1, 2 or 3, got {kind}."
        raise ArgumentError(msg)
    matrices, factor = as_square_matrices(what, a), None
    if b is not None and not isinstance(b, str):
        matrices, factor = _reduced(what, matrices, as_square_matrices(what, b), low, kind, failing)
    elif driver in _GENERALISED:
        msg = f"{what}: the driver {driver} is for generalised problems. Pass b, or leave the driver out."
        raise ArgumentError(msg)
    subset = _subset(what, by_index, by_value, matrices.type.shape[-1])
    results = tensors((Eigh if vectors else Eigvalsh)(low, failing)(matrices, return_list=True))
    if subset is not None:
        results = [x[..., subset] for x in results]
    if vectors and factor is not None:
        w, v = results
        back = matmul(factor, v) if kind == 3 else solve_triangular(factor, v, "C", lower=True, b_ndim=2)
        return [w, back]
    return results


@composed
def _reduced(
    what: str, a: TensorLike, b: TensorLike, lower: bool, kind: int, on_error: str
) -> tuple[TensorVariable, TensorVariable]:
    """Return Hermitian matrices with the eigenvalues of a generalised problem, and L of b = L L^H.

    They are L^-1 a L^-H for a x = w b x, else L^H a L, as LAPACK's sygst makes them.
    """
    matrices, b_matrices = as_matrices(what, a, b)
    n, m = matrices.type.shape[-1], b_matrices.type.shape[-1]
    if n is not None and m is not None and n != m:
        msg = (
            f"{what}: a and b must be matrices of one shape, got {n} and {m} rows: {matrices.type}, {b_matrices.type}."
        )
        raise ShapeError(msg)
    factor = cholesky(b_matrices, lower, on_error=on_error)
    factor = factor if lower else adjoint(factor)
    half = tril(matrices) if lower else triu(matrices)
    row, column = (expand_dims(arange(shape_i(half, -1)), axis) for axis in (1, 0))
    full = switch(eq(row, column), cast(half.real, half.dtype), half + adjoint(half))
    if kind > 1:
        return matmul(adjoint(factor), matmul(full, factor)), factor
    once = solve_triangular(factor, full, lower=True, b_ndim=2, on_error=on_error)
    return solve_triangular(factor, adjoint(once), lower=True, b_ndim=2, on_error=on_error), factor


def _subset(what: str, by_index: Sequence[int] | None, by_value: object, n: int | None) -> slice | None:
    """Return which eigenvalues are selected, None for all."""
    if by_value is not None:
        msg = (
            f"{what}: how many eigenvalues lie between two values is known only when the program runs, got "
            f"subset_by_value={text_of(by_value)}. Compute all, and select among them."
        )
        raise ArgumentError(msg)
    if by_index is None:
        return None
    ends = [as_integer(f"{what}: subset_by_index", k) for k in as_items(f"{what}: subset_by_index", by_index)]
    if len(ends) != 2 or not 0 <= ends[0] <= ends[1] or (n is not None and ends[1] >= n):
        most = "less than their number" if n is None else f"{n - 1} at most"
        msg = f"{what}: subset_by_index must be two positions in ascending order, from 0, {most}, got {ends}."
        raise ArgumentError(msg)
    return slice(ends[0], ends[1] + 1)
