"""Counting and ordering by bins: bincount, searchsorted, digitize, histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from treadle.config import text_of
from treadle.graph import Constant, as_flag
from treadle.tensor.arguments.values import as_choice, as_integer, as_items, known_integer
from treadle.tensor.batches.batching import spread_all
from treadle.tensor.elementwise.arithmetic import add, maximum, mul, sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, lt
from treadle.tensor.elementwise.complex_numbers import complex_, imag, real
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.errors import DtypeError, ShapeError, TensorTypeError
from treadle.tensor.indexing.indexing import subtensor
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.indexing.searching import BinCount, SearchSorted
from treadle.tensor.joins.joining import concatenate, stack
from treadle.tensor.reductions.reduction import max_, min_, prod, sum_
from treadle.tensor.shapes.batch_dims import most_batch, refuse_batched
from treadle.tensor.shapes.dimshuffle import NEW, as_dimension, dimshuffle
from treadle.tensor.shapes.shape import LENGTH, flatten, lengths, reshape, shape_i
from treadle.tensor.shapes.shape_specification import held
from treadle.tensor.sorting.sets import unique_inverse
from treadle.tensor.types.conversion import as_tensor_variable, constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

    Range: TypeAlias = "tuple[TensorLike, TensorLike]"
    Bins: TypeAlias = "TensorLike"

__all__ = [
    "bincount", "digitize", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd", "searchsorted",
]  # fmt: skip


def _as_array(x: TensorLike) -> TensorVariable:
    """Return a tensor; a Python number has the dtype that NumPy gives an array of it."""
    return as_tensor_variable(np.asarray(x) if isinstance(x, bool | int | float | complex) else x)


def searchsorted(a: TensorLike, v: TensorLike, side: str = "left", sorter: TensorLike | None = None) -> TensorVariable:
    """Return where values would be inserted into a sorted vector to keep its order (as numpy.searchsorted).

    Parameters
    ----------
    a
        A vector, sorted, or sorted by `sorter`.
    v
        The values, of any shape.
    side
        ``"left"``: before equal elements; ``"right"``: after them.
    sorter
        Positions that sort the vector.

    Returns
    -------
    Positions of int64 in the shape of `v`.

    Examples
    --------
    >>> tt.searchsorted([1, 3, 5], [2, 5]).eval()
    array([1, 2])
    """
    vector, values = _as_array(a), _as_array(v)
    if vector.ndim != 1:
        msg = f"searchsorted: the sorted values must be a vector, got {vector} of rank {vector.ndim}. Use vectorize."
        raise ShapeError(msg)
    if sorter is not None:
        vector = subtensor(vector, as_tensor_variable(sorter))
    dtype = np.result_type(vector.dtype, values.dtype)
    op = SearchSorted(as_choice("searchsorted: side", side, ("left", "right")))
    vector, values = cast(vector, dtype), cast(values, dtype)
    if dtype.kind == "c":
        vector, values = _numbered(vector, values)
    positions: TensorVariable = op(vector, values)
    return positions


def _numbered(vector: TensorVariable, values: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return integers in place of complex numbers, ordered as these are and equal where these are equal."""
    numbers = unique_inverse(concatenate([vector, flatten(values)])).inverse_indices
    n = shape_i(vector, 0)
    numbers_of_values = reshape(subtensor(numbers, slice(n, None)), values.shape, ndim=values.ndim)
    return subtensor(numbers, slice(None, n)), numbers_of_values


