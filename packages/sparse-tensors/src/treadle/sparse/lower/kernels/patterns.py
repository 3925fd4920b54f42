"""Kernels of sparse matrices: patterns of transposes, sums and products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.blocks import cleared, copied
from treadle.kernels.language import OK, SHAPE, Pointer, Vector, int32
from treadle.sparse.kernels.patterns import CombinedPattern, ProductPattern, TransposedPattern
from treadle.sparse.lower.kernels.products import sparse_check

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

MOST = 2**31 - 1


@kernel
def sparse_turned(
    indices: Vector[int32],
    pointers: Vector[int32],
    across: int,
    sources: Pointer[int32],
    starts: Pointer[int32],
    order: Pointer[int32],
) -> int:
    """Sort the entries by counting positions."""
    if sparse_check(indices, pointers, across) != OK:
        return SHAPE
    cleared(starts, across + 1)
    for e in range(len(indices)):
        starts[indices[e] + 1] += 1
    for j in range(across):
        starts[j + 1] += starts[j]
    for i in range(len(pointers) - 1):
        for e in range(pointers[i], pointers[i + 1]):
            at = starts[indices[e]]
            starts[indices[e]] = at + 1
            sources[at] = i
            order[at] = e
    # Each start has moved to the next one's place.
    for j in range(across, 0, -1):
        starts[j] = starts[j - 1]
    if across > 0:
        starts[0] = 0
    return OK


@kernel
def sparse_sort(line: Pointer[int32], n: int) -> int:
    """Sort positions, by Shellsort with Knuth's gaps: lines are short, and often nearly sorted."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            x = line[i]
            j = i
            while j >= gap and line[j - gap] > x:
                line[j] = line[j - gap]
                j -= gap
            line[j] = x
        gap = gap // 3
    return OK


@kernel
def sparse_sorted_line(indices: Vector[int32], start: int, stop: int, line: Pointer[int32]) -> int:
    """Copy the positions of a line, sorted and each once, and return how many there are."""
    n = stop - start
    # Mostly they are so already, which is found out without branches.
    last = -1
    wrong = 0
    for e in range(n):
        at = indices[start + e]
        line[e] = at
        wrong += int(at <= last)
        last = at
    if wrong == 0:
        return n
    sparse_sort(line, n)
    count = 1
    for f in range(1, n):
        if line[f] != line[count - 1]:
            line[count] = line[f]
            count += 1
    return count


@kernel
def sparse_combined(
    a_indices: Vector[int32],
    a_pointers: Vector[int32],
    b_indices: Vector[int32],
    b_pointers: Vector[int32],
    across: int,
    line: Pointer[int32],
    found: Pointer[int32],
    starts: Pointer[int32],
    *,
    both: bool,
) -> int:
    """Write the positions of one of two patterns or of both, each once."""
    if sparse_check(a_indices, a_pointers, across) != OK or sparse_check(b_indices, b_pointers, across) != OK:
        return SHAPE
    count = 0
    starts[0] = 0
    for i in range(len(a_pointers) - 1):
        na = sparse_sorted_line(a_indices, a_pointers[i], a_pointers[i + 1], line)
        other = line + na
        nb = sparse_sorted_line(b_indices, b_pointers[i], b_pointers[i + 1], other)
        x = 0
        y = 0
        # Which one comes first cannot be foreseen: no branch depends on it.
        while x < na and y < nb:
            p = line[x]
            q = other[y]
            found[count] = min(p, q)
            x += int(p <= q)
            y += int(q <= p)
            count += int(p == q) if both else 1
        if not both:
            copied(line + x, found + count, na - x)
            count += na - x
            copied(other + y, found + count, nb - y)
            count += nb - y
        starts[i + 1] = count
    return OK


@kernel
def sparse_copied(x: Pointer[int32], o: Pointer[int32], count: int) -> int:
    """Copy positions."""
    return copied(x, o, count)


@kernel
def sparse_last(pointers: Pointer[int32], lines: int) -> int:
    """Return the last pointer, the number of entries."""
    return pointers[lines]


