"""Functions of square matrices: the matrix exponential."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.config import lazy_module
from treadle.graph import static_op
from treadle.tensor.broadcasting import zeros_like
from treadle.tensor.conversion import constant, tensors
from treadle.tensor.gradient_control import disconnected_grad
from treadle.tensor.joining import concatenate
from treadle.tensor.matrix_op import REAL_OF, MatrixOp, require_finite
from treadle.tensor.product import adjoint
from treadle.tensor.reduction import max_
from treadle.tensor.scalar.arithmetic import abs_
from treadle.tensor.scalar.cast import switch
from treadle.tensor.scalar.comparison import gt
from treadle.tensor.shape import shape_i

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import scipy.linalg

    from treadle.graph import Variable
    from treadle.tensor.variable import TensorVariable
else:
    scipy = lazy_module("scipy")

__all__ = ["Expm"]


@static_op
class Expm(MatrixOp):
    """The exponential of a square matrix, the sum of A**k / k!; NaN for a matrix that holds NaN or infinities.

    Higham (2005) and Al-Mohy and Higham (2009) describe the computation: scaling, a Pade approximant, and squaring.
    """

    signature = "(n,n)->(n,n)"
    check_finite: ClassVar[bool] = True

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute with SciPy."""
        (a,) = matrices
        require_finite(a)
        with np.errstate(all="ignore"):
            return (scipy.linalg.expm(a),)

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the derivative at the adjoint, in the direction of the cotangent (Mathias 1996)."""
        del outputs
        a, ct = tensors(inputs)[0], tensors(cotangents)[0]
        return [derivative_along(Expm(), adjoint(a), ct)[1]]


def derivative_along(
    function: Callable[[TensorVariable], TensorVariable], a: TensorVariable, direction: TensorVariable
) -> tuple[TensorVariable, TensorVariable]:
    """Return a function of matrices and its derivative along a direction, both of one block matrix.

    f([[A, E], [0, A]]) is [[f(A), L(A, E)], [0, f(A)]] where L is the Frechet derivative (Mathias 1996; Al-Mohy and
    Higham 2009): differentiable as often as f is. The direction is scaled to the size of the matrix before, in which
    L is linear, so that the block's norm, which decides the work and the rounding errors, is the matrix's own.
    """
    size = disconnected_grad(_largest(direction))
    wanted = disconnected_grad(_largest(a))
    one = constant(1, dtype=size.dtype)
    scale = switch(gt(size, 0) & gt(wanted, 0), wanted / size, one)
    top = concatenate([a, direction * scale], axis=-1)
    block = concatenate([top, concatenate([zeros_like(a), a], axis=-1)], axis=-2)
    n = shape_i(a, a.ndim - 1)
    whole = function(block)
    return whole[..., :n, :n], whole[..., :n, n:] / scale


def _largest(x: TensorVariable) -> TensorVariable:
    """Return the largest absolute value of each matrix, 0 for those without elements."""
    return max_(abs_(x), axis=(-2, -1), keepdims=True, initial=0).astype(REAL_OF[x.dtype])
