"""Determinants: the ops behind `treadle.tensor.linalg.det` and `slogdet`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import composed, static_op
from treadle.tensor.conversion import tensors
from treadle.tensor.dimshuffle import shape_padright
from treadle.tensor.inverse import MatrixInverse
from treadle.tensor.matrix_op import REAL_OF, MatrixOp
from treadle.tensor.product import adjoint
from treadle.tensor.scalar.arithmetic import mul, neg
from treadle.tensor.scalar.complex_numbers import complex_

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable

__all__ = ["Det", "SLogDet"]


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
        """Multiply determinant and inverse (M. Giles, 2008, section 2.2.4)."""
        weight = mul(cotangents[0], tensors(outputs)[0].conj())
        return [mul(shape_padright(weight, 2), adjoint(MatrixInverse()(inputs[0])))]


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
