"""Solving linear systems: the op behind `treadle.tensor.linalg.solve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import lazy_module
from treadle.graph import composed, static_op
from treadle.tensor.arguments.values import as_choice
from treadle.tensor.elementwise.arithmetic import add, neg
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, gt, lt
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.linalg.ops.matrix_op import MatrixOp, require_finite
from treadle.tensor.products.product import adjoint, matmul
from treadle.tensor.shapes.broadcasting import sum_to
from treadle.tensor.shapes.dimshuffle import expand_dims, matrix_transpose
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorVariable

    lapack: ModuleType
else:
    lapack = lazy_module("scipy.linalg.lapack")

__all__ = ["Solve"]

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
    """

    assume_a: str = "gen"
    lower: bool = False
    check_finite: bool = True
    on_error: str = "nan"

    signature = "(m,m),(m,n)->(m,n)"

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
    """Return the gradient by the triangle that is read of matrices, for one by all elements of the full matrices.

    What is read is an element of the other triangle too, conjugated where they are Hermitian: their diagonal is real.
    """
    row, column = (expand_dims(arange(shape_i(g, -1)), axis) for axis in (1, 0))
    both = add(g, adjoint(g) if hermitian else matrix_transpose(g))
    is_complex = g.type.numpy_dtype.kind == "c"
    diagonal = cast(g.real, g.dtype) if hermitian and is_complex else g
    beside = gt(row, column) if lower else lt(row, column)
    return switch(eq(row, column), diagonal, switch(beside, both, np.zeros((), g.dtype)))
