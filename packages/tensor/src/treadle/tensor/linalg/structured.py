"""Matrices with a structure: block diagonal, Toeplitz, Hankel and others that have names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.block_diagonal import BlockDiagonal
from treadle.tensor.conversion import as_tensor_variable, constant
from treadle.tensor.dimshuffle import shape_padleft
from treadle.tensor.scalar.cast import cast

if TYPE_CHECKING:
    from treadle.tensor.variable import TensorLike, TensorVariable

__all__ = ["block_diag"]


def block_diag(*arrs: TensorLike) -> TensorVariable:
    """Return matrices one after another along the diagonal of a larger one (as scipy.linalg.block_diag).

    Parameters
    ----------
    arrs
        Matrices, or stacks of them, which broadcast. A vector is a matrix of one row, a number one of one element.

    Examples
    --------
    >>> block_diag([[1, 2], [3, 4]], 5).eval()
    array([[1, 2, 0],
           [3, 4, 0],
           [0, 0, 5]])
    """
    given = [as_tensor_variable(x) for x in arrs] or [constant(np.zeros((1, 0)))]
    dtype = np.result_type(*(x.type.numpy_dtype for x in given))
    ndim = max(2, *(x.ndim for x in given))
    made: TensorVariable = BlockDiagonal(len(given))(*(shape_padleft(cast(x, dtype), ndim - x.ndim) for x in given))
    return made