@kernel
def sparse_product_counts(
    a_indices: Vector[int32],
    a_pointers: Vector[int32],
    b_indices: Vector[int32],
    b_pointers: Vector[int32],
    across: int,
    seen: Pointer[int32],
    starts: Pointer[int32],
) -> int:
    """Count the positions of each line of a product (Gustavson, 1978).

    For each position, `seen` is the last line that has it, counted from 1; negative while lines are filled.
    """
    if sparse_check(b_indices, b_pointers, across) != OK:
        return SHAPE
    if sparse_check(a_indices, a_pointers, len(b_pointers) - 1) != OK:
        return SHAPE
    cleared(seen, across)
    count = 0
    starts[0] = 0
    for i in range(len(a_pointers) - 1):
        mark = i + 1
        for e in range(a_pointers[i], a_pointers[i + 1]):
            k = a_indices[e]
            for f in range(b_pointers[k], b_pointers[k + 1]):
                j = b_indices[f]
                count += int(seen[j] != mark)
                seen[j] = mark
        if count > MOST:
            return SHAPE
        starts[i + 1] = count
    return OK


@kernel
def sparse_product_pattern(
    a_indices: Vector[int32],
    a_pointers: Vector[int32],
    b_indices: Vector[int32],
    b_pointers: Vector[int32],
    across: int,
    seen: Pointer[int32],
    starts: Pointer[int32],
    o: Pointer[int32],
) -> int:
    """Write the sorted positions of each line of a product, which have been counted."""
    for i in range(len(a_pointers) - 1):
        mark = -i - 1
        line = o + starts[i]
        n = 0
        for e in range(a_pointers[i], a_pointers[i + 1]):
            k = a_indices[e]
            for f in range(b_pointers[k], b_pointers[k + 1]):
                j = b_indices[f]
                if seen[j] != mark:
                    seen[j] = mark
                    line[n] = j
                    n += 1
        if n < across // 16:
            sparse_sort(line, n)
        else:
            n = 0
            for p in range(across):
                if seen[p] == mark:
                    line[n] = p
                    n += 1
    return OK


@TABLE.register(TransposedPattern)
def transposed_pattern(op: TransposedPattern, node: TensorNode, site: Site) -> None:
    """Sort the entries by counting positions."""
    indices, pointers = map(site.array, node.inputs[:2])
    across = site.integer(node.inputs[2])
    site.stop_if(across < 0)
    lengths = (indices.shape[0], across + 1, indices.shape[0])
    outs = [site.output(out, [n]).pointer for out, n in zip(node.outputs, lengths, strict=True)]
    site.run(sparse_turned, indices, pointers, across, *outs)


@TABLE.register(CombinedPattern)
def combined_pattern(op: CombinedPattern, node: TensorNode, site: Site) -> None:
    """Merge the sorted lines of two patterns in a buffer, then copy what was found."""
    arrays = [*map(site.array, node.inputs[:4])]
    across = site.integer(node.inputs[4])
    a_indices, a_pointers, b_indices, b_pointers = arrays
    site.same(a_pointers.shape[0], b_pointers.shape[0])
    site.stop_if(a_pointers.shape[0] < 1)
    positions, pointers = node.outputs
    starts = site.output(pointers, a_pointers.shape).pointer
    most = a_indices.shape[0] + b_indices.shape[0]
    line, found = site.room("int32", most), site.room("int32", most)
    site.run(sparse_combined, *arrays, across, line, found, starts, both=op.both)
    count = site.compute(sparse_last, starts, a_pointers.shape[0] - 1)
    site.run(sparse_copied, found, site.output(positions, [count]).pointer, count)


@TABLE.register(ProductPattern)
def product_pattern(op: ProductPattern, node: TensorNode, site: Site) -> None:
    """Count the positions of each line, then fill and sort the lines."""
    arrays = [*map(site.array, node.inputs[:4])]
    across = site.integer(node.inputs[4])
    a_pointers = arrays[1]
    site.stop_if(across < 0)
    site.stop_if(a_pointers.shape[0] < 1)
    positions, pointers = node.outputs
    starts, seen = site.output(pointers, a_pointers.shape).pointer, site.room("int32", across)
    site.run(sparse_product_counts, *arrays, across, seen, starts)
    count = site.compute(sparse_last, starts, a_pointers.shape[0] - 1)
    site.run(sparse_product_pattern, *arrays, across, seen, starts, site.output(positions, [count]).pointer)
