"""Linear systems with dense and banded matrices: the ops, and their functions."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import lazy_module
from treadle.graph import as_flag, composed, static_op
from treadle.tensor.arguments.values import as_choice, as_integer, as_items
from treadle.tensor.arrangement.diagonals import diagonal
from treadle.tensor.elementwise.arithmetic import add, clip, maximum, minimum, mul, neg, sub, true_div
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, isfinite, lt, neq
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.errors import ShapeError
from treadle.tensor.indexing.gathering import take_along_axis
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.linalg.matrix_op import (
    REAL_OF,
    MatrixOp,
    as_on_error,
    as_square_matrices,
    as_system,
    by_columns,
    check_lengths,
    require_finite,
)
from treadle.tensor.linalg.triangular_systems import SolveTriangular
from treadle.tensor.ops.fields import fix_integers
from treadle.tensor.products.product import adjoint, matmul, stacked_term
from treadle.tensor.reductions.reduction import all_, sum_
from treadle.tensor.shapes.broadcasting import sum_to
from treadle.tensor.shapes.dimshuffle import expand_dims, matrix_transpose, shape_padleft, squeeze
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.shapes.shape_specification import specify_shape
from treadle.tensor.types.conversion import constant, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from treadle.graph import Variable
    from treadle.tensor.linalg.matrix_op import MatrixOp
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    lapack: ModuleType
else:
    lapack = lazy_module("scipy.linalg.lapack")

__all__ = ["Solve", "SolveBanded", "SolveHermitianBanded", "solve", "solve_banded", "solveh_banded"]

ASSUMED = ("gen", "sym", "her", "pos")


@static_op
class Solve(MatrixOp):
    """The solutions X of A X = B for square matrices A, by LAPACK's solver for what A is assumed to be.

    Parameters
    ----------
    assume_a
        ``"gen"``: anything; ``"sym"``: symmetric, also where it is complex; ``"her"``: Hermitian; ``"pos"``: Hermitian
        and positive definite.
    lower
        Which triangle of a matrix is read that is assumed to be its own transpose; the gradient is by this one. Of a
        Hermitian one's diagonal only the real part is. Always False for ``"gen"``.
    check_finite
        Whether matrices with NaN or infinity, in what is read of A or in B, have no result.
    on_error
        What becomes of singular matrices, and of those that are not positive definite where they were assumed to be.
    overwrite_a
        Whether the matrix is overwritten, which rewriting decides.
    overwrite_b
        Whether the right side is overwritten, which rewriting decides.
    """

    assume_a: str = "gen"
    lower: bool = False
    check_finite: bool = True
    on_error: str = "nan"
    overwrite_a: bool = False
    overwrite_b: bool = False

    signature = "(m,m),(m,n)->(m,n)"
    overwritable = MappingProxyType({"overwrite_a": (0, None), "overwrite_b": (1, 0)})
    latex = r"#1^{-1} \, #2"

    def __post_init__(self) -> None:
        """Bring the fields to one form."""
        super().__post_init__()
        as_choice("Solve: assume_a", self.assume_a, ASSUMED)
        object.__setattr__(self, "lower", bool(self.lower) and self.assume_a != "gen")

    def of_stacks(self, *stacks: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Solve with NumPy where nothing is assumed."""
        if self.assume_a != "gen":
            return None
        if self.check_finite:
            require_finite(*stacks)
        with np.errstate(all="ignore"):
            return (np.linalg.solve(*stacks),)

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Solve with LAPACK."""
        a, b = matrices
        if self.assume_a != "gen":
            a = np.tril(a) if self.lower else np.triu(a)
        if self.check_finite:
            require_finite(a, b)
        if self.assume_a == "gen":
            with np.errstate(all="ignore"):
                return (np.linalg.solve(a, b),)
        if not b.size:
            return (b,)
        name = {"sym": "sysv", "her": "hesv", "pos": "posv"}[self.assume_a]
        if self.assume_a == "her" and a.dtype.kind == "f":
            name = "sysv"
        (routine,) = lapack.get_lapack_funcs((name,), (a, b))
        *_, x, info = routine(a, b, lower=self.lower)
        if info:
            what = "not positive definite" if self.assume_a == "pos" else "singular"
            msg = f"the matrix is {what}"
            raise np.linalg.LinAlgError(msg)
        return (x,)

    def of_overwritten(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Solve with the factors of the matrix, or of its transpose, in its place, where nothing is assumed."""
        a, b = matrices
        placed = by_columns(a) if self.overwrite_a else None
        if self.assume_a != "gen" or placed is None or not b.size:
            return None
        if self.check_finite:
            require_finite(a, b)
        x, turned = placed
        getrf, getrs = lapack.get_lapack_funcs(("getrf", "getrs"), (x, b))
        factors, pivots, info = getrf(x, overwrite_a=True)
        if info:
            msg = "the matrix is singular"
            raise np.linalg.LinAlgError(msg)
        return (getrs(factors, pivots, b, trans=int(turned), overwrite_b=self.overwrite_b and b.flags.writeable)[0],)

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve with the conjugate transpose, and multiply (M. Giles, 2008, section 2.3.1)."""
        (a, b), (x,), (ct,) = tensors(inputs), tensors(outputs), tensors(cotangents)
        # A Hermitian matrix is its own conjugate transpose, a symmetric one's is its conjugate.
        turned = adjoint(a) if self.assume_a == "gen" else a.conj() if self.assume_a == "sym" else a
        by_b = self(turned, ct)
        by_a = neg(matmul(by_b, adjoint(x)))
        if self.assume_a != "gen":
            by_a = of_triangle(by_a, self.lower, hermitian=self.assume_a != "sym")
        return [sum_to(by_a, a), sum_to(by_b, b)]


def of_triangle(g: TensorVariable, lower: bool, hermitian: bool) -> TensorVariable:
    """Return the gradient by the triangle that is read, from the gradient by all elements of the full matrices.

    What is read is an element of the other triangle too, conjugated where they are Hermitian: their diagonal is real.
    """
    row, column = (expand_dims(arange(shape_i(g, -1)), axis) for axis in (1, 0))
    both = add(g, adjoint(g) if hermitian else matrix_transpose(g))
    is_complex = g.type.numpy_dtype.kind == "c"
    diagonal = cast(g.real, g.dtype) if hermitian and is_complex else g
    beside = gt(row, column) if lower else lt(row, column)
    return switch(eq(row, column), diagonal, switch(beside, both, np.zeros((), g.dtype)))


@static_op
class SolveBanded(MatrixOp):
    """The solutions x of A x = b for banded matrices A, of which the diagonals are given, the uppermost first.

    Parameters
    ----------
    lower, upper
        How many diagonals there are below and above the main one.
    check_finite
        Whether NaN or infinities in a diagonal or a right side count as a failure.
    on_error
        What becomes of failures and singular matrices: ``"nan"`` or ``"raise"``.
    """

    lower: int
    upper: int
    check_finite: bool = True
    on_error: str = "nan"

    def __post_init__(self) -> None:
        """Bring the fields to one form."""
        super().__post_init__()
        fix_integers(self, "lower", "upper")

    @property
    def signature(self) -> str:  # type: ignore[override]  # depends on the number of diagonals
        """One row for each diagonal."""
        return f"({self.lower + self.upper + 1},m),(m,n)->(m,n)"

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Solve with LAPACK's gbsv."""
        ab, b = matrices
        ab = _inside(ab, self.upper)
        if self.check_finite:
            require_finite(ab, b)
        if not b.size:
            return (b,)
        # Extra rows on top, which pivoting fills.
        wide = np.concatenate([np.zeros((self.lower, ab.shape[1]), ab.dtype), ab])
        (gbsv,) = lapack.get_lapack_funcs(("gbsv",), (ab, b))
        *_, x, info = gbsv(self.lower, self.upper, wide, b)
        if info:
            msg = "the matrix is singular"
            raise np.linalg.LinAlgError(msg)
        return (x,)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Solve with the whole matrix."""
        ab, b = tensors(inputs)
        ab = specify_shape(ab, (*[None] * (ab.ndim - 2), self.lower + self.upper + 1, None))
        return [Solve(check_finite=self.check_finite, on_error=self.on_error)(_whole(ab, self.upper), b)]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve with the conjugate transpose; minus the products of that with x^H flow to the diagonals.

        Through `decompose`: a solution with the whole matrix, m**3 operations in place of m, of as many digits.
        """
        ab, b = tensors(inputs)
        turned = replace(self, lower=self.upper, upper=self.lower)
        # Its row k holds the diagonal that stands in row lower + upper - k of this one, moved.
        k, column = _rows_and_columns(ab)
        by_b = turned(_taken(ab[..., ::-1, :].conj(), k, column - self.lower + k), cotangents[0])
        by_ab = neg(_products(by_b, tensors(outputs)[0], ab, self.upper))
        return [stacked_term(by_ab, ab), stacked_term(by_b, b)]


