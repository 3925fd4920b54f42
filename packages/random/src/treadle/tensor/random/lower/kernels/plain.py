"""Draws that never reject: several of each block of Philox."""

from __future__ import annotations

from typing import TypeVar

from treadle.kernels import Kernel, kernel
from treadle.kernels.blocks import copied
from treadle.kernels.language import (
    OK,
    Number,
    Pointer,
    convert,
    cos,
    float32,
    float64,
    independent,
    int64,
    itemsize,
    local,
    log,
    quotient,
    shared,
    sin,
    sqrt,
    team,
    uint32,
    uint64,
)
from treadle.tensor.random.lower.kernels.philox import (
    TILE,
    TURN,
    WIDE,
    blocks,
    first_word,
    fraction,
    last_word,
    log_of,
    turned,
)

T = TypeVar("T", bound=Number)
# Elements of a tile: two or four of each block.
ROOM = 4 * TILE


@kernel
def draw_plain(state: Pointer[int64], count: int, o: Pointer[T], *, make: Kernel) -> int:
    """Draw elements, which threads share where there are some; `make` writes those of a tile."""
    members = team(count)
    each = (quotient(count, members) // ROOM + 1) * ROOM
    bad = OK
    for m in shared(range(members)):
        bad = max(bad, draw_plain_part(state, min(m * each, count), min((m + 1) * each, count), o, make=make))
    return bad


@kernel
def draw_plain_part(state: Pointer[int64], first: int, last: int, o: Pointer[T], *, make: Kernel) -> int:
    """Draw elements in order, from one on that begins a tile."""
    x = local(uint64, TILE)
    y = local(uint64, TILE)
    none = local(int64, 1)
    rest = local(T, ROOM)
    key = state[0]
    stream = state[1]
    whole = 2 * TILE if itemsize(T) == 8 else 4 * TILE
    at = state[2] + (first // (2 * TILE) if itemsize(T) == 8 else first // (4 * TILE)) * TILE
    done = first
    while done < last:
        blocks(key, stream, at, none, 0, x, y, together=True)
        if done + whole <= last:
            make(x, y, o + done)
        else:
            make(x, y, rest)
            copied(rest, o + done, last - done)
        done += whole
        at += TILE
    return OK


@kernel
def bits_of(x: Pointer[uint64], y: Pointer[uint64], o: Pointer[T]) -> int:
    """Write numbers of 64 bits."""
    for e in independent(range(TILE), WIDE):
        o[2 * e] = convert(T, x[e])
        o[2 * e + 1] = convert(T, y[e])
    return OK


@kernel
def short_bits_of(x: Pointer[uint64], y: Pointer[uint64], o: Pointer[uint32]) -> int:
    """Write numbers of 32 bits."""
    for e in independent(range(TILE), WIDE):
        o[4 * e] = int(x[e])
        o[4 * e + 1] = int(x[e] >> 32)
        o[4 * e + 2] = int(y[e])
        o[4 * e + 3] = int(y[e] >> 32)
    return OK


@kernel
def uniform_of(x: Pointer[uint64], y: Pointer[uint64], o: Pointer[float64]) -> int:
    """Write numbers in [0, 1)."""
    for e in independent(range(TILE), WIDE):
        o[2 * e] = fraction(x[e])
        o[2 * e + 1] = fraction(y[e])
    return OK


@kernel
def short_uniform_of(x: Pointer[uint64], y: Pointer[uint64], o: Pointer[float32]) -> int:
    """Write numbers in [0, 1)."""
    words = local(uint32, ROOM)
    short_bits_of(x, y, words)
    for e in independent(range(ROOM), WIDE):
        o[e] = float32(words[e] >> 8) * 2.0**-24
    return OK


@kernel
def exponential_of(x: Pointer[uint64], y: Pointer[uint64], o: Pointer[float64]) -> int:
    """Write standard exponentials."""
    for e in independent(range(TILE), WIDE):
        o[2 * e] = -log_of(1.0 - fraction(x[e]))
        o[2 * e + 1] = -log_of(1.0 - fraction(y[e]))
    return OK


@kernel
def short_exponential_of(x: Pointer[uint64], y: Pointer[uint64], o: Pointer[float32]) -> int:
    """Write standard exponentials."""
    short_uniform_of(x, y, o)
    for e in independent(range(ROOM), WIDE):
        o[e] = -log(1.0 - o[e])
    return OK


@kernel
def normal_of(x: Pointer[uint64], y: Pointer[uint64], o: Pointer[float64]) -> int:
    """Write standard normals, by Box and Muller's transform."""
    for e in independent(range(TILE), WIDE):
        r = sqrt(-2.0 * log_of(1.0 - fraction(x[e])))
        angle = TURN * fraction(y[e])
        o[2 * e] = r * turned(angle, cosine=True)
        o[2 * e + 1] = r * turned(angle, cosine=False)
    return OK


@kernel(inline=True)
def short_normals(x: uint64, o: Pointer[float32]) -> int:
    """Write the two standard normals of two words."""
    r = sqrt(-2.0 * log(float32(first_word(x) + 1.0) * 2.0**-32))
    angle = TURN * (float32(last_word(x)) * 2.0**-32)
    o[0] = r * cos(angle)
    o[1] = r * sin(angle)
    return OK


@kernel
def short_normal_of(x: Pointer[uint64], y: Pointer[uint64], o: Pointer[float32]) -> int:
    """Write standard normals."""
    for e in independent(range(TILE), WIDE):
        short_normals(x[e], o + 4 * e)
        short_normals(y[e], o + (4 * e + 2))
    return OK
