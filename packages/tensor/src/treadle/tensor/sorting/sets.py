"""Sets of values: unique ones, membership, unions, intersections and differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treadle.graph import Constant, as_flag
from treadle.tensor.arguments.axes import normalize_axis
from treadle.tensor.arguments.values import as_choice, check_flags
from treadle.tensor.elementwise.arithmetic import sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, isnan, le, lt, neq
from treadle.tensor.elementwise.complex_numbers import imag, real
from treadle.tensor.elementwise.logic import bitwise_and, bitwise_or, logical_not
from treadle.tensor.indexing.indexing import set_subtensor, subtensor
from treadle.tensor.indexing.masks import first_true, nonzero
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.indexing.searching import IsIn, RowOrder
from treadle.tensor.joins.joining import concatenate, stack
from treadle.tensor.reductions.accumulation import cumsum
from treadle.tensor.reductions.reduction import any_, prod
from treadle.tensor.shapes.broadcasting import ones_like, zeros_like
from treadle.tensor.shapes.dimshuffle import moveaxis
from treadle.tensor.shapes.shape import LENGTH, flatten, lengths, reshape, shape_i
from treadle.tensor.sorting.sorting import argsort, sort
from treadle.tensor.types.conversion import as_tensor_variable, constant

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "UniqueAll", "UniqueCounts", "UniqueInverse", "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique",
    "unique_all", "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: TensorVariable
    indices: TensorVariable
    inverse_indices: TensorVariable
    counts: TensorVariable


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: TensorVariable
    counts: TensorVariable


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: TensorVariable
    inverse_indices: TensorVariable


_HEAD, _TAIL = slice(None, -1), slice(1, None)


def _steps(ordered: TensorVariable, equal_nan: bool) -> TensorVariable:
    """Return where sorted elements, or rows, differ from the one before: one fewer than there are."""
    before, after = subtensor(ordered, _HEAD), subtensor(ordered, _TAIL)
    differ: TensorVariable = neq(after, before)
    if equal_nan and ordered.type.numpy_dtype.kind in "fc":
        differ = bitwise_and(differ, logical_not(bitwise_and(isnan(after), isnan(before))))
    return any_(differ, axis=1) if ordered.ndim > 1 else differ


def _firsts(ordered: TensorVariable, equal_nan: bool) -> TensorVariable:
    """Return which of sorted elements, or rows, are the first of their kind."""
    one = ones_like(subtensor(arange(shape_i(ordered, 0)), slice(None, 1)), "bool")
    return concatenate([one, _steps(ordered, equal_nan)])


def unique(
    ar: TensorLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: TensorLike | None = None,
    fill_value: TensorLike | None = None,
) -> TensorVariable | tuple[TensorVariable, ...]:
    """Return the distinct elements of a tensor in order, or its distinct parts along an axis (as numpy.unique).

    Derivatives flow from each to the element that it was first found at.

    Parameters
    ----------
    ar
        The tensor.
    return_index
        Whether to return also at which position each was found first.
    return_inverse
        Whether to return also where in the result each element of the tensor stands.
    return_counts
        Whether to return also how often each was found.
    axis
        The axis. None: elements of the flattened tensor are compared.
    equal_nan
        Whether all NaN count as one; with an axis they never do.
    sorted
        Without effect: the result always is.
    size, fill_value
        How many are returned, and what is added where there are fewer: by default the least again. With a size the
        shape does not depend on data, so that JAX takes it.

    Returns
    -------
    The values, or a tuple of them and what was asked for, in the order of the parameters.

    Examples
    --------
    >>> tt.unique([3, 1, 3]).eval()
    array([1, 3])
    """
    check_flags("unique", sorted=sorted)
    var = as_tensor_variable(ar)
    alike = as_flag("unique: equal_nan", equal_nan)
    flags = [as_flag(f"unique: return_{name}", flag) for name, flag in (
        ("index", return_index), ("inverse", return_inverse), ("counts", return_counts))]  # fmt: skip
    if axis is None:
        items = flatten(var)
    else:
        at = normalize_axis("unique", axis, var.ndim)
        front = moveaxis(var, at, 0)
        row = lengths(front)[1:]
        items, alike = reshape(front, (shape_i(front, 0), prod(stack(row)) if row else 1), ndim=2), False
    n = shape_i(items, 0)
    order: TensorVariable | None = None
    if axis is not None:
        order = _row_order(items)
    elif flags[0] or flags[1]:
        order = argsort(items, stable=True)
    ordered = sort(items) if order is None else subtensor(items, order)
    first = _firsts(ordered, alike)
    if size is None:
        places = nonzero(first)[0]
        values = subtensor(ordered, places)
    else:
        places = first_true(first, size)
        values = subtensor(ordered, switch(lt(places, n), places, 0))
        if fill_value is not None:
            is_value = lt(places, n) if axis is None else lt(places, n).dimshuffle(0, "x")
            values = switch(is_value, values, cast(fill_value, var.dtype))
    if axis is not None:
        count = shape_i(values, 0)
        values = moveaxis(reshape(values, (count, *row), ndim=var.ndim), 0, at)
    results = [values]
    if flags[0] and order is not None:
        results.append(subtensor(order, places if size is None else switch(lt(places, n), places, 0)))
    if flags[1] and order is not None:
        number = sub(cumsum(cast(first, LENGTH)), 1)
        inverse = set_subtensor(subtensor(zeros_like(order), order), number)
        results.append(reshape(inverse, var.shape, ndim=var.ndim) if axis is None else inverse)
    if flags[2]:
        ends = concatenate([places, n.dimshuffle("x")])
        results.append(sub(subtensor(ends, _TAIL), subtensor(ends, _HEAD)))
    return results[0] if len(results) == 1 else tuple(results)


def _row_order(rows: TensorVariable) -> TensorVariable:
    """Return the positions that sort the rows of a matrix."""
    if rows.type.numpy_dtype.kind == "c":
        both = stack([real(rows), imag(rows)], axis=2)
        rows = reshape(both, (shape_i(rows, 0), shape_i(rows, 1) * 2), ndim=2)
    order: TensorVariable = RowOrder()(rows)
    return order


def unique_all(x: TensorLike) -> UniqueAll:
    """Return distinct elements, first positions, positions in the result, and counts; NaN differ (numpy.unique_all).

    Examples
    --------
    >>> [x.eval() for x in tt.unique_all([3, 1, 3])]
    [array([1, 3]), array([1, 0]), array([1, 0, 1]), array([1, 2])]
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x: TensorLike) -> UniqueCounts:
    """Return the distinct elements and how often each was found; NaN differ (as numpy.unique_counts).

    Examples
    --------
    >>> [x.eval() for x in tt.unique_counts([3, 1, 3])]
    [array([1, 3]), array([1, 2])]
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: TensorLike) -> UniqueInverse:
    """Return the distinct elements, and where each element stands among them (as numpy.unique_inverse).

    Examples
    --------
    >>> [x.eval() for x in tt.unique_inverse([3, 1, 3])]
    [array([1, 3]), array([1, 0, 1])]
    """
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: TensorLike) -> TensorVariable:
    """Return the distinct elements, in order; NaN differ (as numpy.unique_values).

    Examples
    --------
    >>> tt.unique_values([3, 1, 3]).eval()
    array([1, 3])
    """
    values = unique(x, equal_nan=False)
    assert not isinstance(values, tuple)
    return values


def _distinct(x: TensorVariable) -> TensorVariable:
    values = unique(x)
    assert not isinstance(values, tuple)
    return values


# So few known elements are compared one by one, which is one pass over the others.
_FEW = 8
# Known integers that lie this far apart at most are looked up in a table.
_LARGEST_TABLE = 2**16


def isin(
    element: TensorLike,
    test_elements: TensorLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> TensorVariable:
    """Return which elements are among others (as numpy.isin).

    Parameters
    ----------
    element
        The tensor whose elements are looked up.
    test_elements
        The others.
    assume_unique, kind
        Without effect.
    invert
        Whether to return which are not among them.

    Examples
    --------
    >>> tt.isin([1, 2, 3], [2, 3]).eval()
    array([False,  True,  True])
    """
    as_flag("isin: assume_unique", assume_unique)
    as_choice("isin: kind", kind, (None, "sort", "table"))
    x, test = as_tensor_variable(element), as_tensor_variable(test_elements)
    dtype = np.result_type(x.dtype, test.dtype)
    x = cast(x, dtype)
    if isinstance(test, Constant):
        others: TensorVariable = constant(test.data.ravel().astype(dtype))
    else:
        others = cast(flatten(test), dtype)
    n = others.type.shape[0]
    if isinstance(others, Constant) and others.data.size <= _FEW:
        result: TensorVariable = zeros_like(x, "bool")
        for value in others.data:
            result = bitwise_or(result, eq(x, as_tensor_variable(value)))
    elif n == 0:
        result = zeros_like(x, "bool")
    elif dtype.kind == "c":
        result = _by_number(x, others)
    elif isinstance(others, Constant) and dtype.kind in "iu" and _span(others.data) <= _LARGEST_TABLE:
        result = _by_table(x, others.data)
    else:
        result = IsIn()(x, sort(others))
    return logical_not(result) if as_flag("isin: invert", invert) else result


def _span(values: np.ndarray) -> int:
    """Return how far integers lie apart."""
    return int(values.max()) - int(values.min())


def _by_table(x: TensorVariable, values: np.ndarray) -> TensorVariable:
    """Return which integers are among known ones, by a table of all between the least and the largest."""
    low, high = values.min(), values.max()
    table = np.zeros(_span(values) + 1, bool)
    table[(values - low).astype(LENGTH)] = True
    inside = bitwise_and(ge(x, low), le(x, high))
    return bitwise_and(inside, subtensor(as_tensor_variable(table), switch(inside, sub(x, low), low.dtype.type(0))))


def _by_number(x: TensorVariable, others: TensorVariable) -> TensorVariable:
    """Return which elements are among others. Equal ones get equal numbers, as complex numbers cannot be searched."""
    size = prod(stack(lengths(x))) if x.ndim else 1
    values, number = unique_inverse(concatenate([flatten(x), others]))
    is_member = zeros_like(values, "bool")
    is_member = set_subtensor(subtensor(is_member, subtensor(number, slice(size, None))), as_tensor_variable(np.True_))
    return reshape(subtensor(is_member, subtensor(number, slice(None, size))), x.shape, ndim=x.ndim)


def _as_sets(ar1: TensorLike, ar2: TensorLike, assume_unique: bool) -> tuple[TensorVariable, TensorVariable]:
    """Return two tensors as vectors of distinct elements."""
    one, two = (flatten(as_tensor_variable(x)) for x in (ar1, ar2))
    return (one, two) if assume_unique else (_distinct(one), _distinct(two))


def union1d(ar1: TensorLike, ar2: TensorLike) -> TensorVariable:
    """Return the distinct elements of two tensors, in order (as numpy.union1d).

    Examples
    --------
    >>> tt.union1d([1, 2], [2, 3]).eval()
    array([1, 2, 3])
    """
    return _distinct(concatenate([flatten(as_tensor_variable(x)) for x in (ar1, ar2)]))


def setdiff1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False) -> TensorVariable:
    """Return the distinct elements of a tensor that are not in another, in order (as numpy.setdiff1d).

    With `assume_unique` the elements stay in the order of the first tensor.

    Examples
    --------
    >>> tt.setdiff1d([1, 2, 3], [2]).eval()
    array([1, 3])
    """
    elements = flatten(as_tensor_variable(ar1))
    one = elements if as_flag("setdiff1d: assume_unique", assume_unique) else _distinct(elements)
    return subtensor(one, isin(one, ar2, invert=True))


def setxor1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False) -> TensorVariable:
    """Return the elements that are in one of two tensors only, in order (as numpy.setxor1d).

    Examples
    --------
    >>> tt.setxor1d([1, 2], [2, 3]).eval()
    array([1, 3])
    """
    both = sort(concatenate(list(_as_sets(ar1, ar2, as_flag("setxor1d: assume_unique", assume_unique)))))
    one = ones_like(subtensor(both, slice(None, 1)), "bool")
    steps = neq(subtensor(both, _TAIL), subtensor(both, _HEAD))
    return subtensor(both, bitwise_and(concatenate([one, steps]), concatenate([steps, one])))


def intersect1d(
    ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False, return_indices: bool = False
) -> TensorVariable | tuple[TensorVariable, TensorVariable, TensorVariable]:
    """Return the distinct elements that are in both of two tensors, in order (as numpy.intersect1d).

    Parameters
    ----------
    ar1, ar2
        The tensors, flattened.
    assume_unique
        Whether the elements of each are distinct already.
    return_indices
        Whether to return also where in each of the flattened tensors they are found first.

    Examples
    --------
    >>> tt.intersect1d([1, 2, 3], [2, 3, 4]).eval()
    array([2, 3])
    """
    distinct = as_flag("intersect1d: assume_unique", assume_unique)
    if not as_flag("intersect1d: return_indices", return_indices):
        both = sort(concatenate(list(_as_sets(ar1, ar2, distinct))))
        return subtensor(subtensor(both, _HEAD), eq(subtensor(both, _TAIL), subtensor(both, _HEAD)))
    vectors = [flatten(as_tensor_variable(x)) for x in (ar1, ar2)]
    places = [arange(shape_i(v, 0)) for v in vectors]
    if not distinct:
        distinct_parts = [unique(v, return_index=True) for v in vectors]
        vectors, places = [v for v, _ in distinct_parts], [p for _, p in distinct_parts]
    joined = concatenate(vectors)
    order = argsort(joined, stable=True)
    both = subtensor(joined, order)
    twice = eq(subtensor(both, _TAIL), subtensor(both, _HEAD))
    first = subtensor(subtensor(order, _HEAD), twice)
    second = sub(subtensor(subtensor(order, _TAIL), twice), shape_i(vectors[0], 0))
    return subtensor(subtensor(both, _HEAD), twice), subtensor(places[0], first), subtensor(places[1], second)
