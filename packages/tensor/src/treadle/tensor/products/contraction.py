"""Products of vectors, matrices and stacks of them, in terms of matmul and elementwise products."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.graph import composed
from treadle.tensor.arguments.axes import normalize_axes, normalize_axis
from treadle.tensor.arguments.values import as_items, known_integer
from treadle.tensor.elementwise.arithmetic import mul, sub
from treadle.tensor.errors import AxisError, ShapeError, TensorTypeError
from treadle.tensor.joins.joining import stack
from treadle.tensor.products.einstein import einsum
from treadle.tensor.products.product import converted, dot, matmul, tensordot
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle, expand_dims, moveaxis, shape_padleft, squeeze
from treadle.tensor.shapes.shape import flatten, lengths, reshape
from treadle.tensor.shapes.shape_specification import specify_shape
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable

__all__ = [
    "batched_dot", "batched_tensordot", "cross", "dense_dot", "inner", "kron", "matrix_dot", "matvec", "multi_dot",
    "vdot", "vecdot", "vecmat",
]  # fmt: skip


def _of_rank(what: str, x: TensorVariable, least: int) -> None:
    if x.ndim < least:
        msg = f"{what}: a tensor of rank {least} or more is needed, got {x} of type {x.type}. Give it dimensions."
        raise ShapeError(msg)


@composed
def vecdot(x1: TensorLike, x2: TensorLike, dtype: DTypeLike | None = None, axis: int = -1) -> TensorVariable:
    """Return sum(conj(x1) * x2) along an axis (as numpy.vecdot); other dimensions broadcast.

    Examples
    --------
    >>> tt.vecdot([[1, 2], [3, 4]], [1, 1]).eval()
    array([3, 7])
    """
    x, y = (converted("vecdot", v, dtype) for v in (x1, x2))
    _of_rank("vecdot", x, 1)
    _of_rank("vecdot", y, 1)
    x, y = (moveaxis(v, normalize_axis("vecdot", axis, v.ndim), -1) for v in (x, y))
    if x.ndim == y.ndim == 1:
        return matmul(x.conj(), y)
    _check_inner("vecdot", x, y, x.ndim - 1, y.ndim - 1)
    return einsum("...i,...i->...", x.conj(), y)


@composed
def matvec(x1: TensorLike, x2: TensorLike, dtype: DTypeLike | None = None) -> TensorVariable:
    """Multiply matrices by vectors (as numpy.matvec): ``(..., m, n)`` and ``(..., n)`` make ``(..., m)``.

    Examples
    --------
    >>> tt.matvec([[1, 2], [3, 4]], [1, 1]).eval()
    array([3, 7])
    """
    x, y = (converted("matvec", v, dtype) for v in (x1, x2))
    _of_rank("matvec", x, 2)
    _of_rank("matvec", y, 1)
    return matmul(x, y) if y.ndim == 1 else squeeze(matmul(x, expand_dims(y, -1)), -1)


@composed
def vecmat(x1: TensorLike, x2: TensorLike, dtype: DTypeLike | None = None) -> TensorVariable:
    """Multiply conjugate vectors by matrices (as numpy.vecmat): ``(..., n)`` and ``(..., n, m)`` make ``(..., m)``.

    Examples
    --------
    >>> tt.vecmat([1, 1], [[1, 2], [3, 4]]).eval()
    array([4, 6])
    """
    x, y = (converted("vecmat", v, dtype) for v in (x1, x2))
    _of_rank("vecmat", x, 1)
    _of_rank("vecmat", y, 2)
    return matmul(x.conj(), y) if x.ndim == 1 else squeeze(matmul(expand_dims(x.conj(), -2), y), -2)


@composed
def inner(a: TensorLike, b: TensorLike) -> TensorVariable:
    """Sum products over the last axes of both (as numpy.inner); scalars multiply.

    Examples
    --------
    >>> tt.inner([1, 2], [3, 4]).eval()
    array(11)
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    if x.ndim == 0 or y.ndim == 0:
        return mul(x, y)
    _check_inner("inner", x, y, x.ndim - 1, y.ndim - 1)
    return matmul(x, y) if x.ndim == y.ndim == 1 else tensordot(x, y, axes=(-1, -1))


