"""Parts of sparse matrices: rows and columns by slices and lists, and single elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import treadle.tensor as tt
from treadle.config import text_of
from treadle.graph import Variable
from treadle.sparse.forms.dense import pointers_of
from treadle.sparse.forms.parts import Compressed, Lengths, compressed
from treadle.sparse.kernels.lines import line_of_entry
from treadle.sparse.kernels.patterns import Sampled
from treadle.sparse.kernels.structure import INDEX
from treadle.sparse.operands import Operand
from treadle.sparse.types.sparse_type import RANK
from treadle.tensor import IndexingError

if TYPE_CHECKING:
    from treadle.sparse.types.variable import SparseVariable
    from treadle.tensor import TensorVariable

__all__ = ["get_item_2d", "get_item_2lists", "get_item_list", "get_item_scalar", "getitem"]

_ADVICE = (
    "There are no sparse vectors: take rows and columns by slices, x[a:b, c:d], rows by a list, x[[0, 2]], one element "
    "by two integers, x[i, j], or several by two lists."
)


def _is_scalar(index: object) -> bool:
    return not isinstance(index, slice | Sequence) and getattr(index, "ndim", 0) == 0


def _as_list(index: Operand) -> Operand:
    """Return a list of positions, or a mask, as a vector of integers."""
    var = tt.as_tensor_variable(np.zeros(0, "int64") if isinstance(index, list | tuple) and not index else index)
    kind = var.type.numpy_dtype.kind
    if var.ndim != 1 or kind not in "iub":
        msg = f"sparse index: a vector of integers or a mask is needed, got {var} of type {var.type}. {_ADVICE}"
        raise IndexingError(msg)
    return tt.nonzero(var)[0] if kind == "b" else var


def _positions(index: Operand, length: Operand, known: int | None) -> Operand:
    """Return the positions, counted from the front, that a slice or list picks of a length, as a vector of int32.

    A list is checked when the program runs.
    """
    if isinstance(index, slice):
        return tt.arange(length if known is None else known, dtype=INDEX)[index]
    listed = _as_list(index).astype("int64")
    inside = tt.all((listed >= -length) & (listed < length))
    checked = tt.Assert("sparse index: a position is outside of the matrix.")(listed, inside)
    return tt.switch(checked < 0, checked + length, checked).astype(INDEX)


def _is_whole(index: Operand) -> bool:
    return isinstance(index, slice) and index == slice(None)


def _with_length(arrays: Compressed, axis: int, picked: Operand) -> tuple[Operand, Lengths]:
    """Return shape and known lengths with another length along an axis: that of a vector."""
    parts = [arrays.shape[0], arrays.shape[1]]
    parts[axis] = picked.shape[0].astype(INDEX)
    lengths = list(arrays.lengths)
    lengths[axis] = picked.type.shape[0]
    return tt.stack(parts), (lengths[0], lengths[1])


def take_lines(arrays: Compressed, picked: Operand) -> Compressed:
    """Return the lines at some positions, which may come in any order and repeatedly."""
    starts = arrays.indptr[picked]
    indptr = pointers_of(arrays.indptr[picked + 1] - starts)
    entries = tt.arange(indptr[-1], dtype=INDEX)
    line = line_of_entry(entries, indptr)
    sources = starts[line] + entries - indptr[line]
    shape, lengths = _with_length(arrays, arrays.major, picked)
    return Compressed(arrays.format, arrays.data[sources], arrays.indices[sources], indptr, shape, lengths)


def keep_entries(arrays: Compressed, mask: Operand) -> Compressed:
    """Return a matrix without the entries that a mask leaves out."""
    (kept,) = tt.nonzero(mask)
    before = pointers_of(mask)
    return replace(
        arrays, data=arrays.data[kept], indices=arrays.indices[kept], indptr=before[arrays.indptr]
    )  # fmt: skip


def _take_across(arrays: Compressed, picked: Operand) -> Compressed:
    """Return the matrix with the positions across lines that a slice picks, each at most once."""
    none = tt.full((arrays.across,), np.int32(-1))
    places = none[picked].set(tt.arange(picked.shape[0], dtype=INDEX))[arrays.indices]
    shape, lengths = _with_length(arrays, 1 - arrays.major, picked)
    moved = replace(arrays, indices=places)
    return replace(keep_entries(moved, places >= 0), shape=shape, lengths=lengths)


def _take(arrays: Compressed, index: Operand, axis: int) -> Compressed:
    """Return the rows or columns that a slice or list picks."""
    if _is_whole(index):
        return arrays
    picked = _positions(index, arrays.length(axis), arrays.lengths[axis])
    if axis == arrays.major:
        return take_lines(arrays, picked)
    if isinstance(index, slice):
        return _take_across(arrays, picked)
    # A list may repeat positions: take lines of the other format.
    other = "csc" if arrays.format == "csr" else "csr"
    return take_lines(arrays.in_format(other), picked).in_format(arrays.format)


def get_item_list(x: Operand, index: Operand) -> SparseVariable:
    """Return the rows of a sparse matrix that a list picks, in its order; gradients are structured.

    Raises
    ------
    IndexingError
        If the list is no vector of integers, nor a mask.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.get_item_list(A, [1]).eval().toarray()
    array([[9., 0.]])
    """
    return _take(compressed(x), _as_list(index), 0).variable()


def get_item_2d(x: Operand, index: Operand) -> SparseVariable:
    """Return the part of a sparse matrix that one or two slices pick; gradients are structured.

    A slice may also be a list of positions, or a mask. Bounds and steps may be symbolic.

    Raises
    ------
    IndexingError
        If the index is of another kind.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.get_item_2d(A, (slice(0, 1), slice(0, 2))).eval().toarray()
    array([[0., 4.]])
    """
    parts = index if isinstance(index, tuple) else (index,)
    if not 1 <= len(parts) <= RANK or any(_is_scalar(part) for part in parts):
        msg = f"sparse index: one or two slices are needed, got {text_of(index)}. {_ADVICE}"
        raise IndexingError(msg)
    arrays = compressed(x)
    for axis, part in enumerate(parts):
        arrays = _take(arrays, part, axis)
    return arrays.variable()


def get_item_2lists(x: Operand, ind1: Operand, ind2: Operand) -> TensorVariable:
    """Return the elements at pairs of rows and columns, as a dense vector; gradients have the matrix's pattern.

    Raises
    ------
    IndexingError
        If the two are no vectors of integers, or known to differ in length.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.get_item_2lists(A, [0, 1], [1, 0]).eval()
    array([4., 9.])
    """
    arrays = compressed(x)
    rows, columns = _as_list(ind1), _as_list(ind2)
    known = (rows.type.shape[0], columns.type.shape[0])
    if None not in known and known[0] != known[1]:
        msg = f"sparse index: as many rows as columns are needed, got {known[0]} and {known[1]}."
        raise IndexingError(msg)
    both = (
        _positions(rows, arrays.length(0), arrays.lengths[0]),
        _positions(columns, arrays.length(1), arrays.lengths[1]),
    )
    lines, across = both[arrays.major], both[1 - arrays.major]
    if None in known:
        equal = tt.eq(lines.shape[0], across.shape[0])
        lines = tt.Assert("sparse index: as many rows as columns are needed.")(lines, equal)
    picked = take_lines(arrays, lines)
    pointers = tt.arange(lines.shape[0] + 1, dtype=INDEX)
    elements: TensorVariable = Sampled()(
        picked.data, picked.indices, picked.indptr, across, pointers, arrays.across
    )  # fmt: skip
    return elements


def get_item_scalar(x: Operand, index: Operand) -> TensorVariable:
    """Return one element of a sparse matrix, as a scalar; gradients have the matrix's pattern.

    Raises
    ------
    IndexingError
        If the index is not made of two integers.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.get_item_scalar(A, (0, 1)).eval()
    array(4.)
    """
    if not isinstance(index, tuple) or len(index) != RANK or not all(_is_scalar(part) for part in index):
        msg = f"sparse index: two integers are needed, got {text_of(index)}. {_ADVICE}"
        raise IndexingError(msg)
    rows, columns = (tt.as_tensor_variable(part) for part in index)
    for part in (rows, columns):
        if part.type.numpy_dtype.kind not in "iu":
            msg = f"sparse index: integers are needed, got {part} of type {part.type}. Cast it."
            raise IndexingError(msg)
    return get_item_2lists(x, rows[None], columns[None])[0]


def getitem(x: Operand, index: Operand) -> Operand:
    """Return a part of a sparse matrix: of two integers or two lists its elements, else a sparse matrix.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.getitem(A, slice(0, 1)).eval().toarray()
    array([[0., 4.]])
    """
    parts = index if isinstance(index, tuple) else (index,)
    scalars = [_is_scalar(part) for part in parts]
    if len(parts) == RANK and all(scalars):
        return get_item_scalar(x, parts)
    if len(parts) == RANK and not any(isinstance(part, slice) for part in parts) and not any(scalars):
        return get_item_2lists(x, *parts)
    if len(parts) == 1 and isinstance(index, Variable | np.ndarray | list) and not scalars[0]:
        return get_item_list(x, index)
    return get_item_2d(x, index)
