"""Kernels for single matrices, by lines: rows, or columns of matrices that lie by columns."""

from __future__ import annotations

import math
from typing import TypeVar

from treadle.kernels import kernel
from treadle.kernels.language import (
    OK,
    Number,
    Pointer,
    convert,
    independent,
    is_complex,
    is_floating,
)

T = TypeVar("T", bound=Number)

# Up to this many rows, loops replace LAPACK and BLAS.
SMALL = 16
# The largest number of rows or columns that LAPACK and BLAS can count.
MOST = 2**31 - 1
# Triangles of lines: all of a matrix, what is up to the diagonal, and what is from it on.
WHOLE, LOWER, UPPER = 0, 1, 2
# Tiles of this many lines and elements stay in the cache where a matrix is turned.
LINES, ELEMENTS = 16, 64


@kernel
def smaller(n: int, m: int) -> int:
    """Return the smaller length."""
    return min(n, m)


@kernel
def larger(n: int, m: int) -> int:
    """Return the larger length."""
    return max(n, m)


@kernel
def if_larger(n: int, m: int) -> int:
    """Return a length that is larger than another one, otherwise 0."""
    return n if n > m else 0


@kernel
def shortened(n: int, m: int) -> int:
    """Return a length that is so much shorter, at least 0."""
    return max(n - m, 0)


@kernel
def if_equal(value: int, n: int, m: int) -> int:
    """Return a value where two lengths are equal, otherwise 0."""
    return value if n == m else 0


@kernel(inline=True)
def is_turned(rows: int, columns: int, by_row: int, by_column: int) -> int:
    """Return 1 for a matrix whose columns run through memory."""
    return int(rows > 1 and columns > 1 and by_column > by_row)


@kernel(inline=True)
def line_distance(lines: int, length: int, by_line: int, by_element: int) -> int:
    """Return the distance of lines for LAPACK, or 0 if the matrix does not lie as LAPACK takes it."""
    if length > 1 and by_element != 1:
        return 0
    if lines <= 1 or length < 1:
        return max(length, 1)
    return by_line if length <= by_line <= MOST else 0


@kernel
def copy_size(lines: int, length: int, by_line: int, by_element: int, stays: int) -> int:
    """Return the number of elements of a copy: 0 for a matrix that may stay where it is, and lies well."""
    return 0 if stays == 1 and line_distance(lines, length, by_line, by_element) > 0 else lines * length


@kernel
def either_copy_size(rows: int, columns: int, by_row: int, by_column: int, stays: int) -> int:
    """Return the number of elements of a copy of a matrix that may lie by rows or by columns."""
    if is_turned(rows, columns, by_row, by_column) == 1:
        return copy_size(columns, rows, by_column, by_row, stays)
    return copy_size(rows, columns, by_row, by_column, stays)


@kernel
def length_around(inner: int, n: int, stride: int) -> int:
    """Return how far parts that lie apart reach, each as long as `inner`; 0 where they overlap, or `inner` is 0."""
    step = -stride if stride < 0 else stride
    if n <= 1 or inner == 0:
        return inner
    return n * step if step >= inner else 0


@kernel
def matrix_extent(rows: int, columns: int, by_row: int, by_column: int) -> int:
    """Return how far a matrix reaches, 0 if its elements do not lie apart."""
    return max(
        length_around(length_around(1, columns, by_column), rows, by_row),
        length_around(length_around(1, rows, by_row), columns, by_column),
    )


@kernel
def if_positive(value: int, n: int) -> int:
    """Return a value where a number is positive, otherwise 0."""
    return value if n > 0 else 0


@kernel
def cleared_beside(x: Pointer[T], lines: int, length: int, by_line: int, half: int) -> int:
    """Set the side of a triangle that is not wanted to 0."""
    for i in range(lines):
        line = x + i * by_line
        first = min(i + 1, length) if half == LOWER else 0
        last = length if half == LOWER else min(i, length)
        for j in independent(range(first, last)):
            line[j] = convert(T, 0)
    return OK