@composed
def vdot(a: TensorLike, b: TensorLike) -> TensorVariable:
    """Return sum(conj(a) * b) over all elements (as numpy.vdot).

    Examples
    --------
    >>> tt.vdot([1, 2], [3, 4]).eval()
    array(11)
    """
    x, y = flatten(as_tensor_variable(a)), flatten(as_tensor_variable(b))
    _check_inner("vdot", x, y, 0, 0)
    return matmul(x.conj(), y)


def _check_inner(what: str, x: TensorVariable, y: TensorVariable, d: int, e: int) -> None:
    n, m = x.type.shape[d], y.type.shape[e]
    if n is not None and m is not None and n != m:
        msg = (
            f"{what}: the lengths summed over must be equal, got {n} and {m} (dimension {d} of shape {x.type.shape} "
            f"and dimension {e} of shape {y.type.shape}). Check the shapes."
        )
        raise ShapeError(msg)


def dense_dot(a: TensorLike, b: TensorLike) -> TensorVariable:
    """Multiply dense tensors (as `dot`).

    Examples
    --------
    >>> tt.dense_dot([1, 2], [3, 4]).eval()
    array(11)
    """
    return dot(a, b)


@composed
def multi_dot(arrays: Sequence[TensorLike]) -> TensorVariable:
    """Multiply matrices in the cheapest order (as numpy.linalg.multi_dot); the first and the last may be vectors.

    The order is found by dynamic programming (T. Cormen et al., Introduction to Algorithms, section 14.2) where all
    lengths are known, else as `einsum` finds it.

    Examples
    --------
    >>> tt.linalg.multi_dot([np.eye(2), 2 * np.eye(2)]).eval()
    array([[2., 0.],
           [0., 2.]])
    """
    items = [as_tensor_variable(x) for x in as_items("multi_dot: arrays", arrays)]
    if len(items) < 2:
        msg = f"multi_dot: two tensors or more are needed, got {len(items)}. Pass them as a list."
        raise ShapeError(msg)
    for at, x in enumerate(items):
        if x.ndim != 2 and not (x.ndim == 1 and at in {0, len(items) - 1}):
            msg = (
                f"multi_dot: matrices are needed, got operand {at} of type {x.type}; the first and last may be vectors."
            )
            raise ShapeError(msg)
    for x, y in pairwise(items):
        _check_inner("multi_dot", x, y, x.ndim - 1, 0)
    sizes = [x.type.shape[0] if x.ndim == 2 else 1 for x in items]
    sizes.append(items[-1].type.shape[1] if items[-1].ndim == 2 else 1)
    if items[0].ndim == 1:
        sizes[1] = items[0].type.shape[0]
    known = [n for n in sizes if n is not None]
    if len(known) == len(sizes):
        return _multiplied(items, _splits(known), 0, len(items) - 1)
    operands: list[TensorLike | Sequence[object]] = []
    for at, x in enumerate(items):
        labels = [at, at + 1]
        operands += [x, labels[-x.ndim :] if at == 0 else labels[: x.ndim]]
    ends = [*([0] if items[0].ndim == 2 else []), *([len(items)] if items[-1].ndim == 2 else [])]
    return einsum(operands[0], *operands[1:], ends)  # type: ignore[arg-type]  # a tensor comes first


