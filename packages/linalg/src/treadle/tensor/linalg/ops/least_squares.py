"""Least squares, and pseudo-inverses: the ops behind `treadle.tensor.linalg.lstsq` and `pinv`."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import composed, static_op
from treadle.tensor.elementwise.arithmetic import abs_, add, maximum, mul, true_div
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import gt, isfinite, lt
from treadle.tensor.linalg.ops.eigenvalues import Eigh
from treadle.tensor.linalg.ops.matrix_op import REAL_OF, MatrixOp, require_finite
from treadle.tensor.linalg.ops.svd import SVD
from treadle.tensor.products.product import adjoint, matmul, stacked_term
from treadle.tensor.reductions.moments import squared_size
from treadle.tensor.reductions.reduction import all_, sum_
from treadle.tensor.shapes.broadcasting import is_zeros
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["Lstsq", "MatrixPinv"]


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
        """Let NumPy take all matrices."""
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
        """
        (a, _), (p,), (ct,) = tensors(inputs), tensors(outputs), tensors(cotangents)
        turned, back = adjoint(p), adjoint(ct)
        left, right = matmul(matmul(back, p), turned), matmul(turned, matmul(p, back))
        gradient = left - matmul(a, matmul(p, left)) + right - matmul(matmul(right, p), a)
        return [stacked_term(gradient - matmul(matmul(turned, ct), turned), a), None]

    def connection_pattern(self, node: object) -> list[list[bool]]:
        """Say that the size of what counts as zero does not matter smoothly."""
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
            # What x changes by does not matter at the least sum.
            g = mul(rest, expand_dims(of_residuals, -2)) * np.array(2, REAL_OF[a.dtype])
            of_b.append(g)
            of_a.append(-matmul(g, adjoint(x)))
        if not is_zeros(of_s):
            u, _, vh = SVD(full_matrices=False, on_error=self.on_error)(a)
            of_a.append(matmul(mul(u, expand_dims(of_s, -2)), vh))
        return [*(stacked_term(reduce(add, g), v) if g else None for g, v in ((of_a, a), (of_b, b))), None]

    def connection_pattern(self, node: object) -> list[list[bool]]:
        """Say what the rank, and the size of what counts as zero, do not matter for smoothly."""
        return [[True, True, False, True], [True, True, False, False], [False] * 4]


def _inverse(values: TensorVariable, least: TensorVariable) -> TensorVariable:
    """Return 1 / values, and 0 for those of at most a size."""
    return true_div(np.ones((), values.dtype), switch(gt(abs_(values), least), values, np.array(np.inf, values.dtype)))