def digitize(x: TensorLike, bins: TensorLike, right: bool = False) -> TensorVariable:
    """Return for each value the number of the bin it falls into (as numpy.digitize).

    Parameters
    ----------
    x
        The values.
    bins
        Edges of the bins, a vector that increases or decreases. Where it is known only when the program runs, its ends
        decide which, and that it does is not checked.
    right
        Whether a bin holds its right edge, not its left one.

    Examples
    --------
    >>> tt.digitize([0.5, 2.5], [1.0, 2.0]).eval()
    array([0, 2])
    """
    values, edges = _as_array(x), _as_array(bins)
    if values.type.numpy_dtype.kind == "c":
        msg = f"digitize: complex numbers have no order, got {values} of type {values.type}. Use their parts."
        raise TensorTypeError(msg)
    side = "left" if as_flag("digitize: right", right) else "right"
    if isinstance(edges, Constant):
        order = _direction("digitize: bins", edges.data)
        if order > 0:
            return searchsorted(edges, values, side)
        return sub(shape_i(edges, 0), searchsorted(subtensor(edges, slice(None, None, -1)), values, side))
    # Of edges that increase, or of which there are none, the order stays.
    turned = subtensor(edges, slice(None, None, -1))
    falls = sum_(gt(subtensor(edges, slice(None, 1)), subtensor(turned, slice(None, 1)))) > 0
    number = searchsorted(switch(falls, turned, edges), values, side)
    return switch(falls, sub(shape_i(edges, 0), number), number)


def _direction(what: str, edges: np.ndarray) -> int:
    """Return 1 for edges that increase, -1 for such as decrease."""
    if edges.ndim != 1:
        msg = f"{what} must be a vector, got an array of shape {edges.shape}. Flatten it."
        raise ShapeError(msg)
    for order in (1, -1):
        if np.all(edges[::order][1:] >= edges[::order][:-1]):
            return order
    msg = f"{what} must be monotonically increasing or decreasing, got {text_of(edges)}. Sort them."
    raise ShapeError(msg)


def bincount(
    x: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    assert_nonneg: bool = False,
    *,
    length: TensorLike | None = None,
) -> TensorVariable:
    """Count how often each integer from 0 on occurs in a vector (as numpy.bincount).

    Parameters
    ----------
    x
        A vector of integers.
    weights
        Added up in place of ones, in float64.
    minlength
        The least number of counts.
    assert_nonneg
        Without effect: negative integers always are an error.
    length
        The number of counts: other integers are left out. With it the shape does not depend on data, so that backends
        which compile for shapes known beforehand, such as JAX, take it.

    Examples
    --------
    >>> tt.bincount([0, 1, 1, 3]).eval()
    array([1, 2, 0, 1])
    """
    as_flag("bincount: assert_nonneg", assert_nonneg)
    items = as_tensor_variable(x)
    if items.type.shape == (0,) and getattr(x, "dtype", None) is None:
        items = cast(items, LENGTH)
    if items.ndim != 1:
        msg = f"bincount: a vector of integers is needed, got {items} of rank {items.ndim}. Flatten it."
        raise ShapeError(msg)
    if not np.can_cast(items.dtype, LENGTH, "safe"):
        msg = f"bincount: integers that fit int64 are needed, got {items} of dtype {items.dtype}. Cast it to int64."
        raise TensorTypeError(msg)
    if length is not None and minlength is not None:
        msg = "bincount: minlength and length are both given. Give one of them."
        raise TensorTypeError(msg)
    bins = length if length is not None else minlength if minlength is not None else 0
    known = known_integer(bins)
    if known is not None and known < 0:
        msg = f"bincount: the number of counts must not be negative, got {known}."
        raise ShapeError(msg)
    total = as_tensor_variable(bins)
    if known is None and (total.ndim or total.type.numpy_dtype.kind not in "iu"):
        msg = f"bincount: the number of counts must be an integer or an integer scalar, got {text_of(bins)}. Pass one."
        raise TensorTypeError(msg)
    number = cast(total, LENGTH)
    if weights is None:
        return _counted(items, number, None, length is not None)
    return _counted(items, number, as_tensor_variable(weights), length is not None)


def _counted(x: TensorVariable, bins: TensorVariable, weights: TensorVariable | None, bounded: bool) -> TensorVariable:
    if weights is not None and not np.can_cast(weights.dtype, "float64", "safe"):
        msg = f"bincount: weights must fit float64, got {weights} of dtype {weights.dtype}. Cast them."
        raise TensorTypeError(msg)
    more = [] if weights is None else [cast(weights, "float64")]
    counts: TensorVariable = BinCount(weights is not None, bounded)(cast(x, LENGTH), bins, *more)
    return counts