def _splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return where the cheapest order splits each chain of matrices; factor i has sizes i and i + 1."""
    count = len(sizes) - 1
    costs = {(i, i): 0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs[i, j], splits[i, j] = min(
                (costs[i, k] + costs[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return splits


def _multiplied(
    items: Sequence[TensorVariable], splits: Mapping[tuple[int, int], int], i: int, j: int
) -> TensorVariable:
    """Return the product of the factors i to j."""
    if i == j:
        return items[i]
    k = splits[i, j]
    return matmul(_multiplied(items, splits, i, k), _multiplied(items, splits, k + 1, j))


def matrix_dot(*args: TensorLike) -> TensorVariable:
    """Multiply matrices (as `multi_dot`); of stacks and other tensors, from left to right by `dot`.

    Examples
    --------
    >>> tt.matrix_dot(np.eye(2), 2 * np.eye(2)).eval()
    array([[2., 0.],
           [0., 2.]])
    """
    items = [as_tensor_variable(x) for x in args]
    if not items:
        msg = "matrix_dot: one tensor or more is needed, got none. Pass the factors."
        raise TensorTypeError(msg)
    if len(items) > 1 and {x.ndim for x in items[1:-1]} <= {2} and {items[0].ndim, items[-1].ndim} <= {1, 2}:
        return multi_dot(items)
    return reduce(dot, items)


@composed
def batched_dot(a: TensorLike, b: TensorLike) -> TensorVariable:
    """Multiply the elements of two batches: the first dimension is the batch's, `dot` of the rest is the result.

    Raises
    ------
    ShapeError
        If an operand is a scalar, or lengths of batches or those summed over are known and differ.

    Examples
    --------
    >>> tt.batched_dot(np.ones((2, 1, 3)), np.ones((2, 3, 1))).eval().shape
    (2, 1, 1)
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    _of_rank("batched_dot", x, 1)
    _of_rank("batched_dot", y, 1)
    if x.ndim == 1 or y.ndim == 1:
        ndim = max(x.ndim, y.ndim)
        _check_batch("batched_dot", x, y)
        left, right = (dimshuffle(v, *range(v.ndim), *[NEW] * (ndim - v.ndim)) for v in (x, y))
        return mul(left, right)
    return _batched("batched_dot", x, y, (x.ndim - 1,), (max(1, y.ndim - 2),))


@composed
def batched_tensordot(x: TensorLike, y: TensorLike, axes: AxisLike | Sequence[AxisLike] = 2) -> TensorVariable:
    """Sum products over pairs of axes, for each element of a batch: the first dimension of both.

    Parameters
    ----------
    x, y
        Tensors.
    axes
        How many of the last axes of `x`, and of those of `y` after the batch's; or a pair of axes, or of sequences of
        them, which count the batch's axis but do not name it.

    Raises
    ------
    AxisError
        If an axis is not an integer, out of range, the batch's, or named twice.
    ShapeError
        If `axes` is not a pair, or lengths are known and differ.

    Examples
    --------
    >>> tt.batched_tensordot(np.ones((2, 3)), np.ones((2, 3)), axes=1).eval()
    array([3., 3.])
    """
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    _of_rank("batched_tensordot", a, 1)
    _of_rank("batched_tensordot", b, 1)
    count = known_integer(axes)
    if count is not None:
        most = min(a.ndim, b.ndim) - 1
        if not 0 <= count <= most:
            msg = f"batched_tensordot: {count} axes cannot be summed over. Pass a number from 0 to {most}."
            raise AxisError(msg)
        xs, ys = tuple(range(a.ndim - count, a.ndim)), tuple(range(1, 1 + count))
    else:
        pair = as_items("batched_tensordot: axes", axes)  # type: ignore[arg-type]  # refuses anything else
        if len(pair) != 2 or any(named is None for named in pair):
            msg = f"batched_tensordot: axes must be a number, or one or several axes for each, got {text_of(axes)}."
            raise ShapeError(msg)
        xs, ys = (normalize_axes("batched_tensordot", p, v.ndim) for p, v in zip(pair, (a, b), strict=True))
        if len(xs) != len(ys):
            msg = f"batched_tensordot: as many axes of both tensors are needed, got {xs} and {ys}."
            raise ShapeError(msg)
        if 0 in xs or 0 in ys:
            msg = f"batched_tensordot: axis 0 is that of the batch, got axes {xs} and {ys}. Name others."
            raise AxisError(msg)
    return _batched("batched_tensordot", a, b, xs, ys)


