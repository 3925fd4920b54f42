"""Linear systems and LU factors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import as_flag, composed
from treadle.tensor.arguments.values import as_choice, as_items, as_option
from treadle.tensor.arrangement.diagonals import diagonal
from treadle.tensor.elementwise.arithmetic import clip, maximum, true_div
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, isfinite, neq
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.errors import ArgumentError, ShapeError, TensorTypeError
from treadle.tensor.indexing.gathering import take_along_axis
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.linalg.ops.banded import SolveBanded
from treadle.tensor.linalg.ops.linear_systems import Solve
from treadle.tensor.linalg.ops.lu import LU, LUFactor, LUSolve, PivotToPermutations
from treadle.tensor.linalg.ops.matrix_op import REAL_OF, as_matrices, as_on_error, as_square_matrices, as_system
from treadle.tensor.linalg.ops.triangular import SolveTriangular
from treadle.tensor.reductions.reduction import all_
from treadle.tensor.shapes.dimshuffle import expand_dims, matrix_transpose, shape_padleft, squeeze
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.linalg.ops.matrix_op import MatrixOp
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["lu", "lu_factor", "lu_solve", "pivot_to_permutation", "solve"]

# What SciPy calls matrices of which something is known, and the shorter names.
_ASSUMED: dict[str | None, str] = {
    None: "gen",
    "gen": "gen",
    "general": "gen",
    "sym": "sym",
    "symmetric": "sym",
    "her": "her",
    "hermitian": "her",
    "pos": "pos",
    "positive definite": "pos",
    "diagonal": "diagonal",
    "tridiagonal": "tridiagonal",
    "banded": "banded",
    "upper triangular": "upper triangular",
    "lower triangular": "lower triangular",
}


def as_assumed(what: str, assume_a: str | None) -> str:
    """Return what matrices are assumed to be, by one name for each kind."""
    return _ASSUMED[as_choice(f"{what}: assume_a", assume_a, tuple(_ASSUMED))]


@composed
def solve(
    a: TensorLike,
    b: TensorLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = "gen",
    transposed: bool = False,
    b_ndim: int | None = None,
    *,
    on_error: str = "nan",
) -> TensorVariable:
    """Return x with ``a @ x == b`` for square matrices (as numpy.linalg.solve and scipy.linalg.solve).

    Stacks of matrices broadcast. Derivatives by `a` and `b` are defined to any order; of a matrix of which one triangle
    is read, by this triangle.

    Parameters
    ----------
    a
        Square matrices; integers are converted to float64, float16 to float32.
    b
        Right sides: vectors or matrices.
    lower
        Whether the lower triangle of symmetric, Hermitian and positive definite matrices is read, or the upper one.
    overwrite_a, overwrite_b
        Without effect: rewriting decides what is overwritten.
    check_finite
        Whether a matrix or right side with NaN or infinity counts as one without a solution.
    assume_a
        What is known of the matrices, by SciPy's names: ``gen``, ``sym``, ``her``, ``pos`` or their long forms,
        ``diagonal``, ``tridiagonal``, ``banded``, ``upper triangular``, ``lower triangular``. What these say to be zero
        or a copy is not read. None is the same as ``gen``: values are not looked at, as they are in SciPy.
    transposed
        Whether to solve ``a.T @ x == b``.
    b_ndim
        1 if `b` is a vector or a stack of vectors, 2 if it is one of matrices. None takes one dimension for a vector,
        as NumPy does.
    on_error
        What becomes of matrices without a solution, such as singular ones: ``"nan"`` or ``"raise"`` a `MatrixError`.

    Raises
    ------
    ShapeError
        If the matrices are not square, or lengths do not fit.
    ArgumentError
        If a choice is none of those above.

    Examples
    --------
    >>> solve([[2.0, 1.0], [0.0, 4.0]], [4.0, 8.0]).eval()
    array([1., 2.])
    >>> solve([[2.0, 1.0], [1.0, 3.0]], [5.0, 5.0], assume_a="pos").eval()
    array([2., 1.])
    """
    as_flag("solve: overwrite_a", overwrite_a)
    as_flag("solve: overwrite_b", overwrite_b)
    kind = as_assumed("solve", assume_a)
    failing = as_on_error("solve", on_error)
    is_lower, is_checked = as_flag("solve: lower", lower), as_flag("solve: check_finite", check_finite)
    matrix, right, is_vector = as_system("solve", as_square_matrices("solve", a), b, b_ndim)
    _check_lengths("solve", matrix, right)
    if as_flag("solve: transposed", transposed):
        # A symmetric matrix is its own transpose, a Hermitian one's is its conjugate.
        if kind in {"her", "pos"}:
            matrix = matrix.conj()
        elif kind != "sym":
            matrix = matrix_transpose(matrix)
            swapped = {"upper triangular": "lower triangular", "lower triangular": "upper triangular"}
            kind = swapped.get(kind, kind)
    x = _solved(kind, matrix, right, is_lower, is_checked, failing)
    return squeeze(x, -1) if is_vector else x


def _solved(
    kind: str, a: TensorVariable, b: TensorVariable, lower: bool, check_finite: bool, on_error: str
) -> TensorVariable:
    """Solve by the op for a kind of matrices."""
    if kind == "diagonal" and on_error == "nan":
        entries = diagonal(a, 0, -2, -1)
        is_regular = neq(entries, 0)
        if check_finite:
            is_regular = bitwise_and(is_regular, bitwise_and(isfinite(entries), all_(isfinite(b), axis=-1)))
        is_solvable = expand_dims(all_(is_regular, axis=-1), (-2, -1))
        return switch(is_solvable, true_div(b, expand_dims(entries, -1)), np.full((), np.nan, b.dtype))
    op: MatrixOp
    if kind.endswith("triangular"):
        op = SolveTriangular(kind.startswith("lower"), False, check_finite, on_error)
    elif kind in {"diagonal", "tridiagonal"}:
        width = 1 if kind == "tridiagonal" else 0
        op = SolveBanded(width, width, check_finite, on_error)
        # Row k of the diagonals holds a[j + k - width, j]; what lies outside is not read.
        n = shape_i(a, -1)
        rows = arange(n) + np.arange(-width, width + 1)[:, None]
        rows = clip(rows, 0, maximum(n - 1, 0))
        a = take_along_axis(a, shape_padleft(rows, a.ndim - 2), -2)
    else:
        op = Solve("gen" if kind == "banded" else kind, lower, check_finite, on_error)
    x: TensorVariable = op(a, b)
    return x


def _check_lengths(what: str, a: TensorVariable, b: TensorVariable) -> None:
    """Refuse right sides that are known to have another length than the matrices."""
    n, m = a.type.shape[-1], b.type.shape[-2]
    if n is not None and m is not None and n != m:
        msg = (
            f"{what}: a matrix with {n} rows needs a right side of that length, got {m}: {a.type} and {b.type}. "
            "Check the shapes; vectors in a stack need b_ndim=1."
        )
        raise ShapeError(msg)


def lu_factor(
    a: TensorLike, overwrite_a: bool = False, check_finite: bool = True, *, on_error: str = "nan"
) -> tuple[TensorVariable, TensorVariable]:
    """Return LU factors in one matrix, and pivots (as scipy.linalg.lu_factor): what `lu_solve` takes.

    The matrix holds U on and above its diagonal, and L below it, whose diagonal is 1. Row i was exchanged for row
    ``pivots[i]``, one after the other. A singular matrix has factors too, without a warning: there is a zero on the
    diagonal of U, and they have no derivatives.

    Parameters
    ----------
    a
        Matrices of any shape; integers are converted to float64, float16 to float32.
    overwrite_a
        Without effect: rewriting decides what is overwritten.
    check_finite
        Whether a matrix with NaN or infinity counts as one without factors.
    on_error
        What becomes of these: ``"nan"`` or ``"raise"`` a `MatrixError`.

    Examples
    --------
    >>> factor, pivots = lu_factor([[1.0, 2.0], [2.0, 2.0]])
    >>> factor.eval(), pivots.eval()
    (array([[2. , 2. ],
           [0.5, 1. ]]), array([1, 1], dtype=int32))
    """
    as_flag("lu_factor: overwrite_a", overwrite_a)
    op = LUFactor(as_flag("lu_factor: check_finite", check_finite), as_on_error("lu_factor", on_error))
    factor, pivots = op(*as_matrices("lu_factor", a))
    return factor, pivots


@composed
def lu_solve(
    LU_and_pivots: Sequence[TensorLike],
    b: TensorLike,
    trans: int | bool = 0,
    b_ndim: int | None = None,
    check_finite: bool = True,
    overwrite_b: bool = False,
    *,
    on_error: str = "nan",
) -> TensorVariable:
    """Return x with ``a @ x == b`` for a matrix whose factors are known (as scipy.linalg.lu_solve).

    Parameters
    ----------
    LU_and_pivots
        What `lu_factor` returns for square matrices.
    b
        Right sides: vectors or matrices.
    trans
        Which system to solve: 0 for ``a @ x == b``, 1 for ``a.T @ x == b``, 2 for ``a.conj().T @ x == b``.
    b_ndim
        1 if `b` is a vector or a stack of vectors, 2 if it is one of matrices. None takes one dimension for a vector.
    check_finite
        Whether factors and right sides with NaN or infinity count as ones without a solution.
    overwrite_b
        Without effect: rewriting decides what is overwritten.
    on_error
        What becomes of these, and of singular matrices: ``"nan"`` or ``"raise"`` a `MatrixError`.

    Raises
    ------
    ArgumentError
        If `trans` is something else.
    TensorTypeError
        If the pivots are not integers, or not one for each row.

    Examples
    --------
    >>> lu_solve(lu_factor([[2.0, 1.0], [0.0, 4.0]]), [4.0, 8.0]).eval()
    array([1., 2.])
    """
    as_flag("lu_solve: overwrite_b", overwrite_b)
    pair = as_items("lu_solve: LU_and_pivots", LU_and_pivots)
    if len(pair) != 2:
        msg = f"lu_solve: factors and pivots are needed, got {len(pair)} values. Pass what lu_factor returns."
        raise ArgumentError(msg)
    form = as_option("lu_solve: trans", trans, (0, 1, 2))
    pivots = as_tensor_variable(pair[1])
    if pivots.ndim == 0 or pivots.type.numpy_dtype.kind not in "iu":
        msg = f"lu_solve: pivots must be integers, one for each row, got {pivots} of type {pivots.type}."
        raise TensorTypeError(msg)
    factor, right, is_vector = as_system("lu_solve", as_square_matrices("lu_solve", pair[0]), b, b_ndim)
    _check_lengths("lu_solve", factor, right)
    batch = max(factor.ndim - 2, pivots.ndim - 1)
    factor, right = (shape_padleft(x, batch + 2 - x.ndim) for x in (factor, right))
    # With the transpose: of the conjugate, and back.
    turned = form == 1 and factor.type.numpy_dtype.kind == "c"
    op = LUSolve(form != 0, as_flag("lu_solve: check_finite", check_finite), as_on_error("lu_solve", on_error))
    x: TensorVariable = op(
        factor, cast(shape_padleft(pivots, batch + 1 - pivots.ndim), "int32"), right.conj() if turned else right
    )
    x = x.conj() if turned else x
    return squeeze(x, -1) if is_vector else x


@composed
def lu(
    a: TensorLike,
    permute_l: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
    overwrite_a: bool = False,
    *,
    on_error: str = "nan",
) -> tuple[TensorVariable, ...]:
    """Return factors with ``a == p @ l @ u`` (as scipy.linalg.lu).

    `p` is a permutation matrix, `l` lower triangular with a diagonal of 1, `u` upper triangular. A singular matrix has
    factors too, but there they have no derivatives.

    Parameters
    ----------
    a
        Matrices of any shape; integers are converted to float64, float16 to float32.
    permute_l
        Whether to return ``p @ l`` and `u` only.
    check_finite
        Whether a matrix with NaN or infinity counts as one without factors.
    p_indices
        Whether to return int32 positions `p` with ``a == l[p] @ u`` in place of the matrix.
    overwrite_a
        Without effect: rewriting decides what is overwritten.
    on_error
        What becomes of matrices without factors: ``"nan"`` or ``"raise"`` a `MatrixError`.

    Examples
    --------
    >>> p, low, up = lu([[1.0, 2.0], [2.0, 2.0]], p_indices=True)
    >>> (low[p] @ up).eval()
    array([[1., 2.],
           [2., 2.]])
    """
    as_flag("lu: overwrite_a", overwrite_a)
    op = LU(as_flag("lu: check_finite", check_finite), as_on_error("lu", on_error))
    rows, low, up = op(*as_matrices("lu", a))
    as_indices = as_flag("lu: p_indices", p_indices)
    if as_flag("lu: permute_l", permute_l):
        return take_along_axis(low, expand_dims(rows, -1), -2), up
    if as_indices:
        return cast(rows, "int32"), low, up
    chosen = eq(expand_dims(rows, -1), arange(shape_i(rows, -1)))
    return cast(chosen, REAL_OF[low.dtype]), low, up


def pivot_to_permutation(p: TensorLike, inverse: bool = False) -> TensorVariable:
    """Return the permutation that the pivots of `lu_factor` stand for, int64.

    Parameters
    ----------
    p
        Pivots of square matrices: row i is exchanged for row ``p[i]``, one after the other.
    inverse
        Whether to return the rows of `a` in their new order, with ``a[result] == l @ u``; or, by default, positions
        with ``a == (l @ u)[result]``.

    Raises
    ------
    TensorTypeError
        If the pivots are not integers.

    Examples
    --------
    >>> pivot_to_permutation([2, 2, 2]).eval()
    array([1, 2, 0])
    """
    pivots = as_tensor_variable(p)
    if pivots.ndim == 0 or pivots.type.numpy_dtype.kind not in "iu":
        msg = f"pivot_to_permutation: integers are needed, got {pivots} of type {pivots.type}."
        raise TensorTypeError(msg)
    op = PivotToPermutations(as_flag("pivot_to_permutation: inverse", inverse))
    result: TensorVariable = op(cast(pivots, "int32"))
    return result
