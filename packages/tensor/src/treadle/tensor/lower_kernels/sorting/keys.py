"""Keys of elements, unsigned numbers that are ordered as the elements are, NaN above all; and kernels that sort them.

Sorting by digits (radix) is stable, and takes no branches that the processor cannot foresee.
"""

from __future__ import annotations

from typing import TypeVar

from treadle.kernels import kernel
from treadle.kernels.blocks import cleared, copied
from treadle.kernels.language import OK, Number, Pointer, convert, independent, int64, itemsize, local, uint64

T = TypeVar("T", bound=Number)
# Positions have half a word.
HALF = 2**32 - 1
# Up to so many keys are sorted by insertion.
FEW = 32
INFINITY16 = 0x7C00
INFINITY32 = 0x7F800000
INFINITY64 = 0x7FF0000000000000


# `kind` is f, i or u; elements are read as unsigned integers of their size.


@kernel(inline=True)
def sort_key(x: Pointer[T], i: int, *, kind: str, zeros: bool) -> uint64:
    """Return the key of an element; if asked, zeros of both signs have one key."""
    bits = uint64(x[i])
    if kind == "i":
        return bits ^ (1 << (8 * itemsize(T) - 1))
    if kind == "f":
        sign = uint64(1 << (8 * itemsize(T) - 1))
        all_ = uint64((1 << (8 * itemsize(T))) - 1)
        infinity = uint64(INFINITY64 if itemsize(T) == 8 else INFINITY32 if itemsize(T) == 4 else INFINITY16)
        if zeros:
            bits = uint64(0) if bits == sign else bits
        # Without a branch: signs cannot be foreseen.
        key = bits ^ (((uint64(0) - (bits >> (8 * itemsize(T) - 1))) & all_) | sign)
        return all_ if (bits & (sign - 1)) > infinity else key
    return bits


@kernel(inline=True)
def put_element(x: Pointer[T], i: int, key: uint64, *, kind: str) -> int:
    """Set an element to that of a key."""
    sign = uint64(1 << (8 * itemsize(T) - 1))
    if kind == "i":
        x[i] = convert(T, key ^ sign)
    elif kind == "f":
        x[i] = convert(T, key ^ (((key >> (8 * itemsize(T) - 1)) - 1) | sign))
    else:
        x[i] = convert(T, key)
    return OK


@kernel(inline=True)
def bit_length(range_: uint64) -> int:
    """Return the number of bits of a number, without leading zeros."""
    rest = range_
    bits = 0
    while rest >= 256:
        rest = uint64(rest >> 8)
        bits += 8
    while rest > 0:
        rest = uint64(rest >> 1)
        bits += 1
    return bits


@kernel(inline=True)
def insertion_sort(a: Pointer[uint64], n: int) -> int:
    """Sort a few numbers."""
    for i in range(1, n):
        y = a[i]
        j = i
        while j > 0 and a[j - 1] > y:
            a[j] = a[j - 1]
            j -= 1
        a[j] = y
    return OK


@kernel(inline=True)
def rank_keys(a: Pointer[uint64], n: int, ranks: Pointer[int64]) -> int:
    """Find the places of a few keys in order, equal ones in theirs, by comparing each with all: without branches."""
    cleared(ranks, n)
    for j in range(n):
        y = a[j]
        for i in independent(range(n)):
            ranks[i] = ranks[i] + (int(a[i] > y) | (int(a[i] == y) & int(i > j)))
    return OK


@kernel
def radix_sort(a: Pointer[uint64], b: Pointer[uint64], n: int, low: int, bits: int) -> int:
    """Sort numbers by their bits low to low + bits, equal ones in order; b has room for as many."""
    counts = local(int64, 2048)
    width = 8 if n < 4096 else 11
    source = a
    target = b
    turned = False
    at = low
    while at < low + bits:
        mask = (uint64(1) << min(low + bits - at, width)) - 1
        digits = int(mask) + 1
        cleared(counts, digits)
        for i in range(n):
            digit = int((source[i] >> at) & mask)
            counts[digit] += 1
        if counts[int((source[0] >> at) & mask)] != n:
            first = 0
            for d in range(digits):
                count = counts[d]
                counts[d] = first
                first += count
            for k in range(n):
                y = source[k]
                digit = int((y >> at) & mask)
                place = counts[digit]
                counts[digit] = place + 1
                target[place] = y
            swapped = source
            source = target
            target = swapped
            turned = not turned
        at += width
    if turned:
        copied(b, a, n)
    return OK


@kernel
def order_keys(keys: Pointer[uint64], n: int, out: Pointer[int64]) -> int:
    """Find the positions that sort keys, which have room for three times as many.

    Four bytes of each key are sorted beside its position; runs in which these agree are sorted by the rest.
    """
    if n <= FEW:
        ranks = local(int64, FEW)
        rank_keys(keys, n, ranks)
        for q in range(n):
            out[ranks[q]] = q
        return OK
    a = keys + n
    b = keys + 2 * n
    least = keys[0]
    most = keys[0]
    for r in range(n):
        least = min(least, keys[r])
        most = max(most, keys[r])
    bits = bit_length(most - least)
    rest = max(bits - 32, 0)
    for s in range(n):
        a[s] = (((keys[s] - least) >> rest) << 32) | uint64(s)
    radix_sort(a, b, n, 32, bits - rest)
    if rest > 0:
        mask = (uint64(1) << rest) - 1
        i = 0
        while i < n:
            top = a[i] >> 32
            end = i + 1
            while end < n and a[end] >> 32 == top:
                end += 1
            if end - i > 1:
                for j in range(i, end):
                    place = a[j] & HALF
                    b[j] = (((keys[int(place)] - least) & mask) << 32) | place
                if end - i <= FEW:
                    insertion_sort(b + i, end - i)
                    copied(b + i, a + i, end - i)
                else:
                    copied(b + i, a + i, end - i)
                    radix_sort(a + i, b + i, end - i, 32, rest)
            i = end
    for t in range(n):
        out[t] = int(a[t] & HALF)
    return OK