@static_op
class SolveHermitianBanded(MatrixOp):
    """The solutions x of A x = b for Hermitian positive definite banded matrices, of which one triangle is given.

    Parameters
    ----------
    lower
        Whether the main diagonal and those below it are given, in this order; else those above it and the main one.
    check_finite
        Whether NaN or infinities in a diagonal or a right side count as a failure.
    on_error
        What becomes of failures and matrices that are not positive definite: ``"nan"`` or ``"raise"``.
    """

    lower: bool = False
    check_finite: bool = True
    on_error: str = "nan"

    signature = "(r,m),(m,n)->(m,n)"

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Solve with LAPACK's pbsv."""
        ab, b = matrices
        ab = _inside(ab, 0 if self.lower else ab.shape[0] - 1)
        if self.check_finite:
            require_finite(ab, b)
        if not b.size:
            return (b,)
        (pbsv,) = lapack.get_lapack_funcs(("pbsv",), (ab, b))
        _, x, info = pbsv(ab, b, lower=self.lower)
        if info:
            msg = "the matrix is not positive definite"
            raise np.linalg.LinAlgError(msg)
        return (x,)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Solve with the whole matrix, of which the same triangle is read."""
        ab, b = tensors(inputs)
        solve = Solve("pos", self.lower, self.check_finite, self.on_error)
        return [solve(_whole(ab, self._above(ab)), b)]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve with the same matrix; each element off the main diagonal stands for two of the matrix.

        Through `decompose`: 45 nodes in place of 36, and m**3 operations in place of m.
        """
        ab, b = tensors(inputs)
        x, by_b, above = tensors(outputs)[0], self(ab, cotangents[0]), self._above(ab)
        both = add(_products(by_b, x, ab, above), _products(x, by_b, ab, above))
        half, one = (constant(n, dtype=REAL_OF[ab.dtype]) for n in (-0.5, -1))
        weights = switch(eq(_rows_and_columns(ab)[0], above), half, one)
        return [stacked_term(mul(both, weights), ab), stacked_term(by_b, b)]

    def _above(self, ab: TensorVariable) -> TensorLike:
        """Return how many rows of `ab` are diagonals above the main one."""
        return 0 if self.lower else sub(shape_i(ab, -2), 1)


