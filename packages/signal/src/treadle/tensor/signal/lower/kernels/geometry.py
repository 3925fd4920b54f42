"""Lengths, places and weights of convolutions: kernels that run once for each call.

A table of integers describes a convolution. It begins with, for each of three spatial dimensions, the lengths of
image, filter and output, stride, dilation and padding in front; missing dimensions are in front, of length 1. What
follows from these comes behind them.
"""

from __future__ import annotations

from typing import TypeVar

from treadle.kernels import kernel
from treadle.kernels.language import OK, Array5, Number, Pointer, float32, int64, lanes, quotient, remainder, team

T = TypeVar("T", bound=Number)
W = TypeVar("W", bound=Number)
# The words of a dimension, and their places.
WORDS = 6
N, K, P, S, D, LOW = range(6)
# Places behind the dimensions. Three words each: where the packed image begins in the image, how long it is, and in how
# many phases results are computed.
ORIGIN, LENGTH, SPLIT = 18, 21, 24
# The phases that a packed row is split into, and the lengths of one, of a row, of a plane and of a channel.
PHASES, PART, ROW, PLANE, VOLUME = range(27, 32)
# How many phases there are in all, weights for a result, results at a time, and blocks of results in a group.
PARTS, TAPS, BLOCK, BLOCKS = range(32, 36)
# Channels of a group that are summed over, and that result; the length of a block's rows.
INNER, OUTER, MOST = range(36, 39)
# The padded length of a row of outputs, and of all of an image's; the elements behind a packed image and a row that
# vectors may reach.
WIDTH, IMAGE, SLACK = 39, 40, 41
TABLE_WORDS = 42
# The words of a dimension of a phase.
AXIS = 5
COUNT, BEGIN, BY, AT, STEP = range(5)


@kernel
def conv_dimension(t: Pointer[int64], a: int, n: int, k: int, p: int, s: int, d: int, low: int) -> int:
    """Describe a dimension."""
    own = t + WORDS * a
    own[N] = n
    own[K] = k
    own[P] = p
    own[S] = s
    own[D] = d
    own[LOW] = low
    return OK


@kernel(inline=True)
def conv_share(a: int, b: int) -> int:
    """Return a quotient, mostly by 1: processors take long for others."""
    return a if b == 1 else quotient(a, b)


@kernel
def conv_length(n: int, k: int, s: int, d: int, low: int, high: int) -> int:
    """Return the length of an output; -1 where the filter is longer than the padded input."""
    rest = n + low + high - (k - 1) * d - 1
    if rest < 0 or k < 1:
        return -1
    return conv_share(rest, s) + 1


@kernel
def conv_left(n: int, groups: int) -> int:
    """Return what dividing channels among groups leaves."""
    return remainder(n, groups)


@kernel
def conv_group(n: int, groups: int) -> int:
    """Return the channels of a group."""
    return quotient(n, groups)


@kernel(inline=True)
def floor_quotient(a: int, b: int) -> int:
    """Return a quotient by a positive number, rounded down."""
    return quotient(a, b) - int(remainder(a, b) < 0)


@kernel
def conv_geometry(t: Pointer[int64], inner: int, outer: int, *, part: str, size: int) -> int:
    """Describe what the convolution does, with so many channels in each group, and elements of a size."""
    for a in range(3):
        own = t + WORDS * a
        t[SPLIT + a] = 1
        t[ORIGIN + a] = -own[LOW]
        t[LENGTH + a] = (own[P] - 1) * own[S] + (own[K] - 1) * own[D] + 1
        if part == "input":
            # All phases read a part of this range.
            t[SPLIT + a] = own[S]
            t[ORIGIN + a] = floor_quotient(own[LOW], own[S]) - quotient((own[K] - 1) * own[D], own[S]) - 1
            t[LENGTH + a] = floor_quotient(own[N] - 1 + own[LOW], own[S]) - t[ORIGIN + a] + 1
    t[PHASES] = 1 if part == "input" else t[2 * WORDS + S]
    t[PART] = conv_share(t[LENGTH + 2] + t[PHASES] - 1, t[PHASES])
    t[ROW] = t[PART] * t[PHASES]
    t[PLANE] = t[LENGTH + 1] * t[ROW]
    t[VOLUME] = t[LENGTH] * t[PLANE]
    t[PARTS] = t[SPLIT] * t[SPLIT + 1] * t[SPLIT + 2]
    t[TAPS] = inner * t[K] * t[WORDS + K] * t[2 * WORDS + K]
    t[BLOCK] = 1 if outer == 1 and part != "filter" else 4
    t[BLOCKS] = outer if t[BLOCK] == 1 else (outer + 3) // 4
    t[INNER] = inner
    t[OUTER] = outer
    width = quotient(4 * lanes(float32), size)
    t[SLACK] = 4 * width
    high = t[WORDS + N] if part == "input" else t[WORDS + P]
    wide = t[2 * WORDS + N] if part == "input" else t[2 * WORDS + P]
    t[MOST] = high * max(t[ROW], wide) + t[SLACK]
    t[WIDTH] = quotient(t[2 * WORDS + P] + width - 1, width) * width
    t[IMAGE] = t[P] * t[WORDS + P] * t[WIDTH]
    return OK


