"""Eight matrices woven into one of eights, and back: see `treadle.kernels.language.eights`."""

from __future__ import annotations

from typing import TypeVar

from treadle.kernels import kernel
from treadle.kernels.language import OK, Number, Pointer, convert, int64, numbers, unweave, weave, which
from treadle.tensor.linalg.lower.kernels.matrices import LOWER, UPPER

T = TypeVar("T", bound=Number)
V = TypeVar("V", bound=Number)


@kernel
def woven_size(size: int, most: int) -> int:
    """Return the room for woven matrices of so many elements, and where eights begin; little for too many."""
    return 8 * size + 64 if size <= most else 64


@kernel
def woven(
    x: Pointer[T], at: Pointer[int64], rows: int, columns: int, by_row: int, by_column: int, o: Pointer[V]
) -> int:
    """Weave the matrices at eight places."""
    lines = rows
    length = columns
    if (by_column == 1 or columns == 1) and (rows == 1 or by_row == columns):
        lines = 1
        length = rows * columns
    for i in range(lines):
        line = x + i * by_row
        to = o + i * length
        if length >= 4 and (by_column == 1 or columns == 1):
            j = 0
            while j + 4 <= length:
                weave(line + j, at, to + j)
                j += 4
            if j < length:
                weave(line + (length - 4), at, to + (length - 4))
        else:
            single = numbers(to)
            step = 1 if columns == 1 else by_column
            for k in range(length):
                for lane in range(8):
                    single[8 * k + lane] = line[at[lane] + k * step]
    return OK


@kernel
def unwoven(x: Pointer[V], o: Pointer[T], at: Pointer[int64], count: int) -> int:
    """Write woven matrices, whose elements lie one behind the other, to eight places."""
    if count >= 4:
        j = 0
        while j + 4 <= count:
            unweave(x + j, o + j, at)
            j += 4
        if j < count:
            unweave(x + (count - 4), o + (count - 4), at)
    else:
        single = numbers(x)
        for k in range(count):
            for lane in range(8):
                o[at[lane] + k] = single[8 * k + lane]
    return OK


@kernel(inline=True)
def woven_infinite(x: Pointer[V], rows: int, columns: int, half: int, strict: int) -> int:
    """Return a bit for each matrix with NaN or infinity; `strict` leaves the diagonal of a triangle out."""
    sum = convert(V, 0)
    for i in range(rows):
        first = min(i + strict, columns) if half == UPPER else 0
        last = min(i + 1 - strict, columns) if half == LOWER else columns
        for j in range(first, last):
            sum += x[i * columns + j] * 0
    return which(~(sum == 0))
