"""Kernels of sparse matrices: products, and reading one matrix at the positions of another.

Each kernel first checks positions and pointers, so that no wrong ones lead out of an array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.blocks import cleared
from treadle.kernels.language import OK, SHAPE, Matrix, Number, Pointer, Vector, convert, independent, int32
from treadle.sparse.kernels.lines import Densified, LineOfEntry
from treadle.sparse.kernels.patterns import Sampled, SampledSparseProduct
from treadle.sparse.kernels.products import LinesProduct, SampledProduct, TransposedLinesProduct

if TYPE_CHECKING:
    from treadle.kernels import Given
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)


@kernel
def sparse_pointers(count: int, pointers: Vector[int32]) -> int:
    """Check that pointers describe lines of so many entries."""
    lines = len(pointers) - 1
    if lines < 0 or pointers[0] != 0 or pointers[lines] != count:
        return SHAPE
    for i in range(lines):
        if pointers[i] > pointers[i + 1]:
            return SHAPE
    return OK


@kernel
def sparse_check(indices: Vector[int32], pointers: Vector[int32], across: int) -> int:
    """Check that positions and pointers describe lines of a length."""
    if sparse_pointers(len(indices), pointers) != OK:
        return SHAPE
    for e in range(len(indices)):
        if indices[e] < 0 or indices[e] >= across:
            return SHAPE
    return OK


@kernel
def sparse_lines(indices: Vector[int32], pointers: Vector[int32], o: Pointer[int32]) -> int:
    """Write the number of each line to its entries."""
    if sparse_pointers(len(indices), pointers) != OK:
        return SHAPE
    for i in range(len(pointers) - 1):
        for e in range(pointers[i], pointers[i + 1]):
            o[e] = i
    return OK


@kernel
def sparse_dense(data: Vector[T], indices: Vector[int32], pointers: Vector[int32], across: int, o: Pointer[T]) -> int:
    """Add the entries to zeros."""
    if sparse_check(indices, pointers, across) != OK:
        return SHAPE
    lines = len(pointers) - 1
    cleared(o, lines * across)
    for i in range(lines):
        for e in range(pointers[i], pointers[i + 1]):
            o[i * across + indices[e]] += data[e]
    return OK


@kernel(inline=True)
def sparse_row_added(factor: T, y: Matrix[T], source: int, o: Pointer[T], target: int) -> int:
    """Add a row of a matrix times a factor to one of the result."""
    k = y.shape[1]
    to = o + target * k
    row = y.pointer + source * y.strides[0]
    stride = y.strides[1]
    if stride == 1 or k == 1:
        for c in independent(range(k)):
            to[c] += factor * row[c]
    else:
        for c in range(k):
            to[c] += factor * row[c * stride]
    return OK


@kernel
def sparse_product(
    data: Vector[T], indices: Vector[int32], pointers: Vector[int32], y: Matrix[T], o: Pointer[T]
) -> int:
    """Multiply the lines with a matrix."""
    if sparse_check(indices, pointers, y.shape[0]) != OK:
        return SHAPE
    lines = len(pointers) - 1
    if y.shape[1] == 1:
        for i in range(lines):
            total = convert(T, 0)
            for e in range(pointers[i], pointers[i + 1]):
                total += data[e] * y[indices[e], 0]
            o[i] = total
        return OK
    cleared(o, lines * y.shape[1])
    for i in range(lines):
        for e in range(pointers[i], pointers[i + 1]):
            sparse_row_added(data[e], y, indices[e], o, i)
    return OK


@kernel
def sparse_transposed(
    data: Vector[T], indices: Vector[int32], pointers: Vector[int32], y: Matrix[T], across: int, o: Pointer[T]
) -> int:
    """Multiply the transpose of the lines with a matrix."""
    if sparse_check(indices, pointers, across) != OK:
        return SHAPE
    cleared(o, across * y.shape[1])
    for i in range(len(pointers) - 1):
        for e in range(pointers[i], pointers[i + 1]):
            sparse_row_added(data[e], y, i, o, indices[e])
    return OK


@kernel
def sparse_dots(indices: Vector[int32], pointers: Vector[int32], u: Matrix[T], w: Matrix[T], o: Pointer[T]) -> int:
    """Write the sums of products of two rows."""
    if sparse_check(indices, pointers, w.shape[0]) != OK:
        return SHAPE
    for i in range(len(pointers) - 1):
        for e in range(pointers[i], pointers[i + 1]):
            j = indices[e]
            total = convert(T, 0)
            for c in range(u.shape[1]):
                total += u[i, c] * w[j, c]
            o[e] = total
    return OK


@kernel
def sparse_sampled(
    data: Vector[T],
    indices: Vector[int32],
    pointers: Vector[int32],
    at: Vector[int32],
    to: Vector[int32],
    across: int,
    row: Pointer[T],
    o: Pointer[T],
) -> int:
    """Spread each line out in a row of zeros, and read it there."""
    if sparse_check(indices, pointers, across) != OK or sparse_check(at, to, across) != OK:
        return SHAPE
    cleared(row, across)
    for i in range(len(pointers) - 1):
        for e in range(pointers[i], pointers[i + 1]):
            row[indices[e]] += data[e]
        for e in range(to[i], to[i + 1]):
            o[e] = row[at[e]]
        for e in range(pointers[i], pointers[i + 1]):
            row[indices[e]] = 0
    return OK


@kernel
def sparse_sampled_product(
    a: Vector[T],
    a_indices: Vector[int32],
    a_pointers: Vector[int32],
    b: Vector[T],
    b_indices: Vector[int32],
    b_pointers: Vector[int32],
    at: Vector[int32],
    to: Vector[int32],
    across: int,
    row: Pointer[T],
    wanted: Pointer[int32],
    o: Pointer[T],
) -> int:
    """Add up the terms of each line in a row, where the pattern has a position."""
    if sparse_check(b_indices, b_pointers, across) != OK or sparse_check(at, to, across) != OK:
        return SHAPE
    if sparse_check(a_indices, a_pointers, len(b_pointers) - 1) != OK:
        return SHAPE
    cleared(wanted, across)
    for i in range(len(a_pointers) - 1):
        mark = i + 1
        first = to[i]
        last = to[i + 1]
        if first == last:
            continue
        for e in range(first, last):
            wanted[at[e]] = mark
            row[at[e]] = 0
        for e in range(a_pointers[i], a_pointers[i + 1]):
            k = a_indices[e]
            factor = a[e]
            for f in range(b_pointers[k], b_pointers[k + 1]):
                j = b_indices[f]
                if wanted[j] == mark:
                    row[j] += factor * b[f]
        for e in range(first, last):
            o[e] = row[at[e]]
    return OK


def with_data(site: Site, data: Given, indices: Given) -> None:
    """Write that there must be as many elements as positions."""
    site.same(data.shape[0], indices.shape[0])


@TABLE.register(LineOfEntry)
def line_of_entry(op: LineOfEntry, node: TensorNode, site: Site) -> None:
    """Write the number of each line to its entries."""
    indices, pointers = map(site.array, node.inputs)
    site.run(sparse_lines, indices, pointers, site.output(node.outputs[0], indices.shape).pointer)


@TABLE.register(Densified)
def densified(op: Densified, node: TensorNode, site: Site) -> None:
    """Add the entries to zeros."""
    data, indices, pointers = map(site.array, node.inputs[:3])
    across = site.integer(node.inputs[3])
    with_data(site, data, indices)
    site.stop_if(across < 0)
    site.stop_if(pointers.shape[0] < 1)
    out = site.output(node.outputs[0], [pointers.shape[0] - 1, across])
    site.run(sparse_dense, data, indices, pointers, across, out.pointer)


@TABLE.register(LinesProduct)
def lines_product(op: LinesProduct, node: TensorNode, site: Site) -> None:
    """Multiply the lines with a matrix."""
    data, indices, pointers, y = map(site.array, node.inputs)
    with_data(site, data, indices)
    site.stop_if(pointers.shape[0] < 1)
    out = site.output(node.outputs[0], [pointers.shape[0] - 1, y.shape[1]])
    site.run(sparse_product, data, indices, pointers, y, out.pointer)


@TABLE.register(TransposedLinesProduct)
def transposed_lines_product(op: TransposedLinesProduct, node: TensorNode, site: Site) -> None:
    """Multiply the transpose of the lines with a matrix."""
    data, indices, pointers, y = map(site.array, node.inputs[:4])
    across = site.integer(node.inputs[4])
    with_data(site, data, indices)
    site.same(pointers.shape[0] - 1, y.shape[0])
    site.stop_if(across < 0)
    out = site.output(node.outputs[0], [across, y.shape[1]])
    site.run(sparse_transposed, data, indices, pointers, y, across, out.pointer)


@TABLE.register(SampledProduct)
def sampled_product(op: SampledProduct, node: TensorNode, site: Site) -> None:
    """Write the sums of products of two rows."""
    indices, pointers, u, w = map(site.array, node.inputs)
    site.same(pointers.shape[0] - 1, u.shape[0])
    site.same(u.shape[1], w.shape[1])
    site.run(sparse_dots, indices, pointers, u, w, site.output(node.outputs[0], indices.shape).pointer)


@TABLE.register(Sampled)
def sampled(op: Sampled, node: TensorNode, site: Site) -> None:
    """Spread each line out in a row, and read there."""
    data, indices, pointers, at, to = map(site.array, node.inputs[:5])
    across = site.integer(node.inputs[5])
    with_data(site, data, indices)
    site.same(pointers.shape[0], to.shape[0])
    site.stop_if(across < 0)
    out, row = site.output(node.outputs[0], at.shape), site.room(data.dtype, across)
    site.run(sparse_sampled, data, indices, pointers, at, to, across, row, out.pointer)


@TABLE.register(SampledSparseProduct)
def sampled_sparse_product(op: SampledSparseProduct, node: TensorNode, site: Site) -> None:
    """Add up the terms of each line in a row."""
    a, a_indices, a_pointers, b, b_indices, _, at, to = arrays = [*map(site.array, node.inputs[:8])]
    across = site.integer(node.inputs[8])
    with_data(site, a, a_indices)
    with_data(site, b, b_indices)
    site.same(a_pointers.shape[0], to.shape[0])
    site.stop_if(across < 0)
    out = site.output(node.outputs[0], at.shape)
    row, wanted = site.room(a.dtype, across), site.room("int32", across)
    site.run(sparse_sampled_product, *arrays, across, row, wanted, out.pointer)
