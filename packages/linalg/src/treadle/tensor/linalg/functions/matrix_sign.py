"""The sign of a matrix: the op, its function, and what derivatives of functions of matrices share."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.graph import static_op
from treadle.tensor.control.gradient_control import disconnected_grad
from treadle.tensor.elementwise.arithmetic import abs_, maximum
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, gt, isfinite, le, lt
from treadle.tensor.elementwise.exponential import sqrt
from treadle.tensor.elementwise.logic import invert
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.matrix_op import (
    REAL_OF,
    MatrixOp,
    as_square_matrices,
    not_finite,
    require_finite,
    settled,
)
from treadle.tensor.loops.plain import while_loop
from treadle.tensor.products.product import adjoint
from treadle.tensor.reductions.reduction import all_, sum_
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import constant, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    _State = tuple[TensorVariable, TensorVariable, TensorVariable, TensorVariable]

__all__ = ["MatrixSign", "signm"]


@static_op
class MatrixSign(MatrixOp):
    """The sign of a square matrix A: a square root of I whose eigenvalues are the signs of the real parts of A's.

    It is found by Newton's iteration (Higham 2008, chapter 5), Z to (c Z + Z**-1 / c) / 2, where c makes both terms as
    large as each other. There is none where an eigenvalue is on the imaginary axis, or too close to it.

    Parameters
    ----------
    on_error
        ``"nan"`` or ``"raise"``: what to do then.
    """

    signature = "(m,m)->(m,m)"
    check_finite: ClassVar[bool] = True
    # How many steps are tried: each halves the distance of eigenvalues from the axis, or squares what is missing.
    steps: ClassVar[int] = 100
    on_error: str = "nan"

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute with NumPy: one more step after a change below the square root of the precision."""
        require_finite(*matrices)
        (z,) = matrices
        enough = np.finfo(z.dtype).eps ** 0.5
        close = not z.size
        for _ in range(self.steps):
            if close:
                return (z,)
            inverse = np.linalg.inv(z)
            scale = np.sqrt(np.linalg.norm(inverse) / np.linalg.norm(z))
            new = (scale * z + inverse / scale) / 2
            if np.linalg.norm(new - z) <= enough * np.linalg.norm(new):
                inverse = np.linalg.inv(new)
                new, close = (new + inverse) / 2, True
            z = new.astype(z.dtype)
        msg = "an eigenvalue is on the imaginary axis, or too close to it"
        raise np.linalg.LinAlgError(msg)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Iterate for all matrices at once; those that are done wait for the others."""
        (a,) = tensors(inputs)
        enough = np.array(np.finfo(a.dtype).eps ** 0.5, REAL_OF[a.dtype])
        is_empty = eq(shape_i(a, -1), 0)

        def goes_on(state: _State) -> TensorVariable:
            k, _, _, done = state
            return lt(k, self.steps) & invert(all_(done))

        def step(state: _State) -> _State:
            k, z, close, done = state
            inverse: TensorVariable = MatrixInverse()(z)
            scale = sqrt(_length(inverse) / _length(z))
            new = (scale * z + inverse / scale) / np.array(2, scale.dtype)
            size = _length(new)
            change = le(_length(new - z), enough * size)
            return k + 1, switch(done, z, new), close | change, done | close | invert(isfinite(size))

        wrong = expand_dims(not_finite(a), (-2, -1))
        start = constant(0, dtype="int64"), a, zeros_like(wrong), wrong | is_empty
        _, z, close, done = while_loop(goes_on, step, start)
        has_sign = (close & done & invert(wrong)) | is_empty
        why = "an eigenvalue of a matrix is on the imaginary axis, or too close to it, or it has NaN or infinities"
        return settled(self, inputs, [z], invert(has_sign[..., 0, 0]), why)

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the derivative at the adjoint, in the direction of the cotangent (Mathias 1996).

        Through `decompose`: a second loop, which keeps the matrices of every step of the first.
        """
        a, ct = tensors(inputs)[0], tensors(cotangents)[0]
        return [derivative_along(MatrixSign(), adjoint(a), ct)[1]]


def _length(x: TensorVariable) -> TensorVariable:
    """Return the Frobenius norms of matrices."""
    size = abs_(x)
    return sqrt(sum_(size * size, axis=(-2, -1), keepdims=True))


def derivative_along(
    function: Callable[[TensorVariable], TensorVariable], a: TensorVariable, direction: TensorVariable
) -> tuple[TensorVariable, TensorVariable]:
    """Return a function of matrices and its derivative along a direction, both from one block matrix.

    f([[A, E], [0, A]]) is [[f(A), L(A, E)], [0, f(A)]] where L is the Frechet derivative (Mathias 1996; Al-Mohy and
    Higham 2009): differentiable as often as f is. The direction is scaled to the size of the matrix before, in which
    L is linear, so that the block's norm, which decides the work and the rounding errors, is the matrix's own.
    """
    size = disconnected_grad(mean_row_sum(direction))
    target_size = disconnected_grad(mean_row_sum(a))
    one = constant(1, dtype=size.dtype)
    scale = switch(gt(size, 0) & gt(target_size, 0), target_size / size, one)
    top = concatenate([a, direction * scale], axis=-1)
    block = concatenate([top, concatenate([zeros_like(a), a], axis=-1)], axis=-2)
    n = shape_i(a, a.ndim - 1)
    block_result = function(block)
    return block_result[..., :n, :n], block_result[..., :n, n:] / scale


def mean_row_sum(x: TensorVariable) -> TensorVariable:
    """Return the mean over rows of the sums of absolute values in them, 0 for matrices without elements."""
    rows = maximum(shape_i(x, -2), 1).astype(REAL_OF[x.dtype])
    return sum_(abs_(x), axis=(-2, -1), keepdims=True) / rows


def signm(A: TensorLike, *, on_error: str = "nan") -> TensorVariable:
    """Return the sign of each square matrix of a stack (as scipy.linalg.signm).

    It has the eigenvectors of `A`, and as eigenvalues 1 and -1, by the sign of the real part of A's. The gradient is
    the Frechet derivative at the adjoint, to any order.

    Parameters
    ----------
    A
        A square matrix, or a stack of them.
    on_error
        What becomes of a matrix with an eigenvalue on the imaginary axis, or with NaN or infinities: ``"nan"`` or
        ``"raise"``.

    Raises
    ------
    ShapeError
        If it has fewer dimensions than a matrix, or is known not to be square.

    Examples
    --------
    >>> tt.linalg.signm([[2.0, 0.0], [0.0, -3.0]]).eval().round(6)
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    result: TensorVariable = MatrixSign(on_error)(as_square_matrices("signm", A))
    return result