def vectorize_bincount(op: BinCount, node: TensorNode, *inputs: TensorVariable) -> TensorVariable:
    """Count for each part of a batch, in bins of its own, whose number must not differ along it."""
    x, bins, *_ = inputs
    pairs = list(zip(node.inputs, inputs, strict=True))
    refuse_batched([pairs[1]], "the number of bins")
    if not op.bounded:
        refuse_batched([pairs[0]], "the number of bins, which bincount(x, length=n) takes,")
    if not most_batch(pairs):
        counted: TensorVariable = op(*inputs)
        return counted
    if not op.bounded:
        # The integers are the same for all of the batch.
        bins = maximum(bins, add(max_(concatenate([x, np.array([-1])])), 1))
    x, *weights = spread_all([pairs[0], *pairs[2:]])
    batch = lengths(x)[:-1]
    parts = prod(stack(batch))
    inside = bitwise_and(ge(x, 0), lt(x, bins))
    own = reshape(mul(arange(parts), bins), (*batch, 1), ndim=x.ndim)
    places = switch(inside, add(x, own), -1)
    flat = BinCount(op.weighted, True)(flatten(places), mul(parts, bins), *map(flatten, weights))
    return reshape(flat, (*batch, bins), ndim=x.ndim)


# Histograms


def _edges(what: str, values: TensorVariable, bins: Bins, limits: Range | None) -> tuple[TensorVariable, int | None]:
    """Return the edges of bins, and how many bins there are if they are all of one width."""
    if isinstance(bins, str):
        msg = f"{what}: the rule {bins!r} for the number of bins is not known here. Give a number, or the edges."
        raise TensorTypeError(msg)
    if values.type.numpy_dtype.kind == "c":
        msg = f"{what}: complex numbers have no order, got {values} of type {values.type}. Take x.real."
        raise DtypeError(msg)
    count = known_integer(bins)
    edges = as_tensor_variable(bins)
    if count is None and edges.ndim == 0:
        count = as_integer(f"{what}: bins", bins)
    if count is None:
        if edges.ndim != 1 or (isinstance(edges, Constant) and np.any(edges.data[:-1] > edges.data[1:])):
            msg = f"{what}: bins must increase monotonically and be a vector, got {text_of(bins)}. Sort them."
            raise ShapeError(msg)
        return edges, None
    if count < 1:
        msg = f"{what}: bins must be positive, got {count}."
        raise ShapeError(msg)
    low, high = _limits(what, values, limits)
    kind = np.result_type(low.dtype, high.dtype)
    dtype = np.result_type(kind, values.dtype)
    dtype, kind = (np.result_type(d, 1.0) for d in (dtype, kind))
    low, high = cast(low, kind), cast(high, kind)
    number = arange(count + 1)
    even = add(mul(cast(number, kind), (high - low) / np.array(count, kind)), low)
    return cast(switch(eq(number, count), high, even), dtype), count


def _limits(what: str, values: TensorVariable, limits: Range | None) -> tuple[TensorVariable, TensorVariable]:
    """Return the outermost edges: those given, else the smallest and the largest value."""
    if limits is not None:
        ends = [_as_array(x) for x in as_items(f"{what}: range", limits)]
        if len(ends) != 2 or any(x.ndim or x.type.numpy_dtype.kind == "c" for x in ends):
            msg = f"{what}: range must be two real numbers, got {text_of(limits)}."
            raise ShapeError(msg)
        low, high = ends
        known = [x.data for x in ends if isinstance(x, Constant)]
        if not all(np.isfinite(x) for x in known) or (len(known) == 2 and known[0] > known[1]):
            msg = f"{what}: range must be two finite numbers, the larger last, got {text_of(limits)}."
            raise ShapeError(msg)
    elif 0 in values.type.shape:
        low, high = constant(0.0, dtype="float64"), constant(1.0, dtype="float64")
    else:
        items = cast(values, "uint8") if values.dtype == "bool" else values
        # Of no values the edges are 0 and 1.
        real = items.type.numpy_dtype.kind == "f"
        least, most = (-np.inf, np.inf) if real else (np.iinfo(items.dtype).min, np.iinfo(items.dtype).max)
        empty = eq(items.size, 0)
        low = switch(empty, cast(0, items.dtype), min_(items, initial=constant(most, dtype=items.dtype)))
        high = switch(empty, cast(1, items.dtype), max_(items, initial=constant(least, dtype=items.dtype)))
    alike = eq(low, high)
    if isinstance(low, Constant) and isinstance(high, Constant):
        return (sub(low, 0.5), add(high, 0.5)) if low.data == high.data else (low, high)
    return switch(alike, sub(low, 0.5), low), switch(alike, add(high, 0.5), high)


