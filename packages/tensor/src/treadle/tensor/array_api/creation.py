"""Tensors made by the array API standard's functions."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import text_of
from treadle.graph import Variable
from treadle.tensor.array_api.devices import check_device
from treadle.tensor.array_api.public import tt
from treadle.tensor.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Shape = int | Sequence[TensorLike] | TensorVariable


def arange(
    start: TensorLike,
    /,
    stop: TensorLike | None = None,
    step: TensorLike = 1,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> TensorVariable:
    """Return evenly spaced numbers from `start`, or 0, to `stop`, which is left out."""
    check_device("arange", device)
    numbers: TensorVariable = tt.arange(start, stop, step, dtype=dtype)
    return numbers


def asarray(
    obj: TensorLike,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    copy: builtins.bool | None = None,
) -> TensorVariable:
    """Return a tensor, an array, a number or a nested list as a tensor; plain values become constants.

    Raises
    ------
    ArgumentError
        If a value must be copied, as all plain ones are, and `copy` is False.
    """
    check_device("asarray", device)
    if not isinstance(obj, Variable):
        if copy is not None and not copy:
            msg = f"asarray: constants are copies, got copy=False and {text_of(obj)}. Leave `copy` out."
            raise ArgumentError(msg)
        if dtype is None or _holds_variables(obj):
            tensor: TensorVariable = tt.as_tensor(obj)
        else:
            tensor = tt.constant(np.asarray(obj).astype(dtype) if isinstance(obj, np.ndarray) else obj, dtype=dtype)
    else:
        tensor = tt.as_tensor(obj)
    if dtype is None or tensor.dtype == np.dtype(dtype).name:
        return tensor
    if copy is not None and not copy:
        msg = f"asarray: {tensor} of dtype {tensor.dtype} becomes {text_of(dtype)} by a copy only. Leave `copy` out."
        raise ArgumentError(msg)
    converted: TensorVariable = tt.cast(tensor, dtype)
    return converted


def _holds_variables(obj: Any) -> builtins.bool:
    return isinstance(obj, list | tuple) and any(isinstance(item, Variable) or _holds_variables(item) for item in obj)


def empty(shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None) -> TensorVariable:
    """Return a tensor of a shape whose elements may be anything."""
    check_device("empty", device)
    tensor: TensorVariable = tt.empty(shape, dtype=dtype)
    return tensor


def empty_like(x: TensorLike, /, *, dtype: DTypeLike | None = None, device: str | None = None) -> TensorVariable:
    """Return a tensor of another's shape whose elements may be anything."""
    check_device("empty_like", device)
    tensor: TensorVariable = tt.empty_like(x, dtype=dtype)
    return tensor


def eye(
    n_rows: TensorLike,
    n_cols: TensorLike | None = None,
    /,
    *,
    k: TensorLike = 0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> TensorVariable:
    """Return a matrix of ones on its `k`-th diagonal and zeros elsewhere."""
    check_device("eye", device)
    matrix: TensorVariable = tt.eye(n_rows, n_cols, k, dtype=dtype)
    return matrix


def from_dlpack(x: object, /, *, device: str | None = None, copy: builtins.bool | None = None) -> TensorVariable:
    """Return an array of another library, which has ``__dlpack__``, as a constant.

    Raises
    ------
    ArgumentError
        If `copy` is False: constants are copies.
    """
    check_device("from_dlpack", device)
    if isinstance(x, Variable):
        return asarray(x, copy=copy)
    if copy is not None and not copy:
        msg = f"from_dlpack: constants are copies, got copy=False and {text_of(x)}. Leave `copy` out."
        raise ArgumentError(msg)
    if not hasattr(x, "__dlpack__"):
        msg = f"from_dlpack: an array with __dlpack__ is needed, got {text_of(x)}. Use asarray."
        raise ArgumentError(msg)
    tensor: TensorVariable = tt.constant(x)
    return tensor


def full(
    shape: Shape, fill_value: TensorLike, *, dtype: DTypeLike | None = None, device: str | None = None
) -> TensorVariable:
    """Return a tensor of a shape filled with a number, of its dtype if none is given."""
    check_device("full", device)
    tensor: TensorVariable = tt.full(shape, fill_value, dtype=dtype)
    return tensor


def full_like(
    x: TensorLike, /, fill_value: TensorLike, *, dtype: DTypeLike | None = None, device: str | None = None
) -> TensorVariable:
    """Return a tensor of another's shape filled with a number."""
    check_device("full_like", device)
    tensor: TensorVariable = tt.full_like(x, fill_value, dtype=dtype)
    return tensor


def linspace(
    start: TensorLike,
    stop: TensorLike,
    /,
    num: TensorLike,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    endpoint: builtins.bool = True,
) -> TensorVariable:
    """Return `num` evenly spaced numbers from `start` to `stop`."""
    check_device("linspace", device)
    numbers: TensorVariable = tt.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    return numbers


def meshgrid(*arrays: TensorLike, indexing: str = "xy") -> list[TensorVariable]:
    """Return for each vector the tensor of its coordinates in the grid of all."""
    return list(tt.meshgrid(*arrays, indexing=indexing))


def ones(shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None) -> TensorVariable:
    """Return a tensor of ones."""
    check_device("ones", device)
    tensor: TensorVariable = tt.ones(shape, dtype=dtype)
    return tensor


def ones_like(x: TensorLike, /, *, dtype: DTypeLike | None = None, device: str | None = None) -> TensorVariable:
    """Return ones of a tensor's shape."""
    check_device("ones_like", device)
    tensor: TensorVariable = tt.ones_like(x, dtype=dtype)
    return tensor


def tril(x: TensorLike, /, *, k: TensorLike = 0) -> TensorVariable:
    """Return matrices with zeros above their `k`-th diagonal."""
    matrices: TensorVariable = tt.tril(x, k)
    return matrices


def triu(x: TensorLike, /, *, k: TensorLike = 0) -> TensorVariable:
    """Return matrices with zeros below their `k`-th diagonal."""
    matrices: TensorVariable = tt.triu(x, k)
    return matrices


def zeros(shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None) -> TensorVariable:
    """Return a tensor of zeros."""
    check_device("zeros", device)
    tensor: TensorVariable = tt.zeros(shape, dtype=dtype)
    return tensor


def zeros_like(x: TensorLike, /, *, dtype: DTypeLike | None = None, device: str | None = None) -> TensorVariable:
    """Return zeros of a tensor's shape."""
    check_device("zeros_like", device)
    tensor: TensorVariable = tt.zeros_like(x, dtype=dtype)
    return tensor


__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid",
    "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip
