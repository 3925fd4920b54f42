"""Inverses of matrices: the op behind `treadle.tensor.linalg.inv`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import composed, static_op
from treadle.tensor.elementwise.arithmetic import neg
from treadle.tensor.linalg.ops.matrix_op import MatrixOp, require_finite
from treadle.tensor.products.product import adjoint, matmul
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable

__all__ = ["MatrixInverse"]


@static_op
class MatrixInverse(MatrixOp):
    """The inverses of square matrices.

    Parameters
    ----------
    check_finite
        Whether matrices with NaN or infinity have none.
    on_error
        What becomes of singular matrices.
    """

    check_finite: bool = True
    on_error: str = "nan"

    signature = "(m,m)->(m,m)"

    def of_stacks(self, *stacks: np.ndarray) -> tuple[np.ndarray, ...]:
        """Invert with NumPy."""
        if self.check_finite:
            require_finite(*stacks)
        with np.errstate(all="ignore"):
            return (np.linalg.inv(*stacks),)

    of_matrices = of_stacks

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Multiply by the inverse's conjugate transpose on both sides (M. Giles, 2008, section 2.2.3)."""
        turned = adjoint(tensors(outputs)[0])
        return [neg(matmul(matmul(turned, cotangents[0]), turned))]
