"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import text_of
from treadle.graph import Variable, as_flag
from treadle.tensor.arguments.axes import normalize_axes
from treadle.tensor.elementwise.arithmetic import abs_
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.comparison import neq
from treadle.tensor.elementwise.exponential import power
from treadle.tensor.errors import ArgumentError, TensorTypeError
from treadle.tensor.linalg.decompositions.svd import SVD
from treadle.tensor.linalg.matrix_op import as_matrices
from treadle.tensor.reductions.moments import root, squared_size
from treadle.tensor.reductions.reduction import expanded, max_, min_, sum_
from treadle.tensor.shapes.dimshuffle import moveaxis
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable

    Order: TypeAlias = int | float | str | TensorVariable | None

__all__ = ["matrix_norm", "norm", "vector_norm"]


def _as_inexact(x: TensorLike) -> TensorVariable:
    value = as_tensor_variable(x)
    return value if value.type.numpy_dtype.kind in "fc" else cast(value, "float64")


def _as_order(what: str, value: object) -> Order:
    """Return an order that is None, a text, a number, or a scalar tensor."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Variable):
        return as_tensor_variable(value)
    if isinstance(value, np.number | np.bool_ | np.ndarray) and not value.shape and value.dtype.kind in "biuf":
        return float(value)
    msg = f"{what}: ord must be a number, got {text_of(value)}. Pass a number, inf, -inf, 'fro' or 'nuc'."
    raise TensorTypeError(msg)


def _of_vectors(x: TensorVariable, order: Order, axes: Sequence[int], keepdims: bool) -> TensorVariable:
    """Return the norm of the vectors along axes."""
    if isinstance(order, str):
        msg = f"norm: Invalid norm order '{order}' for vectors. Pass a number, inf or -inf."
        raise ArgumentError(msg)
    if order is None or order == 2:
        return root(sum_(squared_size(x), axis=axes, keepdims=keepdims))
    size = abs_(x)
    if order == np.inf:
        return max_(size, axis=axes, keepdims=keepdims, initial=0)
    if order == -np.inf:
        return min_(size, axis=axes, keepdims=keepdims)
    if order == 0:
        return sum_(cast(neq(x, 0), size.dtype), axis=axes, keepdims=keepdims)
    if order == 1:
        return sum_(size, axis=axes, keepdims=keepdims)
    return cast(power(sum_(power(size, order), axis=axes, keepdims=keepdims), 1 / order), size.dtype)


def _of_matrices(x: TensorVariable, order: Order, axes: Sequence[int], keepdims: bool) -> TensorVariable:
    """Return the norm of the matrices whose rows and columns lie along two axes."""
    rows, columns = axes
    if order in {None, "fro", "f"}:
        return _of_vectors(x, 2, axes, keepdims)
    if order in {2, -2, "nuc"}:
        norms = _of_singular_values(moveaxis(x, axes, (-2, -1)), order)
    elif order in {1, -1, np.inf, -np.inf}:
        added, chosen = (rows, columns) if order in {1, -1} else (columns, rows)
        sums = sum_(abs_(x), axis=added, keepdims=True)
        over = (added, chosen)
        norms = max_(sums, axis=over, initial=0) if order in {1, np.inf} else min_(sums, axis=over)
    else:
        msg = f"norm: Invalid norm order for matrices, got {order!r}. Take 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."
        raise ArgumentError(msg)
    return expanded(norms, tuple(sorted(axes)), x.ndim) if keepdims else norms


def _of_singular_values(x: TensorVariable, order: Order) -> TensorVariable:
    """Return the largest, the smallest or the sum of the singular values of matrices."""
    (a,) = as_matrices("norm", x)
    s: TensorVariable = SVD(compute_uv=False)(a)
    if order == "nuc":
        return sum_(s, axis=-1)
    # They are in descending order. Of none the largest is 0, and there is no smallest.
    if order == -2:
        return min_(s, axis=-1)
    return max_(s, axis=-1, initial=0)


def norm(x: TensorLike, ord: Order = None, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Return a norm of vectors or matrices (as numpy.linalg.norm).

    Parameters
    ----------
    x
        A tensor; integers are converted to float64.
    ord
        The order. Of vectors any number, inf or -inf; of matrices ``fro``, 1, -1, inf or -inf, and 2, -2 or ``nuc``:
        the largest, the smallest or the sum of the singular values. None: the square root of the sum of squares, of
        all elements if `axis` is None too.
    axis
        An axis of vectors, or two axes of matrices; None for all axes of a vector or matrix.
    keepdims
        Whether to keep the axes with length 1.

    Examples
    --------
    >>> tt.norm([3.0, 4.0]).eval()
    array(5.)
    """
    value, ord = _as_inexact(x), _as_order("norm", ord)
    kept = as_flag("norm: keepdims", keepdims)
    if axis is None:
        axes = tuple(range(value.ndim))
        if ord is None or (isinstance(ord, str) and ord in {"f", "fro"} and value.ndim == 2):
            return _of_vectors(value, 2, axes, kept)
    else:
        axes = normalize_axes("norm", axis, value.ndim)
    if len(axes) == 1:
        return _of_vectors(value, ord, axes, kept)
    if len(axes) == 2:
        return _of_matrices(value, ord, axes, kept)
    msg = f"norm: Improper number of dimensions to norm, got {len(axes)}. Name one or two axes."
    raise ArgumentError(msg)


def vector_norm(
    x: TensorLike, /, *, axis: AxisLike = None, keepdims: bool = False, ord: int | float = 2
) -> TensorVariable:
    """Return the norm of vectors along axes, of all elements if None (as numpy.linalg.vector_norm).

    Examples
    --------
    >>> tt.vector_norm([3.0, 4.0]).eval()
    array(5.)
    """
    value = _as_inexact(x)
    axes = normalize_axes("vector_norm", axis, value.ndim, of_scalar=True)
    return _of_vectors(value, _as_order("vector_norm", ord), axes, as_flag("vector_norm: keepdims", keepdims))


def matrix_norm(x: TensorLike, /, *, keepdims: bool = False, ord: Order = "fro") -> TensorVariable:
    """Return the norm of the matrices in the last two dimensions (as numpy.linalg.matrix_norm).

    Examples
    --------
    >>> tt.matrix_norm([[3.0, 0.0], [0.0, 4.0]]).eval()
    array(5.)
    """
    value = _as_inexact(x)
    axes = normalize_axes("matrix_norm", (-2, -1), value.ndim)
    return _of_matrices(value, _as_order("matrix_norm", ord), axes, as_flag("matrix_norm: keepdims", keepdims))
