"""Eigenvalues and eigenvectors: the ops behind `treadle.tensor.linalg.eigh`, `eigvalsh`, `eig` and `eigvals`."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Literal

import numpy as np

from treadle.graph import composed, static_op
from treadle.tensor.arguments import as_choice
from treadle.tensor.broadcasting import is_zeros
from treadle.tensor.conversion import cotangent_of, tensors
from treadle.tensor.dimshuffle import expand_dims
from treadle.tensor.joining import arange
from treadle.tensor.matrix_op import ON_ERROR, REAL_OF, MatrixOp
from treadle.tensor.product import adjoint, matmul
from treadle.tensor.reduction import max_
from treadle.tensor.scalar.arithmetic import abs_, mul, sub
from treadle.tensor.scalar.cast import switch
from treadle.tensor.scalar.comparison import eq, gt, le
from treadle.tensor.shape import shape_i

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, Variable
    from treadle.tensor.variable import TensorVariable

__all__ = ["Eigh", "Eigvalsh"]


@static_op
class _OfHermitian(MatrixOp):
    """Base of ops on symmetric or Hermitian matrices, of which one triangle is read.

    Parameters
    ----------
    lower
        Whether the lower triangle is read, or the upper one. The imaginary part of the diagonal is not read either.
    on_error
        What becomes of matrices whose triangle is not finite, or for which LAPACK does not converge.
    """

    lower: bool = True
    on_error: str = "nan"

    def __post_init__(self) -> None:
        """Check the choice."""
        as_choice(f"{type(self).__name__}: on_error", self.on_error, ON_ERROR)

    @property
    def uplo(self) -> Literal["L", "U"]:
        """The triangle, by NumPy's letter."""
        return "L" if self.lower else "U"

    @abstractmethod
    def of_stack(self, a: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the outputs for a stack of finite matrices, by NumPy."""

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the outputs for one matrix, by NumPy."""
        (a,) = matrices
        read = np.tril(a) if self.lower else np.triu(a)
        if not np.isfinite(read).all():
            msg = "the triangle that is read has elements that are not finite"
            raise np.linalg.LinAlgError(msg)
        return self.of_stack(read)

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Let NumPy compute the whole stack; where one fails, one matrix after the other."""
        (a,) = inputs
        if a.shape[-1] == a.shape[-2] and np.isfinite(a).all():
            try:
                found = self.of_stack(a)
            except np.linalg.LinAlgError:
                pass
            else:
                for cell, value in zip(output_storage, found, strict=True):
                    cell[0] = value
                return
        super().perform(node, inputs, output_storage)

    def _term(self, g: TensorVariable, a: TensorVariable) -> TensorVariable:
        """Return the gradient by what is read, for one by the elements of the whole Hermitian matrix."""
        both = g + adjoint(g)
        row, column = (expand_dims(arange(shape_i(a, a.ndim - 1)), d) for d in (1, 0))
        zero = np.zeros((), a.dtype)
        off = switch(gt(row, column) if self.lower else gt(column, row), both, zero)
        # A real diagonal is read, whatever the dtype.
        diagonal = switch(eq(row, column), mul(both.real, np.array(0.5, REAL_OF[a.dtype])), zero)
        return cotangent_of(a, off + diagonal)


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

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the real dtype, and the dtype."""
        return [REAL_OF[dtype], dtype]

    def of_stack(self, a: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return eigenvalues and eigenvectors."""
        return tuple(np.linalg.eigh(a, self.uplo))

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise that the eigenvectors are orthogonal."""
        del holds
        return fact == "orthogonal" and output.owner is not None and output is output.owner.outputs[1]

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return V (diag(dw) + F * (V^H dV)) V^H, where F is 1 / (w_j - w_i) (M. Giles, 2008, section 3.1)."""
        (a,), (w, v) = tensors(inputs), tensors(outputs)
        of_values, of_vectors = tensors(cotangents)
        inner = mul(v, expand_dims(of_values, -2))
        if not is_zeros(of_vectors):
            inner = inner + matmul(v, mul(_inverse_gaps(w), matmul(adjoint(v), of_vectors)))
        return [self._term(matmul(inner, adjoint(v)), a)]


@static_op
class Eigvalsh(_OfHermitian):
    """The eigenvalues of symmetric or Hermitian matrices, in ascending order.

    Where eigenvalues coincide, the gradient is one of several: that of `Eigh`, of which second derivatives hold where
    none coincide.
    """

    signature = "(m,m)->(m)"

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the real dtype."""
        return [REAL_OF[dtype]]

    def of_stack(self, a: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the eigenvalues."""
        return (np.linalg.eigvalsh(a, self.uplo),)

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return V diag(dw) V^H, with the eigenvectors that are computed for it (M. Giles, 2008, section 3.1)."""
        del outputs
        (a,), (of_values,) = tensors(inputs), tensors(cotangents)
        _, v = Eigh(self.lower, self.on_error)(a)
        return [self._term(matmul(mul(v, expand_dims(of_values, -2)), adjoint(v)), a)]


def _inverse_gaps(w: TensorVariable) -> TensorVariable:
    """Return 1 / (w_j - w_i), and 0 where the two are equal to rounding of the largest."""
    gaps = sub(expand_dims(w, -2), expand_dims(w, -1))
    largest = expand_dims(max_(abs_(w), axis=-1, keepdims=True, initial=0), -1)
    real = REAL_OF[w.dtype]
    equal = le(abs_(gaps), mul(largest, np.array(np.finfo(real).eps, real)))
    zero, one = np.zeros((), w.dtype), np.ones((), w.dtype)
    # The division takes place everywhere: 1 stands for a gap that is none.
    inverse: TensorVariable = switch(equal, zero, one / switch(equal, one, gaps))
    return inverse
