"""Functions of generated code that sort by the bits of keys: unsigned numbers that are ordered as the elements are.

Sorting by digits of eleven bits (radix) keeps the order of equal keys. It takes time in proportion to the length, where
merging runs takes more the longer they are, and no branches that the processor cannot foresee.
"""

from __future__ import annotations

# Up to so many keys are sorted by insertion.
FEW = 40
# The words that `radix` counts in.
COUNTS = 2048

TEXT = f"""
def radix(a, b, n, low, bits, counts):  # *u8 *u8 i8 i8 i8 *i8
    # Sorts numbers by some of their bits. Returns 0 if they then stand in a, 1 if in b.
    turned = 0
    at = low
    end = low + bits
    width = 11
    if n < 4096:
        width = 8
    while at < end:
        wide = min(width, end - at)
        mask = (1 << wide) - 1
        for d in range(mask + 1):
            counts[d] = 0
        for i in range(n):
            digit = i8(a[i] >> u8(at)) & mask
            counts[digit] = counts[digit] + 1
        if counts[i8(a[0] >> u8(at)) & mask] != n:
            start = 0
            for d in range(mask + 1):
                count = counts[d]
                counts[d] = start
                start = start + count
            for i in range(n):
                digit = i8(a[i] >> u8(at)) & mask
                b[counts[digit]] = a[i]
                counts[digit] = counts[digit] + 1
            t = a
            a = b
            b = t
            turned = 1 - turned
        at = at + wide
    return turned

def inserted(a, start, stop):  # *u8 i8 i8
    for i in range(start + 1, stop):
        y = a[i]
        j = i
        while j > start and a[j - 1] > y:
            a[j] = a[j - 1]
            j = j - 1
        a[j] = y
    return 0

def sort_keys(a, b, n, bits, counts):  # *u8 *u8 i8 i8 *i8
    # Returns 0 if they then stand in a, 1 if in b.
    if n <= {FEW}:
        inserted(a, 0, n)
        return 0
    return radix(a, b, n, 0, bits, counts)

def significant(range_):  # u8
    bits = 0
    while range_ > u8(0):
        range_ = range_ >> u8(1)
        bits = bits + 1
    return bits

def order_keys(k, a, b, n, counts):  # *u8 *u8 *u8 i8 *i8
    # The positions that sort keys, in the lower halves of numbers. Returns 0 if these stand in a, 1 if in b. Four bytes
    # of each key are sorted beside its position; runs in which these agree are sorted by the rest.
    if n <= {FEW}:
        for i in range(n):
            y = k[i]
            j = i
            while j > 0 and k[i8(a[j - 1])] > y:
                a[j] = a[j - 1]
                j = j - 1
            a[j] = u8(i)
        return 0
    least = k[0]
    most = k[0]
    for i in range(n):
        y = k[i]
        least = pick(y < least, y, least)
        most = pick(y > most, y, most)
    bits = significant(most - least)
    rest = max(bits - 32, 0)
    for i in range(n):
        a[i] = (((k[i] - least) >> u8(rest)) << u8(32)) | u8(i)
    turned = radix(a, b, n, 32, bits - rest, counts)
    if rest > 0:
        if turned == 1:
            order_runs(k, b, a, n, rest, least, counts)
        else:
            order_runs(k, a, b, n, rest, least, counts)
    return turned

def order_runs(k, a, b, n, rest, least, counts):  # *u8 *u8 *u8 i8 i8 u8 *i8
    mask = (u8(1) << u8(rest)) - u8(1)
    half = u8(4294967295)
    i = 0
    while i < n:
        top = a[i] >> u8(32)
        end = i + 1
        while end < n and a[end] >> u8(32) == top:
            end = end + 1
        if end - i > 1:
            for j in range(i, end):
                place = a[j] & half
                b[j] = (((k[i8(place)] - least) & mask) << u8(32)) | place
            if end - i <= {FEW}:
                inserted(b, i, end)
                turned = 0
            else:
                turned = radix(shifted_u8(b, i), shifted_u8(a, i), end - i, 32, rest, counts)
            if turned == 0:
                for j in range(i, end):
                    a[j] = b[j]
        i = end
    return 0
"""
