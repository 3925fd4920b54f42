"""Eigenvalues and eigenvectors of any square matrices: the ops, and their functions."""

from __future__ import annotations

from abc import abstractmethod
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, overload

import numpy as np

from treadle.config import text_of
from treadle.graph import as_flag, composed, static_op
from treadle.tensor.arguments.values import check_flags
from treadle.tensor.elementwise.arithmetic import abs_, maximum, mul
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, gt
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.errors import ArgumentError
from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import inverse_gaps
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.matrix_op import (
    COMPLEX_OF,
    REAL_OF,
    MatrixOp,
    as_on_error,
    as_square_matrices,
    require_finite,
)
from treadle.tensor.products.product import adjoint, matmul
from treadle.tensor.reductions.reduction import max_, sum_
from treadle.tensor.shapes.broadcasting import is_zeros
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.types.conversion import cotangent_of, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["Eig", "Eigvals", "eig", "eigvals"]


@static_op
class _OfSquare(MatrixOp):
    """Base of ops on square matrices of any kind; what they return is complex."""

    # What becomes of matrices that are not finite, or for which LAPACK does not converge.
    on_error: str = "nan"
    # Whether the matrix is overwritten, which rewriting decides.
    overwrite_a: bool = False

    overwritable = MappingProxyType({"overwrite_a": (0, None)})
    # LAPACK may not terminate for matrices with NaN.
    check_finite: ClassVar[bool] = True

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the complex dtype, for all outputs."""
        return [COMPLEX_OF[dtype]] * len(self.cores[1])

    @abstractmethod
    def computed(self, a: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the outputs for a stack of finite matrices, by NumPy; they are real if all eigenvalues are."""

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
            inner = inner + matmul(mul(inverse_gaps(w).conj(), matmul(turned, moved)), turned)
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
    """Return the cotangent due to the phase of each eigenvector, which keeps its largest component real.

    `turned` says by how much the cost changes with the angle. A vector without a real component, as other libraries
    than LAPACK may make them, has any phase.
    """
    size = switch(eq(v.imag, 0), abs_(v.real), np.zeros((), REAL_OF[v.dtype]))
    largest = max_(size, axis=-2, keepdims=True, initial=0)
    held = bitwise_and(eq(size, largest), gt(size, 0))
    # Components of equal size share the cotangent.
    count = maximum(sum_(held.astype(size.dtype), axis=-2, keepdims=True), 1)
    zero, one = np.zeros((), size.dtype), np.ones((), size.dtype)
    share = switch(held, turned / switch(held, v.real * count, one), zero)
    return mul(share, np.array(1j, v.dtype))


class EigResult(NamedTuple):
    """Eigenvalues, and matrices of which each column is an eigenvector."""

    eigenvalues: TensorVariable
    eigenvectors: TensorVariable


@overload
def eig(
    a: TensorLike,
    b: None = None,
    left: Literal[False] = False,
    right: Literal[True] = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: Literal[False] = False,
    *,
    on_error: str = "nan",
) -> EigResult: ...


@overload
def eig(
    a: TensorLike,
    b: None = None,
    left: Literal[False] = False,
    *,
    right: Literal[False],
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: Literal[False] = False,
    on_error: str = "nan",
) -> TensorVariable: ...


def eig(
    a: TensorLike,
    b: None = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
    *,
    on_error: str = "nan",
) -> EigResult | TensorVariable:
    """Return the eigenvalues and right eigenvectors of square matrices (as scipy.linalg.eig).

    Both are complex, also where all are real, which NumPy finds out from the values and then returns real ones. The
    order is LAPACK's; ``v[..., :, i]`` is the eigenvector of ``w[..., i]``, of length 1, and a component of largest
    size is real. Derivatives are of vectors that are made so (see `Eig`).

    Parameters
    ----------
    a
        Square matrices; integers are converted to float64.
    b, left, homogeneous_eigvals
        None and False. For the generalised problem solve(b, a) can be passed, or `qz` used; left eigenvectors are the
        right ones of the conjugate transpose.
    right
        Whether to return eigenvectors; the eigenvalues alone if not, as `eigvals`.
    overwrite_a, overwrite_b, check_finite
        As in SciPy, without effect: matrices are always checked.
    on_error
        What becomes of a matrix that is not finite, or for which LAPACK does not converge: ``"nan"`` fills its results
        with NaN, ``"raise"`` raises a `MatrixError`.

    Raises
    ------
    ArgumentError
        For the generalised problem, and for left eigenvectors.

    Examples
    --------
    >>> tt.linalg.eig([[2.0, 0.0], [0.0, 3.0]])[0].eval()
    array([2.+0.j, 3.+0.j])
    """
    check_flags("eig", overwrite_a=overwrite_a, overwrite_b=overwrite_b, check_finite=check_finite)
    _standard("eig", b, homogeneous_eigvals)
    if as_flag("eig: left", left):
        msg = "eig: left eigenvectors are not computed. Take the right ones of a.conj().mT, in the order of w.conj()."
        raise ArgumentError(msg)
    if not as_flag("eig: right", right):
        return eigvals(a, on_error=on_error)
    return EigResult(*Eig(as_on_error("eig", on_error))(as_square_matrices("eig", a)))


def eigvals(
    a: TensorLike,
    b: None = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
    *,
    on_error: str = "nan",
) -> TensorVariable:
    """Return the eigenvalues of square matrices, complex, in LAPACK's order (as scipy.linalg.eigvals).

    Parameters are those of `eig`.

    Examples
    --------
    >>> tt.linalg.eigvals([[2.0, 0.0], [0.0, 3.0]]).eval()
    array([2.+0.j, 3.+0.j])
    """
    check_flags("eigvals", overwrite_a=overwrite_a, check_finite=check_finite)
    _standard("eigvals", b, homogeneous_eigvals)
    values: TensorVariable = Eigvals(as_on_error("eigvals", on_error))(as_square_matrices("eigvals", a))
    return values


def _standard(what: str, b: object, homogeneous: object) -> None:
    """Refuse the generalised problem."""
    if b is not None or homogeneous is not False:
        msg = (
            f"{what}: the generalised problem is not computed, got b={text_of(b)} and "
            f"homogeneous_eigvals={text_of(homogeneous)}. Pass solve(b, a) where b is regular; see qz otherwise."
        )
        raise ArgumentError(msg)