@kernel
def line_copied(x: Pointer[T], o: Pointer[T], first: int, last: int) -> int:
    """Copy elements of a line."""
    for j in independent(range(first, last)):
        o[j] = x[j]
    return OK


@kernel
def infinite_in_line(x: Pointer[T], first: int, last: int) -> int:
    """Return how many numbers of a line are NaN or infinite."""
    count = 0
    for j in independent(range(first, last)):
        count += int(x[j] - x[j] != 0)
    return count


@kernel
def infinite_in_lines(x: Pointer[T], lines: int, length: int, ld: int, half: int, strict: int) -> int:
    """Return how many numbers are NaN or infinite, of a matrix or a triangle; `strict` leaves the diagonal out."""
    count = 0
    for i in range(lines):
        first = min(i + strict, length) if half == UPPER else 0
        last = min(i + 1 - strict, length) if half == LOWER else length
        count += infinite_in_line(x + i * ld, first, last)
    return count


@kernel(inline=True)
def infinite_count(x: Pointer[T], lines: int, length: int, ld: int, half: int, strict: int) -> int:
    """Return the same, for a few lines without calls."""
    if length > SMALL:
        return infinite_in_lines(x, lines, length, ld, half, strict)
    count = 0
    for i in range(lines):
        first = min(i + strict, length) if half == UPPER else 0
        last = min(i + 1 - strict, length) if half == LOWER else length
        for j in range(first, last):
            v = x[i * ld + j]
            count += int(v - v != 0)
    return count


@kernel
def lines_copied(
    x: Pointer[T], lines: int, length: int, by_line: int, by_element: int, o: Pointer[T], ld: int, half: int
) -> int:
    """Copy a matrix; the side of a triangle that is not wanted becomes 0."""
    if by_element == 1 or length <= 1:
        for i in range(lines):
            first = min(i, length) if half == UPPER else 0
            last = min(i + 1, length) if half == LOWER else length
            line_copied(x + i * by_line, o + i * ld, first, last)
    else:
        for above in range(0, lines, LINES):
            for left in range(0, length, ELEMENTS):
                for i in range(above, min(above + LINES, lines)):
                    line = x + i * by_line
                    to = o + i * ld
                    for j in independent(range(left, min(left + ELEMENTS, length))):
                        to[j] = line[j * by_element]
    if half != WHOLE:
        cleared_beside(o, lines, length, ld, half)
    return OK


@kernel(inline=True)
def matrix_copied(
    x: Pointer[T], lines: int, length: int, by_line: int, by_element: int, o: Pointer[T], ld: int, half: int,
    strict: int, *, checked: bool,
) -> int:  # fmt: skip
    """Copy a matrix; return how many of its numbers are NaN or infinite if it is `checked`, otherwise 0."""
    if length > SMALL:
        lines_copied(x, lines, length, by_line, by_element, o, ld, half)
        return infinite_in_lines(o, lines, length, ld, half, strict) if checked else 0
    count = 0
    for i in range(lines):
        line = x + i * by_line
        to = o + i * ld
        first = min(i, length) if half == UPPER else 0
        last = min(i + 1, length) if half == LOWER else length
        for j in range(first):
            to[j] = convert(T, 0)
        for k in range(first, last):
            v = line[k * by_element]
            to[k] = v
            if checked:
                count += int(v - v != 0 and (strict == 0 or i != k))
        for n in range(last, length):
            to[n] = convert(T, 0)
    return count


@kernel
def failed(o: Pointer[T], count: int) -> int:
    """Write what a matrix without a result has in its place: NaN, and 0 in integers."""
    for i in range(count):
        if is_floating(T) or is_complex(T):
            o[i] = convert(T, math.nan)
        else:
            o[i] = convert(T, 0)
    return OK


@kernel(inline=True)
def identity(o: Pointer[T], m: int, ld: int) -> int:
    """Write the identity."""
    for i in range(m):
        for j in independent(range(m)):
            o[i * ld + j] = convert(T, 0)
        o[i * ld + i] = 1
    return OK
