"""Slices as values of graphs, and the pieces of index expressions, as ops hold them and rewrites take them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from treadle.config import text_of
from treadle.graph import Constant, Variable
from treadle.tensor.arguments.values import as_integer, known_integer
from treadle.tensor.elementwise.arithmetic import add, floor_div, maximum, minimum, mul, neg, sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, lt
from treadle.tensor.errors import AxisError, IndexingError, NotScalarConstantError, TensorTypeError
from treadle.tensor.indexing.expressions import At, Span, Symbolic
from treadle.tensor.indexing.indexing import subtensor
from treadle.tensor.indexing.slice_values import MakeSlice, make_slice
from treadle.tensor.shapes.broadcasting import broadcast_to
from treadle.tensor.shapes.shape import LENGTH, lengths
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.none_and_slices import NoneConst, NoneTypeT, SliceType
from treadle.tensor.types.tensor_type import MOST_DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from treadle.tensor.indexing.expressions import Bound, Entry
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    # A piece of an index expression: a position, positions, or a slice.
    Piece: TypeAlias = "int | slice | Variable | None"

__all__ = [
    "advanced_subtensor", "as_index_literal", "as_index_variable", "basic_subtensor",
    "get_canonical_form_slice", "get_idx_list", "get_slice_elements", "index_vars_to_types", "indexed_result_shape",
    "indices_from_subtensor", "slice_at_axis", "unflatten_index_variables",
]  # fmt: skip


def slice_at_axis(sl: slice, axis: int) -> tuple[slice | type(Ellipsis), ...]:  # type: ignore[valid-type]  # the type of ...
    """Return the index of a slice of one axis: ``x[slice_at_axis(slice(1, 3), axis=2)]``.

    Examples
    --------
    >>> tt.slice_at_axis(slice(1, 3), 1)
    (slice(None, None, None), slice(1, 3, None), Ellipsis)
    """
    at = as_integer("slice_at_axis: axis", axis)
    if not -MOST_DIMENSIONS <= at < MOST_DIMENSIONS:
        msg = f"slice_at_axis: a tensor has {MOST_DIMENSIONS} dimensions at most, got axis {at}. Pass one of them."
        raise AxisError(msg)
    if at >= 0:
        return (*(slice(None),) * at, sl, ...)
    return (..., sl, *(slice(None),) * (-1 - at))


# Pieces of index expressions


def indices_from_subtensor(op_indices: Iterable[Variable], idx_list: Sequence[Entry] | None) -> tuple[Piece, ...]:
    """Return what stands between the brackets of an index op: positions, arrays and slices.

    Parameters
    ----------
    op_indices
        The node's index inputs: ``node.inputs[1:]`` of a read, ``node.inputs[2:]`` of a write.
    idx_list
        The op's `idx_list`.
    """
    remaining = iter(op_indices)
    if idx_list is None:
        return tuple(remaining)
    return tuple(_piece(entry, remaining) for entry in idx_list)


def _piece(entry: Entry, remaining: Iterator[Variable]) -> Piece:
    def bound(value: Bound) -> int | Variable | None:
        return next(remaining) if isinstance(value, Symbolic) else value

    if isinstance(entry, At):
        return bound(entry.value)
    if isinstance(entry, Span):
        return slice(bound(entry.start), bound(entry.stop), bound(entry.step))
    return next(remaining)


def unflatten_index_variables(flat_indices: Sequence[Variable], idx_list: Sequence[Entry]) -> tuple[Piece, ...]:
    """Return what stands between the brackets of an index op, of its index inputs (see `indices_from_subtensor`)."""
    return indices_from_subtensor(flat_indices, idx_list)


def get_idx_list(inputs: Sequence[Variable], idx_list: Sequence[Entry] | None) -> tuple[Piece, ...]:
    """Return what stands between the brackets of a node: ``get_idx_list(node.inputs, node.op.idx_list)``.

    The first input is the tensor; of a write, leave the values out: ``[node.inputs[0], *node.inputs[2:]]``.
    """
    return indices_from_subtensor(inputs[1:], idx_list)


def index_vars_to_types(entry: Piece, slice_ok: bool = True) -> object:
    """Return a piece of an index with the types of variables in their place."""
    if isinstance(entry, slice) and slice_ok:
        return slice(*(index_vars_to_types(b, False) for b in (entry.start, entry.stop, entry.step)))
    if isinstance(entry, slice):
        msg = f"index_vars_to_types: a slice holds no slices, got {entry}."
        raise TensorTypeError(msg)
    return entry.type if isinstance(entry, Variable) else entry


def as_index_literal(idx: object) -> int | slice | np.ndarray | None:
    """Return a piece of an index whose values are known as what it is in Python: an integer, None, a slice.

    Raises
    ------
    NotScalarConstantError
        If it is known only when the program runs.

    Examples
    --------
    >>> tt.as_index_literal(tt.constant(3))
    3
    """
    if isinstance(idx, slice):
        return slice(*(as_index_literal(b) for b in (idx.start, idx.stop, idx.step)))
    if isinstance(idx, Variable):
        if isinstance(idx.type, NoneTypeT):
            return None
        if isinstance(idx.type, SliceType) and idx.owner is not None and isinstance(idx.owner.op, MakeSlice):
            return slice(*map(as_index_literal, idx.owner.inputs))
        if isinstance(idx, Constant):
            data: slice | np.ndarray = idx.data
            return int(data) if isinstance(data, np.ndarray) and data.ndim == 0 else data
    elif idx is None:
        return None
    known = known_integer(idx)
    if known is None:
        msg = f"as_index_literal: the value of {text_of(idx)} is not known when the graph is built."
        raise NotScalarConstantError(msg)
    return known


def as_index_variable(idx: object) -> Variable:
    """Return a piece of an index as a variable: an integer tensor, a mask, a slice or None.

    Raises
    ------
    IndexingError
        If it is not an index.

    Examples
    --------
    >>> tt.as_index_variable(2).eval()
    array(2)
    """
    if idx is None:
        return NoneConst
    if isinstance(idx, slice):
        result: Variable = make_slice(idx)
        return result
    if isinstance(idx, Variable) and isinstance(idx.type, SliceType | NoneTypeT):
        return idx
    var = as_tensor_variable(idx)  # type: ignore[arg-type]  # refuses anything else
    if var.type.numpy_dtype.kind not in "iub":
        msg = f"as_index_variable: integers, masks, slices and None are indices, got {text_of(idx)} of type {var.type}."
        raise IndexingError(msg)
    return var


def get_slice_elements(idxs: Sequence[Piece], cond: Callable[[Variable], object] | None = None) -> list[Variable]:
    """Return the variables in pieces of an index, those of slices too, for which a condition holds if one is given."""
    variables: list[Variable] = []
    for idx in idxs:
        parts = (idx.start, idx.stop, idx.step) if isinstance(idx, slice) else (idx,)
        variables += [x for x in parts if isinstance(x, Variable) and (cond is None or cond(x))]
    return variables


def basic_subtensor(x: TensorLike, *index_args: Piece) -> TensorVariable:
    """Return ``x[index_args]`` for positions and slices.

    Examples
    --------
    >>> tt.basic_subtensor([1, 2, 3], slice(1, None)).eval()
    array([2, 3])
    """
    return subtensor(x, index_args)


def advanced_subtensor(x: TensorLike, *index_args: Piece | TensorLike) -> TensorVariable:
    """Return ``x[index_args]``, arrays of positions and masks among them.

    Examples
    --------
    >>> tt.advanced_subtensor([1, 2, 3], [2, 0]).eval()
    array([3, 1])
    """
    return subtensor(x, index_args)


def indexed_result_shape(
    array_shape: Sequence[TensorLike], indices: Sequence[Piece], indices_are_shapes: bool = False
) -> tuple[TensorVariable, ...]:
    """Return the lengths of what an index picks from a tensor of some shape.

    Parameters
    ----------
    array_shape
        The tensor's lengths.
    indices
        The index; with `indices_are_shapes`, the shapes of arrays in their place.
    indices_are_shapes
        See `indices`.

    Examples
    --------
    >>> [int(n.eval()) for n in tt.indexed_result_shape((4, 5), (slice(1, 3),))]
    [2, 5]
    """

    def positions(piece: object) -> object:
        is_shape = indices_are_shapes and isinstance(piece, tuple | list)
        return broadcast_to(np.array(0), tuple(piece)) if is_shape else piece  # type: ignore[arg-type]  # a shape

    array = broadcast_to(np.zeros((), "int8"), tuple(array_shape))
    picked = subtensor(array, tuple(positions(i) for i in indices))  # type: ignore[arg-type]  # refuses anything but an index
    return tuple(lengths(picked))


def get_canonical_form_slice(theslice: Piece, length: TensorLike) -> tuple[slice | TensorVariable | int, TensorLike]:
    """Return a slice that picks the same elements of a dimension in ascending order, and in which direction it went.

    Parameters
    ----------
    theslice
        A slice, or a position.
    length
        The dimension's length.

    Returns
    -------
    A slice whose start and stop are from 0 to the length and whose step is positive, or the position counted from the
    start; and 1, or -1 for a slice that went backwards (a variable where the step's sign is not known).

    Examples
    --------
    >>> tt.get_canonical_form_slice(slice(None, None, -1), 4)
    (slice(0, 4, 1), -1)
    """
    if not isinstance(theslice, slice):
        known, n = known_integer(theslice), known_integer(length)
        if known is not None and (known >= 0 or n is not None):
            return (known if known >= 0 else known + (n or 0)), 1
        at = as_tensor_variable(theslice)  # type: ignore[arg-type]  # a position
        counted: TensorVariable = switch(lt(at, 0), add(at, length), at)
        return counted, 1
    start, stop, step = (
        known_integer(b) if b is not None else None for b in (theslice.start, theslice.stop, theslice.step)
    )
    n = known_integer(length)
    own_bounds = (theslice.start, theslice.stop, theslice.step)
    if n is not None and all(a is None or b is not None for a, b in zip(own_bounds, (start, stop, step), strict=True)):
        picked = range(n)[slice(start, stop, step)]
        upward = picked if picked.step > 0 else picked[::-1]
        if not len(upward):
            return slice(0, 0, abs(picked.step)), 1 if picked.step > 0 else -1
        return slice(upward.start, upward.stop, upward.step), 1 if picked.step > 0 else -1
    size = cast(length, LENGTH)
    upward_slice = _upward(theslice, size, 1 if step is None else step)
    downward = _downward(theslice, size, -1 if step is None else step)
    if theslice.step is None or (step is not None and step > 0):
        return upward_slice, 1
    if step is not None:
        return downward, -1
    rises = gt(cast(theslice.step, LENGTH), 0)
    upward_slice = _upward(theslice, size, cast(theslice.step, LENGTH))
    downward = _downward(theslice, size, cast(theslice.step, LENGTH))
    parts = zip(
        (upward_slice.start, upward_slice.stop, upward_slice.step),
        (downward.start, downward.stop, downward.step),
        strict=True,
    )
    return slice(*(switch(rises, a, b) for a, b in parts)), switch(rises, 1, -1)


def _counted(bound: TensorLike | None, default: TensorLike, size: TensorVariable, low: int) -> TensorLike:
    """Return a bound counted from the start, brought between `low` and the last position plus 1 plus `low`."""
    if bound is None:
        return default
    at = cast(bound, LENGTH)
    at = switch(lt(at, 0), add(at, size), at)
    return minimum(maximum(at, low), add(size, low))


def _upward(theslice: slice, size: TensorVariable, step: TensorLike) -> slice:
    return slice(_counted(theslice.start, 0, size, 0), _counted(theslice.stop, size, size, 0), step)


def _downward(theslice: slice, size: TensorVariable, step: TensorLike) -> slice:
    """Return the elements of a slice with a negative step in ascending order: from its last element to its first."""
    first = _counted(theslice.start, sub(size, 1), size, -1)
    stop = _counted(theslice.stop, -1, size, -1)
    stride = neg(cast(step, LENGTH)) if known_integer(step) is None else -(known_integer(step) or 0)
    count = maximum(floor_div(sub(add(sub(first, stop), stride), 1), stride), 0)
    last = switch(ge(count, 1), sub(first, mul(sub(count, 1), stride)), 0)
    return slice(last, switch(eq(count, 0), 0, add(first, 1)), stride)
