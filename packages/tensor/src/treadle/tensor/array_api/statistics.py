"""Sums and other numbers of many elements by the array API standard's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.array_api.public import tt

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Axes = int | tuple[int, ...] | None


def all(x: TensorLike, /, *, axis: Axes = None, keepdims: bool = False) -> TensorVariable:
    """Whether all elements along axes are true."""
    result: TensorVariable = tt.all(x, axis, keepdims)
    return result


def any(x: TensorLike, /, *, axis: Axes = None, keepdims: bool = False) -> TensorVariable:
    """Whether any element along axes is true."""
    result: TensorVariable = tt.any(x, axis, keepdims)
    return result


def cumulative_sum(
    x: TensorLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> TensorVariable:
    """Return the sums of the elements up to each along an axis, from 0 on if `include_initial`."""
    sums: TensorVariable = tt.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)
    return sums


def cumulative_prod(
    x: TensorLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> TensorVariable:
    """Return the products of the elements up to each along an axis, from 1 on if `include_initial`."""
    products: TensorVariable = tt.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)
    return products


def max(x: TensorLike, /, *, axis: Axes = None, keepdims: bool = False) -> TensorVariable:
    """Return the largest element along axes."""
    result: TensorVariable = tt.max(x, axis, keepdims)
    return result


def mean(x: TensorLike, /, *, axis: Axes = None, keepdims: bool = False) -> TensorVariable:
    """Return the mean of the elements along axes."""
    result: TensorVariable = tt.mean(x, axis, keepdims=keepdims)
    return result


def min(x: TensorLike, /, *, axis: Axes = None, keepdims: bool = False) -> TensorVariable:
    """Return the smallest element along axes."""
    result: TensorVariable = tt.min(x, axis, keepdims)
    return result


def prod(
    x: TensorLike, /, *, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> TensorVariable:
    """Return the product of the elements along axes."""
    result: TensorVariable = tt.prod(x, axis, dtype, keepdims)
    return result


def std(x: TensorLike, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> TensorVariable:
    """Return the standard deviation along axes, dividing by the number of elements less `correction`."""
    result: TensorVariable = tt.std(x, axis, keepdims=keepdims, correction=correction)
    return result


def sum(
    x: TensorLike, /, *, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> TensorVariable:
    """Return the sum of the elements along axes."""
    result: TensorVariable = tt.sum(x, axis, dtype, keepdims)
    return result


def var(x: TensorLike, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> TensorVariable:
    """Return the variance along axes, dividing by the number of elements less `correction`."""
    result: TensorVariable = tt.var(x, axis, keepdims=keepdims, correction=correction)
    return result


def diff(
    x: TensorLike,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: TensorLike | None = None,
    append: TensorLike | None = None,
) -> TensorVariable:
    """Return the differences of neighbours along an axis, taken `n` times."""
    result: TensorVariable = tt.diff(x, n, axis, prepend, append)
    return result


__all__ = [
    "all", "any", "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min", "prod", "std", "sum", "var",
]  # fmt: skip
