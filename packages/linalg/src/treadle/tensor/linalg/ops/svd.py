"""Singular values and vectors: the op behind `treadle.tensor.linalg.svd`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import composed, static_op
from treadle.tensor.elementwise.arithmetic import mul, true_div
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.indexing.ranges import eye
from treadle.tensor.linalg.ops.matrix_op import REAL_OF, MatrixOp, require_finite
from treadle.tensor.products.product import adjoint, matmul
from treadle.tensor.shapes.broadcasting import is_zeros
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import cotangent_of, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["SVD", "PolarFactor"]


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
    """

    full_matrices: bool = True
    compute_uv: bool = True
    on_error: str = "nan"

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
        """Let NumPy take all matrices."""
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
            # Nothing moves along a vector itself: those terms are 0 over 0.
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
        """Let NumPy take all matrices."""
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
        """Return what flows back from singular vectors, of which the terms with differences of values cancel."""
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
