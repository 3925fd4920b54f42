"""Diagonals of the matrices in the last two dimensions; those of `treadle.tensor` are in the first two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.arrangement import diagonals

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["diagonal", "trace"]


def diagonal(x: TensorLike, /, *, offset: SupportsIndex = 0) -> TensorVariable:
    """Return a diagonal of the matrices in the last two dimensions (as numpy.linalg.diagonal).

    Examples
    --------
    >>> tt.linalg.diagonal([[1, 2], [3, 4]]).eval()
    array([1, 4])
    """
    return diagonals.diagonal(x, offset, -2, -1)


def trace(X: TensorLike, /, *, offset: SupportsIndex = 0, dtype: DTypeLike | None = None) -> TensorVariable:
    """Sum a diagonal of the matrices in the last two dimensions (as numpy.linalg.trace).

    Examples
    --------
    >>> tt.linalg.trace([[1, 2], [3, 4]]).eval()
    array(5)
    """
    return diagonals.trace(X, offset, -2, -1, dtype)