def _check_batch(what: str, x: TensorVariable, y: TensorVariable) -> None:
    n, m = x.type.shape[0], y.type.shape[0]
    if n is not None and m is not None and n != m:
        msg = f"{what}: the batches must have one length, got shapes {x.type.shape} and {y.type.shape}. Check them."
        raise ShapeError(msg)


def _batched(
    what: str, x: TensorVariable, y: TensorVariable, xs: tuple[int, ...], ys: tuple[int, ...]
) -> TensorVariable:
    _check_batch(what, x, y)
    for d, e in zip(xs, ys, strict=True):
        _check_inner(what, x, y, d, e)
    left = [0, *range(1, x.ndim)]
    right = [0, *(x.ndim + d for d in range(1, y.ndim))]
    for d, e in zip(xs, ys, strict=True):
        right[e] = left[d]
    result = [
        0,
        *(left[d] for d in range(1, x.ndim) if d not in xs),
        *(right[d] for d in range(1, y.ndim) if d not in ys),
    ]
    return einsum(x, left, y, right, result)


@composed
def kron(a: TensorLike, b: TensorLike) -> TensorVariable:
    """Return the Kronecker product (as numpy.kron): of matrices, a block of `b` for each element of `a`.

    Examples
    --------
    >>> tt.kron([1, 10], [1, 2]).eval()
    array([ 1,  2, 10, 20])
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    ndim = max(x.ndim, y.ndim)
    x, y = shape_padleft(x, ndim - x.ndim), shape_padleft(y, ndim - y.ndim)
    left = dimshuffle(x, *(k for d in range(ndim) for k in (d, NEW)))
    right = dimshuffle(y, *(k for d in range(ndim) for k in (NEW, d)))
    blocks: TensorVariable = mul(left, right)
    if ndim == 0:
        return blocks
    return reshape(blocks, [n * m for n, m in zip(lengths(x), lengths(y), strict=True)])


@composed
def cross(
    a: TensorLike, b: TensorLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> TensorVariable:
    """Return the cross product of vectors (as numpy.cross), which lie along axes of length 2 or 3.

    Parameters
    ----------
    a, b
        The vectors; a third component that is missing is 0. Other dimensions broadcast.
    axisa, axisb, axisc
        The axes of the vectors in `a`, in `b`, and in the result; two vectors of 2 components have a number for result.
    axis
        The axis of the vectors in all of them, in place of the others.

    Raises
    ------
    ShapeError
        If such an axis has another length. One whose length is not known is taken to have 3, which is checked when the
        program runs.

    Examples
    --------
    >>> tt.cross([1, 0, 0], [0, 1, 0]).eval()
    array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    _of_rank("cross", x, 1)
    _of_rank("cross", y, 1)
    x = moveaxis(x, normalize_axis("cross: axisa", axisa, x.ndim), -1)
    y = moveaxis(y, normalize_axis("cross: axisb", axisb, y.ndim), -1)
    for v in (x, y):
        if v.type.shape[-1] not in {None, 2, 3}:
            msg = (
                f"cross: vectors must have 2 or 3 components, got {v.type.shape[-1]} in {v} of type {v.type}. Name "
                "their axis."
            )
            raise ShapeError(msg)
    x, y = (specify_shape(v, (*[None] * (v.ndim - 1), v.type.shape[-1] or 3)) for v in (x, y))
    (x0, x1, *x2), (y0, y1, *y2) = ([v[..., d] for d in range(v.type.shape[-1] or 0)] for v in (x, y))
    last = sub(mul(x0, y1), mul(x1, y0))
    if not x2 and not y2:
        return last
    first = [mul(x1, y2[0])] if y2 else []
    second = [mul(x0, y2[0])] if y2 else []
    # A component that is missing leaves one product of two.
    if x2:
        first.append(mul(x2[0], y1))
        second.append(mul(x2[0], y0))
    u = sub(*first) if len(first) == 2 else (first[0] if y2 else -first[0])
    v = sub(second[1], second[0]) if len(second) == 2 else (-second[0] if y2 else second[0])
    components = stack([u, v, last], axis=-1)
    return moveaxis(components, -1, normalize_axis("cross: axisc", axisc, components.ndim))
