"""Eigenvalues and eigenvectors: the ops behind `treadle.tensor.linalg.eigh`, `eigvalsh`, `eig` and `eigvals`."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from treadle.graph import composed, static_op
from treadle.tensor.elementwise.arithmetic import abs_, maximum, mul, sub
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, gt, le
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.linalg.ops.linear_systems import Solve, of_triangle
from treadle.tensor.linalg.ops.matrix_op import COMPLEX_OF, REAL_OF, MatrixOp, require_finite
from treadle.tensor.products.product import adjoint, matmul
from treadle.tensor.reductions.reduction import max_, sum_
from treadle.tensor.shapes.broadcasting import is_zeros
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.types.conversion import cotangent_of, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["Eig", "Eigh", "Eigvals", "Eigvalsh"]


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
        # What is not finite may lie in the triangle that is not read.
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

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the real dtype, and the dtype."""
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
            inner = inner + matmul(v, mul(_inverse_gaps(w), matmul(adjoint(v), of_vectors)))
        return [of_triangle(matmul(inner, adjoint(v)), self.lower, hermitian=True)]


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


@static_op
class _OfSquare(MatrixOp):
    """Base of ops on square matrices of any kind; what they return is complex.

    Parameters
    ----------
    on_error
        What becomes of matrices that are not finite, or for which LAPACK does not converge.
    """

    on_error: str = "nan"

    # LAPACK may not end with NaN.
    check_finite: ClassVar[bool] = True

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the complex dtype, for all outputs."""
        return [COMPLEX_OF[dtype]] * len(self.cores[1])

    @abstractmethod
    def computed(self, a: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the outputs for a stack of finite matrices, by NumPy, which returns real ones where all are."""

    def of_stacks(self, *stacks: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Return the outputs by NumPy, which takes whole stacks."""
        (a,) = stacks
        require_finite(a)
        return tuple(x.astype(COMPLEX_OF[a.dtype.name], copy=False) for x in self.computed(a))

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the outputs for one matrix."""
        (a,) = matrices
        require_finite(a)
        return self.computed(a)


@static_op
class Eig(_OfSquare):
    """The eigenvalues of square matrices and their right eigenvectors, in LAPACK's order.

    Outputs: the eigenvalues, and matrices of which each column is an eigenvector of length 1, both complex. As LAPACK
    leaves them, a component of largest size is real, which decides the phase of a vector up to sign.

    Derivatives are those of vectors with this length and phase. Where two eigenvalues coincide, to rounding of the
    largest, the terms of their vectors along each other are left out, as in `Eigh`; a defective matrix, which has too
    few eigenvectors, has no derivative.
    """

    signature = "(m,m)->(m),(m,m)"

    def computed(self, a: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return eigenvalues and eigenvectors."""
        return tuple(np.linalg.eig(a))

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return V^-H (diag(dw) + ...) V^H (M. Giles, 2008, section 3.1; C. Boeddeker et al., 2017, for the length)."""
        (a,), (w, v) = tensors(inputs), tensors(outputs)
        of_values, of_vectors = tensors(cotangents)
        turned = adjoint(v)
        inner = mul(expand_dims(of_values, -1), turned)
        if not is_zeros(of_vectors):
            # A vector moves by V Q, and by a multiple of itself that keeps its length and its phase.
            along = sum_(mul(v.conj(), of_vectors), axis=-2, keepdims=True)
            moved = of_vectors - mul(v, along.real) - _of_phase(v, along.imag)
            inner = inner + matmul(mul(_inverse_gaps(w).conj(), matmul(turned, moved)), turned)
        return [cotangent_of(a, Solve()(turned, inner))]


@static_op
class Eigvals(_OfSquare):
    """The eigenvalues of square matrices, complex, in LAPACK's order.

    Where eigenvalues coincide they have no derivative in general; what is returned is that of `Eig`.
    """

    signature = "(m,m)->(m)"

    def computed(self, a: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the eigenvalues."""
        return (np.linalg.eigvals(a),)

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return V^-H diag(dw) V^H, with the eigenvectors that are computed for it (M. Giles, 2008, section 3.1)."""
        (a,), (of_values,) = tensors(inputs), tensors(cotangents)
        _, v = Eig(self.on_error)(a)
        turned = adjoint(v)
        return [cotangent_of(a, Solve()(turned, mul(expand_dims(of_values, -1), turned)))]


def _of_phase(v: TensorVariable, turned: TensorVariable) -> TensorVariable:
    """Return the cotangent of the largest real component of each vector, which stays real when all are turned.

    `turned` says by how much the cost changes with the angle. A vector without a real component, as other libraries
    than LAPACK may make them, has any phase.
    """
    size = switch(eq(v.imag, 0), abs_(v.real), np.zeros((), REAL_OF[v.dtype]))
    largest = max_(size, axis=-2, keepdims=True, initial=0)
    held = bitwise_and(eq(size, largest), gt(size, 0))
    # Components of equal size share it.
    count = maximum(sum_(held.astype(size.dtype), axis=-2, keepdims=True), 1)
    zero, one = np.zeros((), size.dtype), np.ones((), size.dtype)
    share = switch(held, turned / switch(held, v.real * count, one), zero)
    return mul(share, np.array(1j, v.dtype))


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