@kernel
def conv_team(t: Pointer[int64], count: int, images: int, groups: int, *, part: str) -> int:
    """Return among how many threads images, or blocks of filters, are shared, to compute so many elements."""
    return max(min(team(count * t[TAPS]), groups * t[BLOCKS] if part == "filter" else images), 1)


@kernel
def conv_room(t: Pointer[int64], groups: int, members: int, *, part: str) -> int:
    """Return room for weights or sums, and for what each thread packs and writes."""
    packed = t[INNER] * t[VOLUME] + t[SLACK]
    if part == "filter":
        return groups * t[BLOCKS] * 4 * (t[TAPS] + 3) + members * (packed + 4 * t[IMAGE])
    return t[BLOCKS] * t[TAPS] * t[BLOCK] + members * (packed + t[BLOCK] * t[MOST])


@kernel
def conv_offsets(t: Pointer[int64], off: Pointer[int64]) -> int:
    """Write where the elements lie that each weight is multiplied by; three more words are 0."""
    at = 0
    for c in range(t[INNER]):
        for k0 in range(t[K]):
            for k1 in range(t[WORDS + K]):
                for k2 in range(t[2 * WORDS + K]):
                    u = k2 * t[2 * WORDS + D]
                    along = remainder(u, t[PHASES]) * t[PART] + quotient(u, t[PHASES])
                    off[at] = c * t[VOLUME] + k0 * t[D] * t[PLANE] + k1 * t[WORDS + D] * t[ROW] + along
                    at += 1
    for e in range(3):
        off[at + e] = 0
    return OK


@kernel
def conv_weights(
    w: Array5[T],
    t: Pointer[int64],
    off: Pointer[int64],
    start: Pointer[int64],
    weights: Pointer[W],
    group: int,
    *,
    back: bool,
) -> int:
    """Write a group's weights by blocks of results, and where the elements lie that each one is multiplied by.

    The gradient by the images is a sum for each remainder of positions by the strides: a phase, with weights from
    `start` on.
    """
    block = t[BLOCK]
    at = 0
    for f in range(t[PARTS]):
        start[f] = at
        r0 = 0
        r1 = 0
        r2 = 0
        if back:
            r0 = quotient(f, t[SPLIT + 1] * t[SPLIT + 2])
            r1 = remainder(quotient(f, t[SPLIT + 2]), t[SPLIT + 1])
            r2 = remainder(f, t[SPLIT + 2])
        for c in range(t[INNER]):
            for k0 in range(t[K]):
                for k1 in range(t[WORDS + K]):
                    for k2 in range(t[2 * WORDS + K]):
                        u0 = k0 * t[D]
                        u1 = k1 * t[WORDS + D]
                        u2 = k2 * t[2 * WORDS + D]
                        if back:
                            s0 = t[S]
                            s1 = t[WORDS + S]
                            s2 = t[2 * WORDS + S]
                            if remainder(u0, s0) != r0 or remainder(u1, s1) != r1 or remainder(u2, s2) != r2:
                                continue
                            u0 = -quotient(u0 - r0, s0)
                            u1 = -quotient(u1 - r1, s1)
                            u2 = -quotient(u2 - r2, s2)
                        elif t[PHASES] > 1:
                            u2 = remainder(u2, t[PHASES]) * t[PART] + quotient(u2, t[PHASES])
                        off[at] = c * t[VOLUME] + u0 * t[PLANE] + u1 * t[ROW] + u2
                        for bl in range(t[BLOCKS]):
                            to = weights + (bl * t[TAPS] + at) * block
                            for e in range(block):
                                j = bl * block + e
                                if j >= t[OUTER]:
                                    to[e] = 0
                                elif back:
                                    to[e] = w[group * t[INNER] + c, j, k0, k1, k2]
                                else:
                                    to[e] = w[group * t[OUTER] + j, c, k0, k1, k2]
                        at += 1
    start[t[PARTS]] = at
    return OK


@kernel
def conv_phase(t: Pointer[int64], f: int, axes: Pointer[int64], *, back: bool) -> int:
    """Describe a phase's results along each dimension: how many there are, where they lie, and where their operands."""
    rest = f
    for e in range(2, -1, -1):
        own = t + WORDS * e
        axis = axes + AXIS * e
        axis[COUNT] = own[P]
        axis[BEGIN] = 0
        axis[BY] = 1
        axis[AT] = 0
        axis[STEP] = own[S] if e < 2 else 1
        if back:
            reach = own[LOW] - remainder(rest, own[S])
            rest = quotient(rest, own[S])
            lowest = -floor_quotient(-reach, own[S])
            axis[COUNT] = floor_quotient(own[N] - 1 + reach, own[S]) - lowest + 1
            axis[BEGIN] = lowest * own[S] - reach
            axis[BY] = own[S]
            axis[AT] = lowest - t[ORIGIN + e]
            axis[STEP] = 1
    return OK
