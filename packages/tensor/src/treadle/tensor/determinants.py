"""Determinants: the ops behind `treadle.tensor.linalg.det` and `slogdet`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import composed, static_op
from treadle.tensor.broadcasting import ones_like
from treadle.tensor.conversion import tensors
from treadle.tensor.dimshuffle import shape_padright
from treadle.tensor.inverse import MatrixInverse
from treadle.tensor.matrix_op import REAL_OF, MatrixOp
from treadle.tensor.product import adjoint
from treadle.tensor.scalar.arithmetic import mul, neg, sub
from treadle.tensor.scalar.complex_numbers import complex_

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.variable import TensorVariable

__all__ = ["Det", "SLogDet"]

# Numbers of rows of which cofactors are written out.
_SMALL = (1, 2, 3)


@static_op
class Det(MatrixOp):
    """The determinants of square matrices."""

    signature = "(m,m)->()"

    def of_stacks(self, *stacks: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute with NumPy."""
        with np.errstate(all="ignore"):
            return (np.linalg.det(*stacks),)

    of_matrices = of_stacks

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Multiply determinant and inverse (M. Giles, 2008, section 2.2.4), or take cofactors of up to three rows.

        Singular matrices have cofactors, but no inverse: the gradient of larger ones, or of unknown length, is NaN.
        """
        (a,), (ct,) = tensors(inputs), tensors(cotangents)
        if a.type.shape[-1] in _SMALL or a.type.shape[-2] in _SMALL:
            return [mul(shape_padright(ct, 2), _cofactors(a).conj())]
        weight = mul(ct, tensors(outputs)[0].conj())
        return [mul(shape_padright(weight, 2), adjoint(MatrixInverse()(a)))]


def _cofactors(a: TensorVariable) -> TensorVariable:
    """Return the determinants of what is left of matrices of up to three rows without a row and a column, signed."""
    n = next(n for n in a.type.shape[-2:] if n is not None)
    if n == 1:
        return ones_like(a)
    if n == 2:
        return mul(a[..., ::-1, ::-1], np.array([[1, -1], [-1, 1]], "int8"))
    following, last = np.array([1, 2, 0]), np.array([2, 0, 1])

    def shifted(rows: np.ndarray, columns: np.ndarray) -> TensorVariable:
        return a[..., rows[:, None], columns]

    product = mul(shifted(following, following), shifted(last, last))
    return sub(product, mul(shifted(following, last), shifted(last, following)))


@static_op
class SLogDet(MatrixOp):
    """The signs of determinants, and the logarithms of their absolute values.

    The sign of a complex determinant is a number of absolute value 1. Where a matrix is singular, the sign is 0 and the
    logarithm -inf.
    """

    signature = "(m,m)->(),()"

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the dtype, and the real one."""
        return [dtype, REAL_OF[dtype]]

    def of_stacks(self, *stacks: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute with NumPy."""
        with np.errstate(all="ignore"):
            return tuple(np.linalg.slogdet(*stacks))

    of_matrices = of_stacks

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Multiply by the inverse: d log det A is the trace of A^-1 dA (M. Giles, 2008, section 2.2.4).

        Its real part is the change of the logarithm; its imaginary part turns the sign of a complex determinant.
        """
        (a,), (sign, _), (of_sign, of_log) = tensors(inputs), tensors(outputs), tensors(cotangents)
        weight = of_log
        if a.type.numpy_dtype.kind == "c":
            weight = complex_(of_log, neg(mul(of_sign.conj(), sign).imag))
        return [mul(shape_padright(weight, 2), adjoint(MatrixInverse()(a)))]