def _inside(ab: np.ndarray, above: int) -> np.ndarray:
    """Return diagonals with zeros outside of the matrix."""
    k, column = np.ogrid[: ab.shape[0], : ab.shape[1]]
    row = column + k - above
    inside: np.ndarray = np.where((row >= 0) & (row < ab.shape[1]), ab, np.zeros((), ab.dtype))
    return inside


def _rows_and_columns(ab: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return the positions in both dimensions, as a column and a row."""
    return expand_dims(arange(shape_i(ab, -2)), 1), expand_dims(arange(shape_i(ab, -1)), 0)


def _taken(x: TensorVariable, row: TensorVariable, column: TensorVariable) -> TensorVariable:
    """Return the elements of matrices at positions, zero where these lie outside."""
    n, m = shape_i(x, -2), shape_i(x, -1)
    inside = bitwise_and(bitwise_and(ge(row, 0), lt(row, n)), bitwise_and(ge(column, 0), lt(column, m)))
    nearest = x[..., minimum(maximum(row, 0), n - 1), minimum(maximum(column, 0), m - 1)]
    elements: TensorVariable = switch(inside, nearest, np.zeros((), x.dtype))
    return elements


def _whole(ab: TensorVariable, above: TensorLike) -> TensorVariable:
    """Return the full matrices whose diagonals are the rows of `ab`."""
    place = arange(shape_i(ab, -1))
    row, column = expand_dims(place, 1), expand_dims(place, 0)
    return _taken(ab, add(sub(row, column), above), column)


def _products(w: TensorVariable, x: TensorVariable, ab: TensorVariable, above: TensorLike) -> TensorVariable:
    """Return the diagonals of w x^H, as many as `ab` has."""
    k, column = _rows_and_columns(ab)
    row = sub(add(column, k), above)
    m = shape_i(ab, -1)
    rows = w[..., minimum(maximum(row, 0), m - 1), :]
    summed = sum_(mul(rows, expand_dims(x.conj(), -3)), axis=-1)
    diagonals: TensorVariable = switch(bitwise_and(ge(row, 0), lt(row, m)), summed, np.zeros((), summed.dtype))
    return diagonals


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
    check_lengths("solve", matrix, right)
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


def solve_banded(
    l_and_u: tuple[int, int],
    ab: TensorLike,
    b: TensorLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    *,
    b_ndim: int | None = None,
    on_error: str = "nan",
) -> TensorVariable:
    """Solve a x = b for banded matrices (as scipy.linalg.solve_banded).

    On C the cost grows with the length times the square of the number of diagonals; the other backends solve with the
    whole matrix.

    Parameters
    ----------
    l_and_u
        How many diagonals there are below and above the main one.
    ab
        The diagonals as rows: ``ab[u + i - j, j] == a[i, j]``. Places outside of the matrix are not read.
    b
        The right sides.
    overwrite_ab, overwrite_b
        Without effect: rewriting decides what is overwritten.
    check_finite
        Whether NaN or infinities count as failures.
    b_ndim
        1 if b is a vector or a stack of vectors, 2 if it is one of matrices; None takes one dimension for a vector.
    on_error
        What becomes of failures and singular matrices: ``"nan"`` makes their solutions NaN, ``"raise"`` raises a
        `MatrixError`, which is a ``numpy.linalg.LinAlgError``.

    Raises
    ------
    ShapeError
        If lengths are known and do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> solve_banded((1, 0), np.array([[2.0, 4.0], [1.0, 0.0]]), np.array([2.0, 9.0])).eval()
    array([1., 2.])
    """
    as_flag("solve_banded: overwrite_ab", overwrite_ab)
    as_flag("solve_banded: overwrite_b", overwrite_b)
    pair = [as_integer("solve_banded: l_and_u", n, 0) for n in as_items("solve_banded: l_and_u", l_and_u)]
    if len(pair) != 2:
        msg = f"solve_banded: two numbers of diagonals are needed, below and above the main one, got {pair}."
        raise ShapeError(msg)
    lower, upper = pair
    diagonals, right, is_vector = as_system("solve_banded", ab, b, b_ndim)
    rows = diagonals.type.shape[-2]
    if rows is not None and rows != lower + upper + 1:
        msg = (
            f"solve_banded: invalid values for the number of lower and upper diagonals: l+u+1 ({lower + upper + 1}) "
            f"does not equal ab.shape[-2] ({rows}). Pass a row for each diagonal."
        )
        raise ShapeError(msg)
    op = SolveBanded(
        lower, upper, as_flag("solve_banded: check_finite", check_finite), as_on_error("solve_banded", on_error)
    )
    x: TensorVariable = op(diagonals, right)
    return squeeze(x, -1) if is_vector else x


def solveh_banded(
    ab: TensorLike,
    b: TensorLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
    *,
    b_ndim: int | None = None,
    on_error: str = "nan",
) -> TensorVariable:
    """Solve a x = b for Hermitian positive definite banded matrices (as scipy.linalg.solveh_banded).

    Parameters
    ----------
    ab
        The diagonals of one triangle as rows: ``ab[i - j, j] == a[i, j]`` of the lower one, ``ab[u + i - j, j]`` of the
        upper one. Places outside of the matrix are not read.
    b
        The right sides.
    overwrite_ab, overwrite_b
        Without effect: rewriting decides what is overwritten.
    lower
        Whether it is the lower triangle.
    check_finite, b_ndim, on_error
        As for `solve_banded`; what fails are matrices that are not positive definite.

    Raises
    ------
    ShapeError
        If lengths are known and do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> solveh_banded(np.array([[4.0, 5.0], [2.0, 0.0]]), np.array([8.0, 12.0]), lower=True).eval()
    array([1., 2.])
    """
    as_flag("solveh_banded: overwrite_ab", overwrite_ab)
    as_flag("solveh_banded: overwrite_b", overwrite_b)
    diagonals, right, is_vector = as_system("solveh_banded", ab, b, b_ndim)
    op = SolveHermitianBanded(
        as_flag("solveh_banded: lower", lower),
        as_flag("solveh_banded: check_finite", check_finite),
        as_on_error("solveh_banded", on_error),
    )
    x: TensorVariable = op(diagonals, right)
    return squeeze(x, -1) if is_vector else x
