"""Sparse matrices put together, and made from rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import treadle.tensor as tt
from treadle.sparse.elementwise.arithmetic import common_dtype
from treadle.sparse.errors import SparseShapeError, SparseTypeError
from treadle.sparse.forms.dense import SparseFromDense, cast
from treadle.sparse.forms.parts import Compressed, compressed
from treadle.sparse.kernels.structure import INDEX
from treadle.sparse.operands import Operand
from treadle.sparse.types.conversion import as_sparse_or_tensor_variable, as_sparse_variable, is_sparse_variable
from treadle.sparse.types.sparse_type import RANK, check_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.sparse.types.variable import SparseVariable

__all__ = ["block_diag", "construct_sparse_from_list", "hstack", "vstack"]


def _blocks(what: str, blocks: Operand) -> list[Operand]:
    if is_sparse_variable(blocks) or not hasattr(blocks, "__iter__"):
        msg = f"{what}: a list of sparse matrices is needed, got {blocks}. Put them into a list."
        raise SparseTypeError(msg)
    listed = [as_sparse_variable(block) for block in blocks]
    if not listed:
        msg = f"{what}: at least one sparse matrix is needed, got an empty list."
        raise SparseShapeError(msg)
    return listed


def _lines_joined(
    blocks: Sequence[Compressed], offsets: Sequence[Operand], across: tuple[Operand, int | None]
) -> Compressed:
    """Return the lines of matrices of one format one after the other, each moved across by an offset."""
    first = blocks[0]
    pointers, ends = [first.indptr], first.indptr[-1]
    for block in blocks[1:]:
        pointers.append(block.indptr[1:] + ends)
        ends = ends + block.indptr[-1]
    lines = sum((b.shape[b.major] for b in blocks[1:]), first.shape[first.major])
    known = [b.lengths[b.major] for b in blocks]
    total = None if None in known else sum(n for n in known if n is not None)
    both = [(lines, total), across]
    shape, lengths = zip(*(both if first.major == 0 else both[::-1]), strict=True)
    return Compressed(
        first.format,
        tt.concatenate([b.data for b in blocks]),
        tt.concatenate([b.indices + offset for b, offset in zip(blocks, offsets, strict=True)]).astype(INDEX),
        tt.concatenate(pointers).astype(INDEX),
        tt.stack([n.astype(INDEX) for n in shape]),
        lengths,
    )


def _stacked(what: str, blocks: Operand, axis: int, format: str | None, dtype: object) -> SparseVariable:
    listed = _blocks(what, blocks)
    name = check_format(what, "csc" if format is None else format)
    kind = common_dtype(*listed) if dtype is None else dtype
    # Along its lines a format is joined at once.
    by_line = ("csr", "csc")[axis]
    arrays = [compressed(cast(block, kind)).in_format(by_line) for block in listed]
    other = 1 - axis
    known = {a.lengths[other] for a in arrays} - {None}
    if len(known) > 1:
        side = ("rows", "columns")[other]
        msg = f"{what}: matrices with as many {side} are needed, got {sorted(n for n in known if n is not None)}."
        raise SparseShapeError(msg)
    first = arrays[0].shape[other]
    if len(arrays) > 1 and any(a.lengths[other] is None for a in arrays):
        message = f"{what}: the matrices must have as many {('rows', 'columns')[other]}."
        equal = tt.all(tt.stack([tt.eq(a.shape[other], first) for a in arrays[1:]]))
        first = tt.Assert(message)(first, equal)
    joined = _lines_joined(arrays, [np.int32(0)] * len(arrays), (first, known.pop() if known else None))
    return joined.in_format(name).variable()


def hstack(blocks: Operand, format: str | None = None, dtype: object = None) -> SparseVariable:
    """Return sparse matrices next to each other.

    Parameters
    ----------
    blocks
        A list of matrices with as many rows.
    format
        The format of the result; ``csc`` if None.
    dtype
        Its dtype; that of sums of the matrices if None.

    Raises
    ------
    SparseTypeError
        If the list holds something else.
    SparseShapeError
        If it is empty, or numbers of rows are known to differ.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.hstack([A, A]).eval().shape
    (2, 4)
    """
    return _stacked("hstack", blocks, 1, format, dtype)


def vstack(blocks: Operand, format: str | None = None, dtype: object = None) -> SparseVariable:
    """Return sparse matrices below each other; parameters and errors as of `hstack`, for columns.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.vstack([A, A]).eval().shape
    (4, 2)
    """
    return _stacked("vstack", blocks, 0, format, dtype)


def block_diag(*matrices: Operand, format: str = "csc") -> SparseVariable:
    """Return the sparse matrix with some matrices, sparse or dense, along its diagonal.

    Raises
    ------
    SparseShapeError
        If there are none, or one is no matrix.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.block_diag(A, A).eval().shape
    (4, 4)
    """
    name = check_format("block_diag", format)
    listed: list[Operand] = [as_sparse_or_tensor_variable(m) for m in matrices]
    if not listed or any(m.ndim != RANK for m in listed):
        msg = f"block_diag: one matrix or more is needed, got types {', '.join(str(m.type) for m in listed) or 'none'}."
        raise SparseShapeError(msg)
    dtype = common_dtype(*listed)
    sparse = [m if is_sparse_variable(m) else SparseFromDense(name)(m) for m in listed]
    arrays = [compressed(cast(m, dtype)).in_format(name) for m in sparse]
    offsets: list[Operand] = [np.int32(0)]
    other = 1 - arrays[0].major
    for a in arrays:
        offsets.append(offsets[-1] + a.shape[other])
    known = [a.lengths[other] for a in arrays]
    total = None if None in known else sum(n for n in known if n is not None)
    return _lines_joined(arrays, offsets[:-1], (offsets[-1], total)).variable()


def construct_sparse_from_list(x: Operand, values: Operand, ilist: Operand) -> SparseVariable:
    """Return the CSC matrix of a shape, some rows of which are those of a dense matrix.

    Parameters
    ----------
    x
        A dense matrix, of which the shape and the dtype count.
    values
        A dense matrix with the rows.
    ilist
        A vector of integers: where each of them goes. Rows that go to the same place add up.

    Raises
    ------
    SparseShapeError
        If x or values is no matrix.
    SparseTypeError
        If ilist is no vector of integers.

    Examples
    --------
    >>> sparse.construct_sparse_from_list(np.zeros((3, 2)), np.ones((1, 2)), [1]).eval().toarray()
    array([[0., 0.],
           [1., 1.],
           [0., 0.]])
    """
    like, rows, places = map(tt.as_tensor_variable, (x, values, ilist))
    if like.ndim != RANK or rows.ndim != RANK:
        msg = f"construct_sparse_from_list: matrices x and values are needed, got types {like.type} and {rows.type}."
        raise SparseShapeError(msg)
    if places.ndim != 1 or places.type.numpy_dtype.kind not in "iu":
        msg = f"construct_sparse_from_list: ilist must be a vector of integers, got {places} of type {places.type}."
        raise SparseTypeError(msg)
    count, columns = rows.shape[0], rows.shape[1]
    known = (rows.type.shape[0], places.type.shape[0])
    if None in known or known[0] != known[1]:
        message = "construct_sparse_from_list: ilist needs one position for each row of values."
        places = tt.Assert(message)(places, tt.eq(places.shape[0], count))
    return Compressed(
        "csc",
        rows.T.flatten().astype(like.dtype),
        tt.tile(places.astype(INDEX), (columns,)),
        (tt.arange(columns + 1, dtype=INDEX) * count).astype(INDEX),
        like.shape.astype(INDEX),
        (like.type.shape[0], like.type.shape[1]),
    ).variable()
