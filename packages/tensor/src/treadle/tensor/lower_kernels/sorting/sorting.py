"""Kernels of sorting, finding the positions that sort, and order statistics.

Values of two to eight bytes are sorted by NumPy's own functions, which use SIMD, where they can be called; anything
else is done by keys (`treadle.tensor.lower_kernels.sorting.keys`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Given, Length, Site, kernel
from treadle.kernels.blocks import cleared, copied
from treadle.kernels.language import (
    INDEX,
    MEMORY,
    OK,
    Array4,
    Number,
    Pointer,
    Vector,
    independent,
    int64,
    itemsize,
    local,
    numpy,
    select,
    uint64,
)
from treadle.tensor.lower_kernels.lines import lines_of, with_lines
from treadle.tensor.lower_kernels.sorting.keys import (
    FEW,
    HALF,
    bit_length,
    insertion_sort,
    order_keys,
    put_element,
    radix_sort,
    rank_keys,
    sort_key,
)
from treadle.tensor.sorting.sorting import ArgSort, OrderStatistics, Partition, Sort

if TYPE_CHECKING:
    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorNode

# The rules take no complex numbers.
REAL_ONLY = True
T = TypeVar("T", bound=Number)
# Up to so many values are sorted by insertion.
FEW_VALUES = 24
# Up to so many keys are sorted to find one of them; more are counted by parts of their range first.
MOST_SORTED = 256


# Values


@kernel
def sort_line(x: Pointer[T], n: int, room: Pointer[uint64], *, kind: str) -> int:
    """Sort values in place; there is room for as many words as `sort_room` says."""
    if n <= FEW_VALUES:
        few = local(uint64, FEW_VALUES)
        for i in range(n):
            few[i] = sort_key(x, i, kind=kind, zeros=False)
        ranks = local(int64, FEW_VALUES)
        rank_keys(few, n, ranks)
        for j in range(n):
            put_element(x, ranks[j], few[j], kind=kind)
        return OK
    if itemsize(T) == 1 or (itemsize(T) == 2 and n >= 4096):
        cleared(room, 1 << (8 * itemsize(T)))
        for c in range(n):
            number = int(sort_key(x, c, kind=kind, zeros=False))
            room[number] += 1
        at = 0
        for d in range(1 << (8 * itemsize(T))):
            end = at + int(room[d])
            while at < end:
                put_element(x, at, uint64(d), kind=kind)
                at += 1
        return OK
    if itemsize(T) > 1:
        failed = numpy.sort(kind, x, n)
        if failed == 0:
            return OK
    for e in range(n):
        room[e] = sort_key(x, e, kind=kind, zeros=False)
    radix_sort(room, room + n, n, 0, 8 * itemsize(T))
    for f in range(n):
        put_element(x, f, room[f], kind=kind)
    return OK


@kernel
def sort_room(x: Pointer[T], n: int, *, kind: str) -> int:
    """Return how many words `sort_line` needs: counts or two keys for each value, none where NumPy sorts."""
    if n <= FEW_VALUES:
        return 0
    if itemsize(T) == 1 or (itemsize(T) == 2 and n >= 4096):
        return 1 << (8 * itemsize(T))
    if itemsize(T) > 1:
        failed = numpy.sort(kind, x, 0)
        if failed == 0:
            return 0
    return 2 * n


@kernel
def sort_lines(x: Array4[T], o: Array4[T], line: Pointer[T], room: Pointer[uint64], *, kind: str, dense: bool) -> int:
    """Sort the lines along the last axis, each in its place if its elements lie one behind the other there."""
    n = x.shape[3]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                source = x.pointer + (i * x.strides[0] + j * x.strides[1] + k * x.strides[2])
                place = o.pointer + (i * o.strides[0] + j * o.strides[1] + k * o.strides[2])
                target = place
                if not dense:
                    target = line
                if x.strides[3] == 1:
                    copied(source, target, n)
                else:
                    for e in range(n):
                        target[e] = source[e * x.strides[3]]
                sort_line(target, n, room, kind=kind)
                if not dense:
                    for f in range(n):
                        place[f * o.strides[3]] = line[f]
    return OK


# Positions


@kernel
def order_lines(
    x: Array4[T], o: Array4[int64], line: Pointer[int64], keys: Pointer[uint64], *, kind: str, dense: bool
) -> int:
    """Find the positions that sort each line along the last axis."""
    n = x.shape[3]
    if n > HALF:
        return MEMORY
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                source = x.pointer + (i * x.strides[0] + j * x.strides[1] + k * x.strides[2])
                for e in range(n):
                    keys[e] = sort_key(source, e * x.strides[3], kind=kind, zeros=True)
                if dense:
                    order_keys(keys, n, o.pointer + (i * o.strides[0] + j * o.strides[1] + k * o.strides[2]))
                else:
                    order_keys(keys, n, line)
                    for f in range(n):
                        o[i, j, k, f] = line[f]
    return OK


# Order statistics: keys in 2048 equal parts of their range are counted; the keys of the part that holds a wanted
# position are gathered, and searched in the same way until they are few.


@kernel(inline=True)
def part_shift(range_: uint64) -> int:
    """Return the shift that leaves 11 bits of a range."""
    return max(bit_length(range_) - 11, 0)


@kernel
def key_range(keys: Pointer[uint64], n: int, ends: Pointer[uint64]) -> int:
    """Write the smallest and the largest key."""
    least = keys[0]
    most = keys[0]
    for i in range(1, n):
        least = min(least, keys[i])
        most = max(most, keys[i])
    ends[0] = least
    ends[1] = most
    return OK


@kernel
def count_parts(keys: Pointer[uint64], n: int, least: uint64, shift: int, counts: Pointer[int64]) -> int:
    """Count keys by parts of their range."""
    cleared(counts, 2048)
    for i in range(n):
        part = int((keys[i] - least) >> shift)
        counts[part] += 1
    return OK


@kernel
def gather_part(keys: Pointer[uint64], n: int, least: uint64, shift: int, part: int, to: Pointer[uint64]) -> int:
    """Copy the keys of a part, and return how many there are; `to` has room for one more."""
    count = 0
    for i in range(n):
        y = keys[i]
        to[count] = y
        count += int((y - least) >> shift == uint64(part))
    return count


@kernel(inline=True)
def sort_keys(keys: Pointer[uint64], n: int) -> int:
    """Sort keys, behind which is room for as many."""
    if n <= FEW:
        insertion_sort(keys, n)
    else:
        failed = numpy.sort("u", keys, n)
        if failed != 0:
            radix_sort(keys, keys + n, n, 0, 64)
    return OK


@kernel
def select_key(keys: Pointer[uint64], room: Pointer[uint64], n: int, at: int) -> uint64:
    """Return the key at a position of the order; the room is for n + 1024 numbers."""
    counts = local(int64, 2048)
    ends = local(uint64, 2)
    own = at
    left = n
    source = keys
    while left > MOST_SORTED:
        key_range(source, left, ends)
        least = ends[0]
        most = ends[1]
        if least == most:
            return least
        shift = part_shift(most - least)
        count_parts(source, left, least, shift, counts)
        part = 0
        while own >= counts[part]:
            own -= counts[part]
            part += 1
        if shift == 0:
            return least + uint64(part)
        left = gather_part(source, left, least, shift, part, room)
        source = room
    if n == left:
        copied(source, room, left)
    sort_keys(room, left)
    return room[own]


@kernel
def pick_keys(keys: Pointer[uint64], n: int, at: Vector[int64], found: Pointer[uint64]) -> int:
    """Find the keys at some positions of the order; there is room for as many words as `select_room` says."""
    m = len(at)
    if n <= MOST_SORTED:
        sort_keys(keys, n)
        for h in range(m):
            found[h] = keys[at[h]]
        return OK
    counts = local(int64, 2048)
    part = keys + n
    room = keys + (2 * n + 1024)
    ends = local(uint64, 2)
    key_range(keys, n, ends)
    least = ends[0]
    most = ends[1]
    shift = 0 if most == least else part_shift(most - least)
    count_parts(keys, n, least, shift, counts)
    last = -1
    size = 0
    for j in range(m):
        own = at[j]
        if own == 0 or own == n - 1:
            found[j] = least if own == 0 else most
            continue
        d = 0
        while own >= counts[d]:
            own -= counts[d]
            d += 1
        if shift == 0:
            found[j] = least + uint64(d)
        else:
            if d != last:
                size = gather_part(keys, n, least, shift, d, part)
                last = d
            found[j] = select_key(part, room, size, own)
    return OK


@kernel
def select_room(n: int) -> int:
    """Return how many words `pick_keys` needs for n keys."""
    return 2 * n if n <= MOST_SORTED else 3 * n + 2048


@kernel
def select_lines(x: Array4[T], positions: Vector[int64], found: Pointer[uint64], o: Array4[T], *, kind: str) -> int:
    """Find the elements at some positions of each line in order, along the last axis; what is found is in front."""
    n = x.shape[3]
    m = len(positions)
    keys = found + m
    for p in range(m):
        if positions[p] < 0 or positions[p] >= n:
            return INDEX
    if m == 0:
        return OK
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                source = x.pointer + (i * x.strides[0] + j * x.strides[1] + k * x.strides[2])
                place = o.pointer + (i * o.strides[0] + j * o.strides[1] + k * o.strides[2])
                for e in range(n):
                    keys[e] = sort_key(source, e * x.strides[3], kind=kind, zeros=False)
                pick_keys(keys, n, positions, found)
                for f in range(m):
                    put_element(place, f * o.strides[3], found[f], kind=kind)
    return OK


@kernel
def part_lines(
    x: Array4[T], position: int, o: Array4[T], order: Array4[int64], keys: Pointer[uint64], *, kind: str
) -> int:
    """Put the elements of each line around the one that sorting puts at a position, in the order that they had."""
    n = x.shape[3]
    at = position + n if position < 0 else position
    if x.shape[0] * x.shape[1] * x.shape[2] * n == 0:
        return OK
    if at < 0 or at >= n:
        return INDEX
    step = x.strides[3]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                source = x.pointer + (i * x.strides[0] + j * x.strides[1] + k * x.strides[2])
                place = o.pointer + (i * o.strides[0] + j * o.strides[1] + k * o.strides[2])
                numbers = order.pointer + (i * order.strides[0] + j * order.strides[1] + k * order.strides[2])
                if step == 1:
                    for d in independent(range(n)):
                        keys[d] = sort_key(source, d, kind=kind, zeros=True)
                else:
                    for e in range(n):
                        keys[e] = sort_key(source, e * step, kind=kind, zeros=True)
                pivot = select_key(keys, keys + n, n, at)
                fewer = 0
                equal = 0
                for f in independent(range(n)):
                    fewer += int(keys[f] < pivot)
                    equal += int(keys[f] == pivot)
                less = 0
                same = fewer
                more = fewer + equal
                for g in range(n):
                    key = keys[g]
                    below = int(key < pivot)
                    above = int(key > pivot)
                    to = select(below != 0, less, select(above != 0, more, same))
                    place[to * o.strides[3]] = source[g * step]
                    numbers[to * order.strides[3]] = g
                    less += below
                    more += above
                    same += 1 - below - above
    return OK


# Rules


def bits_of(site: Site, x: Variable, axis: int) -> tuple[Given, tuple[Length, ...]]:
    """Return the lines of a tensor along an axis, as bits, and its lengths."""
    lines, lengths = lines_of(site, x, axis)
    return site.bits(lines), lengths


def kind_of(x: Variable) -> str:
    """Return f, i or u for a tensor's elements."""
    kind: str = x.type.numpy_dtype.kind  # type: ignore[attr-defined]  # a tensor
    return "u" if kind == "b" else kind


