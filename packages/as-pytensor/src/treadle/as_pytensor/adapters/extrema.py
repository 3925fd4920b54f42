"""Minima, as PyTensor writes them: what it has no op for is the negative of a maximum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle import tensor

if TYPE_CHECKING:
    from treadle.tensor import TensorLike, TensorVariable


def min(x: TensorLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> TensorVariable:  # noqa: A001 - the documented name
    """Return the smallest elements along axes: ``-max(-x)`` for floats and signed integers."""
    var = tensor.as_tensor_variable(x)
    if var.type.numpy_dtype.kind not in "fi":
        return tensor.min(var, axis=axis, keepdims=keepdims)
    return -tensor.max(-var, axis=axis, keepdims=keepdims)
