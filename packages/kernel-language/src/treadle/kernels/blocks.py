"""Kernels that kernels of many families call."""

from __future__ import annotations

from typing import TypeVar

from treadle.kernels.definition import kernel
from treadle.kernels.language import OK, SHAPE, Number, Pointer, convert, independent, int64, unrolled

T = TypeVar("T", bound=Number)


@kernel(inline=True)
def cleared(o: Pointer[T], count: int) -> int:
    """Set elements to 0."""
    for i in independent(range(count)):
        o[i] = convert(T, 0)
    return OK


@kernel(inline=True)
def copied(x: Pointer[T], o: Pointer[T], count: int) -> int:
    """Copy elements."""
    for i in independent(range(count)):
        o[i] = x[i]
    return OK


@kernel
def common_length(n: int, m: int) -> int:
    """Return the length that two lengths broadcast to, -1 if they do not."""
    if m == 1 or n == m:
        return n
    return m if n == 1 else -1


# Broadcasting. A table says how up to three operands are broadcast to a batch: for each dimension, the first one first,
# `TABLE_ROW` words, which are its length and the operands' strides. It has one dimension at least. A line is what the
# last dimension has of a batch; index says which line it is, and has room for `MOST_DIMENSIONS` numbers.

MOST_OPERANDS, TABLE_ROW, MOST_DIMENSIONS = 3, 4, 64


@kernel
def begin_batch(table: Pointer[int64], rank: int) -> int:
    """Begin a table of a batch of one element."""
    for k in range(TABLE_ROW * rank):
        table[k] = 1 if k % TABLE_ROW == 0 else 0
    return OK


@kernel
def set_length(table: Pointer[int64], d: int, n: int) -> int:
    """Say how long a dimension of the batch is."""
    table[TABLE_ROW * d] = n
    return OK


@kernel
def add_operand(table: Pointer[int64], d: int, k: int, n: int, stride: int, *, grows: bool) -> int:
    """Say how operand k lies along a dimension; one of length 1 is repeated. `grows`: the batch is as long as it is."""
    row = table + TABLE_ROW * d
    if n == 1:
        return OK
    if grows and row[0] == 1:
        row[0] = n
    if row[0] != n:
        return SHAPE
    row[1 + k] = stride
    return OK


@kernel
def merged(table: Pointer[int64], rank: int) -> int:
    """Make one dimension of those that follow each other in memory, for all operands; return how many there are."""
    last = 0
    for d in range(1, rank):
        outer = table + TABLE_ROW * last
        inner = table + TABLE_ROW * d
        if inner[0] == 1:
            continue
        follows = True
        for k in unrolled(range(1, TABLE_ROW)):
            follows = follows and outer[k] == inner[0] * inner[k]
        length = inner[0]
        if outer[0] == 1 or follows:
            length = outer[0] * length
        else:
            last += 1
        row = table + TABLE_ROW * last
        row[0] = length
        for j in unrolled(range(1, TABLE_ROW)):
            row[j] = inner[j]
    return last + 1


@kernel(inline=True)
def first_line(index: Pointer[int64], places: Pointer[int64], rank: int) -> int:
    """Begin at the first line: places are where the operands' elements are that it starts with."""
    for d in range(rank):
        index[d] = 0
    for k in unrolled(range(MOST_OPERANDS)):
        places[k] = 0
    return OK


@kernel(inline=True)
def next_line(table: Pointer[int64], rank: int, index: Pointer[int64], places: Pointer[int64]) -> int:
    """Go on to the next line, to the first one after the last."""
    d = rank - 2
    while d >= 0:
        row = table + TABLE_ROW * d
        index[d] = index[d] + 1
        ends = index[d] == row[0]
        steps = 1 - row[0] if ends else 1
        for k in unrolled(range(MOST_OPERANDS)):
            places[k] = places[k] + steps * row[1 + k]
        if not ends:
            break
        index[d] = 0
        d -= 1
    return OK