@TABLE.register(Sort)
def lower_sort(op: Sort, node: TensorNode, site: Site) -> None:
    """Sort each line, elsewhere if its elements are not to lie one behind the other."""
    (x,), kind = node.inputs, kind_of(node.inputs[0])
    lines, lengths = bits_of(site, x, op.axis)
    out = site.bits(with_lines(site.output(node.outputs[0], lengths), op.axis))
    n, dense = lengths[op.axis], op.axis == x.type.ndim - 1
    # Lines that are sorted in their place need none elsewhere.
    line = out.pointer if dense else site.room(lines.dtype, n)
    room = site.room("uint64", site.compute(sort_room, lines.pointer, n, kind=kind))
    site.run(sort_lines, lines, out, line, room, kind=kind, dense=dense)


@TABLE.register(ArgSort)
def lower_argsort(op: ArgSort, node: TensorNode, site: Site) -> None:
    """Find the positions that sort each line."""
    (x,) = node.inputs
    lines, lengths = bits_of(site, x, op.axis)
    out = with_lines(site.output(node.outputs[0], lengths), op.axis)
    n, dense = lengths[op.axis], op.axis == x.type.ndim - 1
    line, keys = out.pointer if dense else site.room("int64", n), site.room("uint64", n * 3)
    site.run(order_lines, lines, out, line, keys, kind=kind_of(x), dense=dense)


@TABLE.register(OrderStatistics)
def lower_order_statistics(op: OrderStatistics, node: TensorNode, site: Site) -> None:
    """Find the wanted elements of each line in order."""
    x, wanted = node.inputs
    lines, lengths = bits_of(site, x, op.axis)
    positions = site.array(wanted)
    count = positions.shape[0]
    made = site.output(node.outputs[0], [count if d == op.axis else n for d, n in enumerate(lengths)])
    out = site.bits(with_lines(made, op.axis))
    room = site.room("uint64", site.compute(select_room, lengths[op.axis]) + count)
    site.run(select_lines, lines, positions, room, out, kind=kind_of(x))


@TABLE.register(Partition)
def lower_partition(op: Partition, node: TensorNode, site: Site) -> None:
    """Find the element at the position of each line, and put the others before or behind it."""
    x, position = node.inputs
    lines, lengths = bits_of(site, x, op.axis)
    out, order = (site.output(y, lengths) for y in node.outputs)
    keys = site.room("uint64", lengths[op.axis] * 2 + 1024)
    parts = (site.bits(with_lines(out, op.axis)), with_lines(order, op.axis))
    site.run(part_lines, lines, site.integer(position), *parts, keys, kind=kind_of(x))
