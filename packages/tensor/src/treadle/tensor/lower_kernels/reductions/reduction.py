"""Kernels of the positions of extrema: the best number of a stretch is found on vectors, then its place in the best."""

# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Given, Length, Site, kernel
from treadle.kernels.language import (
    OK,
    VALUE,
    Array5,
    Number,
    Pointer,
    bits,
    eight,
    eights,
    independent,
    int64,
    is_floating,
    largest,
    local,
    numbers,
    quotient,
    remainder,
    select,
    smallest,
    unrolled,
    which,
)
from treadle.tensor.lower_kernels.lines import product
from treadle.tensor.reductions.reduction import ArgReduction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import TensorNode

T = TypeVar("T", bound=Number)
# The bytes of a stretch, which stays in the cache until the position is looked for there.
_STRETCH = 2048
# Shorter lines are searched number by number.
_FEW = 24
# So many axes that are kept, and that are reduced, have loops of their own.
_KEPT, _REDUCED = 3, 2
# So many columns are searched at a time, where lines lie side by side.
_COLUMNS = 512


@kernel(inline=True)
def is_better(y: T, best: T, *, most: bool) -> bool:
    """Whether a number goes before the best one of those before it; the first NaN stays."""
    if most:
        return (y > best) | ((y != y) & (best == best))
    return (y < best) | ((y != y) & (best == best))


@kernel(inline=True)
def place_of(x: Pointer[T], n: int, best: T) -> int:
    """Return the position of the first of n numbers that is equal to one of them, or NaN as it is."""
    k = 0
    if best != best:
        while x[k] == x[k]:
            k += 1
        return k
    if not is_floating(T):
        # Comparisons of floats take longer than the branches that this saves.
        while k + 4 <= n and (x[k] != best) & (x[k + 1] != best) & (x[k + 2] != best) & (x[k + 3] != best):
            k += 4
    while x[k] != best:
        k += 1
    return k


@kernel(inline=True)
def number_of_lowest(mask: int) -> int:
    """Return the number of the lowest bit that is set, one of the first 63."""
    return (bits(float(mask & -mask)) >> 52) - 1023


@kernel(inline=True)
def place_in_eights(x: Pointer[T], n: int, *, most: bool) -> int:
    """Return the position of the best of n floats, at least eight; the last eight may have been seen before."""
    a = eight(x)
    b = eight(x + (n - 8))
    # NaN where one number is, and seldom otherwise: a sum takes less time than comparisons.
    sums = a + b
    k = 8
    while k + 16 <= n:
        y = eight(x + k)
        z = eight(x + (k + 8))
        sums = sums + (y + z)
        a = select(y > a if most else y < a, y, a)
        b = select(z > b if most else z < b, z, b)
        k += 16
    if k + 8 <= n:
        c = eight(x + k)
        sums = sums + c
        a = select(c > a if most else c < a, c, a)
    k = 0
    if which(sums != sums) != 0:
        while k < n and x[k] == x[k]:
            k += 1
        if k < n:
            return k
        k = 0
    a = select(b > a if most else b < a, b, a)
    room = local(T, 24)
    eights(room)[0] = a
    few = numbers(eights(room))
    best = few[0]
    other = few[4]
    for i in unrolled(range(1, 4)):
        p = few[i]
        q = few[i + 4]
        best = select(p > best if most else p < best, p, best)
        other = select(q > other if most else q < other, q, other)
    best = select(other > best if most else other < best, other, best)
    while k + 32 <= n:
        low = which(eight(x + k) == best) | (which(eight(x + (k + 8)) == best) << 8)
        high = which(eight(x + (k + 16)) == best) | (which(eight(x + (k + 24)) == best) << 8)
        if (low | high) != 0:
            return k + number_of_lowest(low | (high << 16))
        k += 32
    while k + 8 <= n:
        found = which(eight(x + k) == best)
        if found != 0:
            return k + number_of_lowest(found)
        k += 8
    return n - 8 + number_of_lowest(which(eight(x + (n - 8)) == best))


