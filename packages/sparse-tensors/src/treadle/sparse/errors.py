"""Errors of sparse matrices: each is a builtin error too."""

from __future__ import annotations

from treadle.tensor import ShapeError, TensorTypeError

__all__ = ["SparseFormatError", "SparseShapeError", "SparseTypeError"]


class SparseTypeError(TensorTypeError):
    """A value is no sparse matrix, or not one of the needed dtype."""


class SparseFormatError(SparseTypeError, ValueError):
    """A format of sparse matrices is not known, or not the needed one."""


class SparseShapeError(ShapeError):
    """Shapes of sparse matrices, or of parts of them, do not fit together."""
