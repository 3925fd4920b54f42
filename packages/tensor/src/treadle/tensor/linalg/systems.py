"""Linear systems and LU factors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import as_flag, composed
from treadle.tensor.arguments import as_choice
from treadle.tensor.diagonals import diagonal
from treadle.tensor.dimshuffle import expand_dims, matrix_transpose, squeeze
from treadle.tensor.errors import ShapeError
from treadle.tensor.linear_systems import Solve
from treadle.tensor.matrix_op import as_on_error, as_square_matrices, as_system
from treadle.tensor.reduction import all_
from treadle.tensor.scalar.arithmetic import true_div
from treadle.tensor.scalar.cast import switch
from treadle.tensor.scalar.comparison import isfinite, neq
from treadle.tensor.scalar.logic import bitwise_and
from treadle.tensor.triangles import tril, triu
from treadle.tensor.triangular import SolveTriangular

if TYPE_CHECKING:
    from treadle.tensor.matrix_op import MatrixOp
    from treadle.tensor.variable import TensorLike, TensorVariable

__all__ = ["solve"]

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
        found = expand_dims(all_(is_regular, axis=-1), (-2, -1))
        return switch(found, true_div(b, expand_dims(entries, -1)), np.full((), np.nan, b.dtype))
    op: MatrixOp
    if kind.endswith("triangular"):
        op = SolveTriangular(kind.startswith("lower"), False, check_finite, on_error)
    elif kind in {"diagonal", "tridiagonal", "banded"}:
        op = Solve("gen", False, check_finite, on_error)
        if kind != "banded":
            width = 1 if kind == "tridiagonal" else 0
            a = triu(tril(a, width), -width)
    else:
        op = Solve(kind, lower, check_finite, on_error)
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