@kernel(inline=True)
def extremum_of_many(x: Pointer[T], n: int, *, most: bool, stretch: int, ends: bool) -> int:
    """Search numbers one behind the other; with `ends`, until 1 is found, or 0 as the smallest."""
    if is_floating(T) and n <= 4 * stretch:
        return place_in_eights(x, n, most=most)
    if n <= stretch:
        return place_of(x, n, largest(x, n) if most else smallest(x, n))
    each = max(stretch, n >> 6)
    best = x[0]
    at = 0
    length = 1
    j = 0
    while j < n and best == best:
        if ends and best == (1 if most else 0):
            break
        count = min(n - j, each)
        top = largest(x + j, count) if most else smallest(x + j, count)
        if is_better(top, best, most=most):
            best = top
            at = j
            length = count
        j += count
    return at + place_of(x + at, length, best)


@kernel(inline=True)
def extremum_of_few(x: Pointer[T], n: int, s: int, *, most: bool) -> int:
    """Search numbers one after another."""
    best = x[0]
    at = 0
    for j in range(n):
        y = x[j * s]
        if not (y <= best if most else y >= best):
            # A NaN, which goes before all numbers.
            if best != best:
                break
            best = y
            at = j
    return at


@kernel(inline=True)
def extremum_of_lines(
    x: Pointer[T], m: int, step: int, n: int, s: int, *, most: bool, stretch: int, ends: bool, is_half: bool
) -> int:
    """Search m lines of n numbers."""
    best = x[0]
    at = 0
    for i in range(m):
        line = x + i * step
        near = 0
        if is_half or s != 1 or n < _FEW:
            near = extremum_of_few(line, n, s, most=most)
        else:
            near = extremum_of_many(line, n, most=most, stretch=stretch, ends=ends)
        y = line[near * s]
        if is_better(y, best, most=most):
            best = y
            at = i * n + near
    return at


@kernel
def extrema_across(x: Pointer[T], n: int, step: int, m: int, s: int, o: Pointer[int64], *, most: bool) -> int:
    """Search m lines of n numbers which lie side by side, their numbers `step` elements apart."""
    best = local(T, _COLUMNS)
    c = 0
    while c < m:
        w = min(m - c, _COLUMNS)
        row = x + c * s
        out = o + c
        for a in independent(range(w)):
            best[a] = row[a * s]
            out[a] = 0
        for t in range(1, n):
            row = row + step
            if s == 1:
                for b in independent(range(w)):
                    chosen = is_better(row[b], best[b], most=most)
                    best[b] = select(chosen, row[b], best[b])
                    out[b] = select(chosen, t, out[b])
            else:
                for d in range(w):
                    chosen_there = is_better(row[d * s], best[d], most=most)
                    best[d] = select(chosen_there, row[d * s], best[d])
                    out[d] = select(chosen_there, t, out[d])
        c += w
    return OK


@kernel
def extrema(
    x: Array5[T],
    o: Pointer[int64],
    *,
    most: bool,
    stretch: int,
    ends: bool,
    is_half: bool,
    has_columns: bool,
    has_lines: bool,
) -> int:
    """Search the last two axes for each position on the others, which are in order in the result."""
    m = x.shape[3]
    n = x.shape[4]
    step = x.strides[3]
    s = x.strides[4]
    columns = x.shape[2]
    if m == 1 or step == n * s:
        n = m * n
        m = 1
    at = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            p = x.pointer + (i * x.strides[0] + j * x.strides[1])
            if has_columns and m == 1 and columns >= 8 and abs(x.strides[2]) < abs(s):
                extrema_across(p, n, s, columns, x.strides[2], o + at, most=most)
                at += columns
            elif has_lines and m > 1:
                for k in range(columns):
                    o[at] = extremum_of_lines(
                        p + k * x.strides[2], m, step, n, s, most=most, stretch=stretch, ends=ends, is_half=is_half
                    )
                    at += 1
            elif is_half or s != 1 or n < _FEW:
                for q in range(columns):
                    o[at] = extremum_of_few(p + q * x.strides[2], n, s, most=most)
                    at += 1
            else:
                for r in range(columns):
                    o[at] = extremum_of_many(p + r * x.strides[2], n, most=most, stretch=stretch, ends=ends)
                    at += 1
    return OK


