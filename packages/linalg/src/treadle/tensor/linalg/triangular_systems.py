"""Linear systems with triangular matrices: the op, and its function."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import lazy_module, text_of
from treadle.graph import as_flag, static_op
from treadle.tensor.arrangement.triangles import tril, triu
from treadle.tensor.elementwise.arithmetic import neg
from treadle.tensor.errors import ArgumentError
from treadle.tensor.linalg.matrix_op import MatrixOp, as_on_error, as_system, require_finite
from treadle.tensor.products.product import adjoint, matmul, stacked_term
from treadle.tensor.shapes.dimshuffle import matrix_transpose, squeeze
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scipy.linalg import lapack

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable
else:
    lapack = lazy_module("scipy.linalg.lapack")

__all__ = ["SolveTriangular", "solve_triangular"]


@static_op
class SolveTriangular(MatrixOp):
    """The solutions x of A x = b for triangular matrices A, of which only that triangle is read.

    Parameters
    ----------
    lower
        Whether the lower triangle of A is meant, else the upper one.
    unit_diagonal
        Whether the diagonal of A is taken to be 1, and not read.
    check_finite
        Whether NaN or infinities in the triangle or in the right side count as a failure.
    on_error
        What becomes of failures and singular matrices, which have a zero on their diagonal: ``"nan"`` or ``"raise"``.
    overwrite_b
        Whether the right side is overwritten, which rewriting decides.
    """

    lower: bool = False
    unit_diagonal: bool = False
    check_finite: bool = True
    on_error: str = "nan"
    overwrite_b: bool = False

    signature = "(m,m),(m,n)->(m,n)"
    overwritable = MappingProxyType({"overwrite_b": (1, 0)})

    def triangle(self, a: np.ndarray) -> np.ndarray:
        """Return what is read of a matrix, and zeros."""
        outside = -1 if self.unit_diagonal else 0
        return np.tril(a, outside) if self.lower else np.triu(a, -outside)

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Solve with LAPACK's trtrs."""
        a, b = matrices
        if self.check_finite:
            require_finite(self.triangle(a), b)
        if not self.unit_diagonal:
            zero = np.flatnonzero(a.diagonal() == 0)
            if zero.size:
                msg = f"the matrix is singular: element {zero[0]} of its diagonal is 0"
                raise np.linalg.LinAlgError(msg)
        if not b.size:
            return (b,)
        (trtrs,) = lapack.get_lapack_funcs(("trtrs",), (a, b))
        # LAPACK's matrices stand by columns: one that stands by rows is the transpose of that.
        turned = a.flags.c_contiguous
        x, _ = trtrs(
            a.T if turned else a, b, lower=self.lower != turned, trans=int(turned), unitdiag=self.unit_diagonal,
            overwrite_b=self.overwrite_b and b.flags.writeable,
        )  # fmt: skip
        return (x,)

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise the triangle of a right side that has the same."""
        own = "lower_triangular" if self.lower else "upper_triangular"
        return fact == own and output.owner is not None and holds(fact, output.owner.inputs[1])

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve for the cotangent with the conjugate transpose; -1 times its products with x^H flow to the triangle."""
        a, b = tensors(inputs)
        by_b = replace(self, lower=not self.lower)(adjoint(a), cotangents[0])
        by_a = neg(matmul(by_b, adjoint(tensors(outputs)[0])))
        outside = -1 if self.unit_diagonal else 0
        kept = tril(by_a, outside) if self.lower else triu(by_a, -outside)
        return [stacked_term(kept, a), stacked_term(by_b, b)]


def solve_triangular(
    a: TensorLike,
    b: TensorLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    *,
    b_ndim: int | None = None,
    on_error: str = "nan",
) -> TensorVariable:
    """Solve a x = b for triangular matrices (as scipy.linalg.solve_triangular).

    The other triangle is not read, and no gradient flows to it.

    Parameters
    ----------
    a
        A triangular matrix, or a stack of such.
    b
        The right sides.
    trans
        What to solve: 0 or ``"N"`` for a x = b, 1 or ``"T"`` for a^T x = b, 2 or ``"C"`` for a^H x = b.
    lower
        Whether the lower triangle of `a` is meant, else the upper one.
    unit_diagonal
        Whether the diagonal of `a` is taken to be 1, and not read.
    overwrite_b
        Without effect: rewriting decides what is overwritten.
    check_finite
        Whether NaN or infinities count as failures.
    b_ndim
        1 if b is a vector or a stack of vectors, 2 if it is one of matrices; None takes one dimension for a vector.
    on_error
        What becomes of failures and singular matrices, which have a zero on their diagonal: ``"nan"`` makes their
        solutions NaN, ``"raise"`` raises a `MatrixError`, which is a ``numpy.linalg.LinAlgError``.

    Raises
    ------
    ArgumentError
        If `trans`, `b_ndim` or `on_error` is something else.
    ShapeError
        If lengths are known and do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]), lower=True).eval()
    array([1., 2.])
    """
    as_flag("solve_triangular: overwrite_b", overwrite_b)
    if not isinstance(trans, int | str) or trans not in {0, 1, 2, "N", "T", "C"}:
        msg = f"solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', got {text_of(trans)}."
        raise ArgumentError(msg)
    matrix, right, is_vector = as_system("solve_triangular", a, b, b_ndim)
    is_lower = as_flag("solve_triangular: lower", lower)
    if trans in {1, "T", 2, "C"}:
        matrix, is_lower = matrix_transpose(matrix) if trans in {1, "T"} else adjoint(matrix), not is_lower
    op = SolveTriangular(
        is_lower,
        as_flag("solve_triangular: unit_diagonal", unit_diagonal),
        as_flag("solve_triangular: check_finite", check_finite),
        as_on_error("solve_triangular", on_error),
    )
    x: TensorVariable = op(matrix, right)
    return squeeze(x, -1) if is_vector else x