def histogram_bin_edges(
    a: TensorLike, bins: Bins = 10, range: Range | None = None, weights: TensorLike | None = None
) -> TensorVariable:
    """Return the edges of the bins that `histogram` counts in (as numpy.histogram_bin_edges).

    Examples
    --------
    >>> tt.histogram_bin_edges([1.0, 3.0], bins=2).eval()
    array([1., 2., 3.])
    """
    if weights is not None:
        as_tensor_variable(weights)  # as NumPy, which has no use for them here
    return _edges("histogram_bin_edges", flatten(as_tensor_variable(a)), bins, range)[0]


def _bin_numbers(values: TensorVariable, edges: TensorVariable) -> TensorVariable:
    """Return the number of the bin that each value falls into; the last one holds its right edge.

    Values below the first edge have the number -1; those above the last, and NaN, the number of bins.
    """
    last = subtensor(edges, -1)
    number = searchsorted(edges, values, "right")
    inner = switch(eq(values, last), sub(shape_i(edges, 0), 1), number)
    return sub(inner, 1)


def _sums(numbers: TensorVariable, bins: TensorVariable, weights: TensorVariable | None) -> TensorVariable:
    """Return how many values, or what weight, each bin holds."""
    if weights is None:
        return _counted(numbers, bins, None, bounded=True)
    if weights.type.numpy_dtype.kind == "c":
        parts = (_counted(numbers, bins, part(weights), bounded=True) for part in (real, imag))
        return cast(complex_(*parts), weights.dtype)
    return cast(_counted(numbers, bins, cast(weights, "float64"), bounded=True), weights.dtype)


def histogram(
    a: TensorLike,
    bins: Bins = 10,
    range: Range | None = None,
    density: bool | None = None,
    weights: TensorLike | None = None,
) -> tuple[TensorVariable, TensorVariable]:
    """Count values in bins (as numpy.histogram).

    Parameters
    ----------
    a
        The values, of any shape.
    bins
        How many bins of one width there are, known when the graph is built, or their edges, a vector that increases.
    range
        The outermost edges; the smallest and the largest value if None.
    density
        Whether to divide by the width of the bins and the number of values.
    weights
        Added up in place of ones; of the shape of `a`.

    Returns
    -------
    The counts, and the edges of the bins.

    Examples
    --------
    >>> [x.eval() for x in tt.histogram([1.0, 2.0, 2.5], bins=2)]
    [array([1, 2]), array([1.  , 1.75, 2.5 ])]
    """
    sample = as_tensor_variable(a)
    share = None if weights is None else as_tensor_variable(weights)
    if share is not None and share.ndim != sample.ndim:
        msg = (
            f"histogram: weights of rank {share.ndim} do not fit values of rank {sample.ndim}. Make their shapes equal."
        )
        raise ShapeError(msg)
    values = flatten(cast(sample, "uint8") if sample.dtype == "bool" else sample)
    edges, _ = _edges("histogram", values, bins, range)
    number = sub(shape_i(edges, 0), 1)
    counts = _sums(_bin_numbers(values, edges), number, None if share is None else flatten(share))
    if density is not None and as_flag("histogram: density", density):
        widths = cast(subtensor(edges, slice(1, None)) - subtensor(edges, slice(None, -1)), "float64")
        return counts / widths / sum_(counts), edges
    return counts, edges