@kernel
def set_axis(table: Pointer[int64], d: int, n: int, stride: int) -> int:
    """Say how long an axis is, and how far its elements are apart."""
    table[2 * d] = n
    table[2 * d + 1] = stride
    return OK


@kernel(inline=True)
def offset_of(table: Pointer[int64], axes: int, number: int) -> int:
    """Return where the element is whose number in C order over some axes is known."""
    offset = 0
    d = axes - 1
    while d >= 0:
        offset += remainder(number, table[2 * d]) * table[2 * d + 1]
        number = quotient(number, table[2 * d])
        d -= 1
    return offset


@kernel
def extrema_of_axes(
    x: Pointer[T], table: Pointer[int64], kept: int, axes: int, count: int, n: int, o: Pointer[int64], *, most: bool
) -> int:
    """Search n numbers on the last of some axes for each of `count` positions on those before, which are kept."""
    for i in range(count):
        p = x + offset_of(table, kept, i)
        best = p[0]
        at = 0
        for j in range(n):
            y = p[offset_of(table + 2 * kept, axes - kept, j)]
            chosen = is_better(y, best, most=most)
            best = select(chosen, y, best)
            at = select(chosen, j, at)
        o[i] = at
    return OK


@TABLE.register(ArgReduction)
def lower_arg_reduction(op: ArgReduction, node: TensorNode, site: Site) -> None:
    """Search along the axes that are reduced, for each position on the others."""
    (x,), (out,) = node.inputs, node.outputs
    if x.type.ndim == 0:
        site.write_lengths(out, [Length("0")])
        return
    kept = [d for d in range(x.type.ndim) if d not in op.axes]
    fits = len(kept) <= _KEPT and len(op.axes) <= _REDUCED
    given = site.array(x) if fits else site.packed(x)
    outer, inner = (_joined(given, axes, is_packed=not fits) for axes in (kept, op.axes))
    n = product([given.shape[d] for d in op.axes])
    site.stop_if(n < 1, VALUE)
    o = site.output(out, [given.shape[d] for d in kept]).pointer
    if x.type.dtype == "bool":
        given = site.bits(given)
    most = op.kind == "argmax"
    if len(outer) > _KEPT or len(inner) > _REDUCED:
        table = site.room("int64", 2 * len(outer + inner))
        for d, axis in enumerate(outer + inner):
            site.run(set_axis, table, d, *axis)
        count = product([length for length, _ in outer])
        site.run(extrema_of_axes, given.pointer, table, len(outer), len(outer + inner), count, n, o, most=most)
        return
    one = (Length("1"), Length("0"))
    axes = [*[one] * (_KEPT - len(outer)), *outer, *[one] * (_REDUCED - len(inner)), *inner]
    lines = replace(given, rank=5, shape=tuple(a[0] for a in axes), strides=tuple(a[1] for a in axes))
    dtype = x.type.dtype
    stretch = _STRETCH // x.type.numpy_dtype.itemsize
    # Loops that are not needed take time to compile.
    needs = {"has_columns": bool(outer), "has_lines": len(inner) > 1}
    site.run(extrema, lines, o, most=most, stretch=stretch, ends=dtype == "bool", is_half=dtype == "float16", **needs)


def _joined(given: Given, axes: Sequence[int], *, is_packed: bool) -> list[tuple[Length, Length]]:
    """Return lengths and strides of axes; in C order, neighbours are one."""
    if not is_packed:
        return [(given.shape[d], given.strides[d]) for d in axes]
    joined: list[tuple[Length, Length]] = []
    for at, d in enumerate(axes):
        n = given.shape[d]
        if at and axes[at - 1] == d - 1:
            n = joined.pop()[0] * n
        # What an axis of length 1 has as a stride may be anything.
        joined.append((n, product(given.shape[d + 1 :])))
    return joined
