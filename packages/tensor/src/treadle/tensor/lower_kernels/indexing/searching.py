"""Kernels of searches: positions of true elements, binary search, counts of integers, and the order of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Given, Length, Site, Status, kernel
from treadle.kernels.blocks import cleared
from treadle.kernels.language import (
    INDEX,
    OK,
    Matrix,
    Number,
    Pointer,
    Vector,
    float64,
    independent,
    int64,
    is_floating,
    local,
    select,
    uint8,
    uint64,
)
from treadle.tensor.indexing.nonzero import CheckMask, Nonzero
from treadle.tensor.indexing.searching import BinCount, IsIn, RowOrder, SearchSorted
from treadle.tensor.lower_kernels.lines import product

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorNode

# The rules take no complex numbers.
REAL_ONLY = True
T = TypeVar("T", bound=Number)
# More bins could not be addressed, and one more than the largest integer would overflow.
MOST = 2**60


# Positions of true elements


@kernel
def count_true(mask: Pointer[uint8], n: int) -> int:
    """Count the true elements."""
    count = 0
    for i in independent(range(n)):
        count += mask[i]
    return count


@kernel
def find_true(
    mask: Pointer[uint8], rows: int, n: int, count: int, row_of: Pointer[int64], o: Pointer[int64], *, with_rows: bool
) -> int:
    """Write the positions of the true elements of each row, and the rows' numbers.

    Each position is written where the next one found belongs, and stays if its element is true: no branch is taken.
    """
    found = 0
    for k in range(rows):
        if found == count:
            break
        before = found
        row = mask + k * n
        for j in range(n):
            if found == count:
                break
            o[found] = j
            found += row[j]
        if with_rows:
            for q in independent(range(before, found)):
                row_of[q] = k
    return OK


@kernel
def split_rows(low: Pointer[int64], count: int, blocks: int, n: int, high: Pointer[int64]) -> int:
    """Replace the numbers of rows, in order, by their places in blocks of n, and write the numbers of the blocks."""
    k = 0
    for block in range(blocks):
        first = block * n
        while k < count and low[k] < first + n:
            high[k] = block
            low[k] = low[k] - first
            k += 1
    return OK


@TABLE.register(Nonzero)
def nonzero(op: Nonzero, node: TensorNode, site: Site) -> None:
    """Count the true elements, then write their positions."""
    mask = ordered(site.packed(node.inputs[0]))
    rank = len(node.outputs)
    lengths = mask.shape[:rank]
    count = site.compute(count_true, mask.pointer, product(lengths))
    outs = [site.output(out, [count]).pointer for out in node.outputs]
    rows = outs[max(rank - 2, 0)]
    site.run(find_true, mask.pointer, product(lengths[:-1]), lengths[-1], count, rows, outs[-1], with_rows=rank > 1)
    for d in range(rank - 2, 0, -1):
        site.run(split_rows, outs[d], count, product(lengths[:d]), lengths[d], outs[d - 1])


# Binary search


@kernel(inline=True)
def lies_before(a: T, b: T, *, nan: bool) -> bool:
    """Whether a number lies before another one; NaN, if there may be, counts as larger than every number."""
    if nan and is_floating(T):
        return (a < b) | ((b != b) & (a == a))
    return a < b


@kernel(inline=True)
def is_passed(a: T, key: T, *, right: bool, nan: bool) -> bool:
    """Whether a number lies before the place of another one, left or right of those that are equal to it."""
    if not right:
        return lies_before(a, key, nan=nan)
    if nan and is_floating(T):
        return (a <= key) | (key != key)
    return a <= key


@kernel(inline=True)
def search_eight(
    x: Pointer[T], n: int, stride: int, key: Pointer[T], at: Pointer[int64], *, right: bool, nan: bool
) -> int:
    """Find the places of eight values, of which one may be NaN; the places are 0 before."""
    if n <= 24:
        for k in range(n):
            a = x[k * stride]
            for e in independent(range(8)):
                at[e] = at[e] + int(is_passed(a, key[e], right=right, nan=nan))
        return OK
    left = n
    while left > 0:
        half = 1 if left == 1 else left >> 1
        for d in range(8):
            middle = x[(at[d] + half - 1) * stride]
            at[d] = at[d] + select(is_passed(middle, key[d], right=right, nan=nan), half, 0)
        left -= half
    return OK


@kernel
def search(
    x: Pointer[T],
    n: int,
    stride: int,
    v: Pointer[T],
    each: int,
    parts: int,
    o: Pointer[int64],
    *,
    right: bool,
) -> int:
    """Find the places of the values of each part in its own n sorted numbers.

    Binary search takes the same number of steps for every value, so that eight are searched for at once: while one
    waits for memory, the others go on. Among few numbers all are counted that lie before.
    """
    at = local(int64, 8)
    key = local(T, 8)
    for part in range(parts):
        sorted_ = x + part * n
        start = 0
        while start < each:
            first = v + (part * each + start)
            count = min(each - start, 8)
            # Whole blocks are read, looked through for NaN and written by vectors.
            if count == 8:
                for c in independent(range(8)):
                    key[c] = first[c]
            else:
                for d in range(8):
                    key[d] = first[d if d < count else 0]
            odd = 0
            for e in independent(range(8)):
                at[e] = 0
                odd += int(key[e] != key[e])
            if odd > 0:
                search_eight(sorted_, n, stride, key, at, right=right, nan=True)
            else:
                search_eight(sorted_, n, stride, key, at, right=right, nan=False)
            to = o + (part * each + start)
            if count == 8:
                for f in independent(range(8)):
                    to[f] = at[f]
            else:
                for g in range(count):
                    to[g] = at[g]
            start += 8
    return OK


def ordered(given: Given) -> Given:
    """Return an array whose elements have an order: booleans are read as bytes."""
    return replace(given, dtype="uint8") if given.dtype == "bool" else given


@TABLE.register(SearchSorted)
def search_sorted(op: SearchSorted, node: TensorNode, site: Site) -> None:
    """Search for each value in the sorted numbers of its part of the batch."""
    x, v = node.inputs
    batch = x.type.ndim - 1
    among, values = (site.packed(x) if batch else site.array(x)), site.packed(v)
    for n, m in zip(among.shape[:batch], values.shape[:batch], strict=True):
        site.same(n, m)
    each, parts = product(values.shape[batch:]), product(values.shape[:batch])
    stride = Length("1") if batch else among.strides[0]
    out = site.output(node.outputs[0], values.shape[: v.type.ndim]).pointer
    site.run(
        search,
        ordered(among).pointer,
        among.shape[batch],
        stride,
        ordered(values).pointer,
        each,
        parts,
        out,
        right=op.side == "right",
    )


# Among so many values each is compared with all elements; more are searched.
_COMPARED = 16
_BLOCK = 512


@kernel
def compare_each(x: Pointer[T], n: int, values: Pointer[T], count: int, stride: int, o: Pointer[uint8]) -> int:
    """Say which of n numbers are equal to one of a few, by comparing with four in a pass."""
    last = count - 1
    start = 0
    while start < n:
        here = x + start
        out = o + start
        size = min(n - start, _BLOCK)
        for z in independent(range(size)):
            out[z] = 0
        for k in range(0, count, 4):
            a = values[k * stride]
            b = values[min(k + 1, last) * stride]
            c = values[min(k + 2, last) * stride]
            d = values[min(k + 3, last) * stride]
            for i in independent(range(size)):
                y = here[i]
                out[i] = out[i] | int((y == a) | (y == b) | (y == c) | (y == d))
        start += size
    return OK


@kernel
def find_members(x: Pointer[T], n: int, values: Pointer[T], count: int, stride: int, o: Pointer[uint8]) -> int:
    """Say which of n numbers are equal to one of some in ascending order."""
    if count <= _COMPARED:
        return compare_each(x, n, values, count, stride, o)
    places = local(int64, _BLOCK)
    start = 0
    while start < n:
        size = min(n - start, _BLOCK)
        search(values, count, stride, x + start, size, 1, places, right=False)
        for i in range(size):
            o[start + i] = int(values[min(places[i], count - 1) * stride] == x[start + i])
        start += size
    return OK


@TABLE.register(IsIn)
def is_in(op: IsIn, node: TensorNode, site: Site) -> None:
    """Look all elements up."""
    x, values = node.inputs
    elements, among = site.packed(x), site.array(values)
    out = site.bits(site.output(node.outputs[0], elements.shape[: x.type.ndim]))
    numbers, few = ordered(elements).pointer, ordered(among).pointer
    site.run(find_members, numbers, product(elements.shape), few, among.shape[0], among.strides[0], out.pointer)


# Counts of integers


@kernel
def count_bins(x: Vector[int64], least: int) -> int:
    """Return the number of bins for integers, -1 if one is negative or too large."""
    low = 0
    high = least - 1
    if x.strides[0] == 1:
        q = x.pointer
        for i in independent(range(len(x))):
            low = min(low, q[i])
            high = max(high, q[i])
    else:
        for j in range(len(x)):
            low = min(low, x[j])
            high = max(high, x[j])
    return -1 if low < 0 or high > MOST else high + 1


@kernel(inline=True)
def counted(o: Pointer[int64], k: int, bins: int, *, bounded: bool) -> int:
    """Count an integer; if there are only so many bins, only where there is one for it."""
    if not bounded or uint64(k) < uint64(bins):
        o[k] = o[k] + 1
    return OK


@kernel
def bin_count(x: Vector[int64], bins: int, o: Pointer[int64], *, bounded: bool) -> int:
    """Count integers.

    Short counts are kept four times, so that equal integers in a row do not wait for one another.
    """
    n = len(x)
    cleared(o, bins)
    done = 0
    if bins <= 2048 and n >= 4 * bins:
        part = local(int64, 6144)
        second = part + 2048
        third = part + 4096
        cleared(part, bins)
        cleared(second, bins)
        cleared(third, bins)
        while done + 4 <= n:
            counted(o, x[done], bins, bounded=bounded)
            counted(part, x[done + 1], bins, bounded=bounded)
            counted(second, x[done + 2], bins, bounded=bounded)
            counted(third, x[done + 3], bins, bounded=bounded)
            done += 4
        for k in range(bins):
            o[k] = o[k] + part[k] + second[k] + third[k]
    for j in range(done, n):
        counted(o, x[j], bins, bounded=bounded)
    return OK


@kernel
def bin_sum(x: Vector[int64], weights: Vector[float64], bins: int, o: Pointer[float64]) -> int:
    """Add up the weights of each integer."""
    cleared(o, bins)
    for j in range(len(x)):
        k = x[j]
        if k >= 0 and k < bins:
            o[k] = o[k] + weights[j]
    return OK


@TABLE.register(BinCount)
def lower_bin_count(op: BinCount, node: TensorNode, site: Site) -> None:
    """Find the number of bins, then count."""
    x, bins = site.array(node.inputs[0]), site.integer(node.inputs[1])
    site.stop_if(bins < 0, Status.VALUE)
    if not op.bounded:
        bins = site.compute(count_bins, x, bins)
        site.stop_if(bins < 0, Status.VALUE)
    out = site.output(node.outputs[0], [bins]).pointer
    if len(node.inputs) == 2:
        site.run(bin_count, x, bins, out, bounded=op.bounded)
    else:
        weights = site.array(node.inputs[2])
        site.same(x.shape[0], weights.shape[0])
        site.run(bin_sum, x, weights, bins, out)


# The order of rows


@kernel
def row_precedes(x: Matrix[T], i: int, j: int) -> bool:
    """Whether a row comes before another one, by its first number that differs."""
    first = x.pointer + i * x.strides[0]
    second = x.pointer + j * x.strides[0]
    stride = x.strides[1]
    for c in range(x.shape[1]):
        a = first[c * stride]
        b = second[c * stride]
        if a < b:
            return True
        if b < a:
            return False
        # Neither holds of equal numbers, and of NaN, which comes last.
        if is_floating(T) and a != b and (a == a or b == b):
            return a == a
    return False


@kernel
def row_order(x: Matrix[T], o: Pointer[int64], spare: Pointer[int64]) -> int:
    """Write the sorted order of rows: merge sort from single rows up, which keeps the order of equal rows."""
    n = x.shape[0]
    source = o
    target = spare
    for i in range(n):
        source[i] = i
    width = 1
    swapped = False
    while width < n:
        low = 0
        while low < n:
            middle = min(low + width, n)
            high = min(low + 2 * width, n)
            a = low
            b = middle
            k = low
            while a < middle and b < high:
                if row_precedes(x, source[b], source[a]):
                    target[k] = source[b]
                    b += 1
                else:
                    target[k] = source[a]
                    a += 1
                k += 1
            while a < middle:
                target[k] = source[a]
                a += 1
                k += 1
            while b < high:
                target[k] = source[b]
                b += 1
                k += 1
            low += 2 * width
        if swapped:
            source = o
            target = spare
        else:
            source = spare
            target = o
        swapped = not swapped
        width = width * 2
    if swapped:
        for j in independent(range(n)):
            o[j] = spare[j]
    return OK


@TABLE.register(RowOrder)
def lower_row_order(op: RowOrder, node: TensorNode, site: Site) -> None:
    """Order the rows by merge sort."""
    x = ordered(site.array(node.inputs[0]))
    out = site.output(node.outputs[0], x.shape[:1]).pointer
    site.run(row_order, x, out, site.room("int64", x.shape[0]))


@TABLE.register(CheckMask)
def lower_check_mask(op: CheckMask, node: TensorNode, site: Site) -> None:
    """Check the lengths of the last dimensions, and make a view."""
    mask, *wanted = node.inputs
    lengths, _ = site.layout(mask)
    for n, m in zip(lengths[len(lengths) - len(wanted) :], wanted, strict=True):
        site.same(n, site.integer(m), INDEX)
    site.view(node.outputs[0], mask, range(mask.type.ndim))