def histogramdd(
    sample: TensorLike | Sequence[TensorLike],
    bins: Bins | Sequence[Bins] = 10,
    range: Sequence[Range | None] | None = None,
    density: bool | None = None,
    weights: TensorLike | None = None,
) -> tuple[TensorVariable, tuple[TensorVariable, ...]]:
    """Count points in bins of several dimensions (as numpy.histogramdd).

    Parameters
    ----------
    sample
        A matrix with a row for each point, or a sequence with a vector for each coordinate.
    bins
        As in `histogram`, for all dimensions or for each.
    range
        The outermost edges for each dimension.
    density, weights
        As in `histogram`.

    Returns
    -------
    The counts as float64, a dimension for each coordinate; and the edges of each.

    Examples
    --------
    >>> tt.histogramdd([[1.0, 1.0], [2.0, 2.0]], bins=2)[0].eval()
    array([[0., 0.],
           [0., 2.]])
    """
    if isinstance(sample, list | tuple):
        columns = [as_tensor_variable(x) for x in sample]
    else:
        points = as_tensor_variable(sample)
        points = dimshuffle(points, 0, NEW) if points.ndim == 1 else points
        if points.ndim != 2 or points.type.shape[1] is None:
            msg = f"histogramdd: the number of coordinates must be known, got {points} of type {points.type}. Split it."
            raise ShapeError(msg)
        columns = [subtensor(held(points, 1), (slice(None), d)) for d in np.arange(points.type.shape[1]).tolist()]
    each: list[Bins] = list(bins) if isinstance(bins, list | tuple) else [bins] * len(columns)
    limits = [None] * len(columns) if range is None else as_items("histogramdd: range", range)
    if len(each) != len(columns) or len(limits) != len(columns):
        msg = f"histogramdd: bins and range must have one item for each of {len(columns)} coordinates."
        raise ShapeError(msg)
    edges = [_edges("histogramdd", x, b, r)[0] for x, b, r in zip(columns, each, limits, strict=True)]
    counts = [sub(shape_i(e, 0), 1) for e in edges]
    place: TensorVariable = constant(0, dtype=LENGTH)
    inside: TensorVariable = constant(np.True_)
    for x, e, n in zip(columns, edges, counts, strict=True):
        number = _bin_numbers(x, e)
        inside = bitwise_and(inside, bitwise_and(ge(number, 0), lt(number, n)))
        place = add(mul(place, n), number)
    total = prod(stack(counts))
    share = None if weights is None else cast(weights, "float64")
    flat = cast(_sums(switch(inside, place, -1), total, share), "float64")
    histogram = reshape(flat, tuple(counts), ndim=len(counts))
    if density is not None and as_flag("histogramdd: density", density):
        whole = sum_(histogram)
        for d, e in enumerate(edges):
            widths = subtensor(e, slice(1, None)) - subtensor(e, slice(None, -1))
            histogram = histogram / as_dimension(widths, d, len(edges))
        histogram = histogram / whole
    return histogram, tuple(edges)


def histogram2d(
    x: TensorLike,
    y: TensorLike,
    bins: Bins | Sequence[Bins] = 10,
    range: Sequence[Range | None] | None = None,
    density: bool | None = None,
    weights: TensorLike | None = None,
) -> tuple[TensorVariable, TensorVariable, TensorVariable]:
    """Count points of the plane in bins (as numpy.histogram2d); arguments as in `histogramdd`.

    Returns
    -------
    The counts, the edges along `x`, and those along `y`.

    Examples
    --------
    >>> tt.histogram2d([1.0, 2.0], [1.0, 2.0], bins=2)[0].eval()
    array([[1., 0.],
           [0., 1.]])
    """
    each: list[Bins] = list(bins) if isinstance(bins, list | tuple) and len(bins) == 2 else [bins, bins]
    counts, edges = histogramdd([x, y], each, range, density, weights)
    along_x, along_y = edges
    return counts, along_x, along_y
