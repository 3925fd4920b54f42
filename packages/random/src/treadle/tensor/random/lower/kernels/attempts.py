"""Draws that may be rejected: attempts for tiles of elements, until each is accepted.

`treadle.tensor.random.generators.rejection` defines them. What a sampler does are four kernels, each of which works on
the `TILE` lanes of a tile (`SamplerKernels`).
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from treadle.kernels import Kernel, kernel
from treadle.kernels.language import (
    OK,
    SHAPE,
    Number,
    Pointer,
    bits,
    convert,
    float64,
    from_bits,
    independent,
    int64,
    is_floating,
    local,
    quotient,
    remainder,
    shared,
    team,
    uint64,
)
from treadle.tensor.random.generators.rejection import ATTEMPTS
from treadle.tensor.random.lower.kernels.philox import BATCH, TILE, WIDE, blocks_at

P = TypeVar("P", bound=Number)
Q = TypeVar("Q", bound=Number)
R = TypeVar("R", bound=Number)
T = TypeVar("T", bound=Number)
# How many parameters a sampler may have, and how many numbers may be prepared of them for a lane.
MOST_PARAMETERS, MOST_PREPARED = 3, 12


# Parameters. A table describes how one is broadcast to the batch: the number of its dimensions, then lengths and
# strides in turn, the last dimension first.


@kernel
def begin_table(table: Pointer[int64]) -> int:
    """Describe a single number."""
    table[0] = 0
    return OK


@kernel
def add_dimension(table: Pointer[int64], wanted: int, n: int, stride: int) -> int:
    """Append a dimension of a batch to a parameter's table; those that lie one behind the other become one."""
    if n != 1 and n != wanted:
        return SHAPE
    if wanted == 1:
        return OK
    step = 0 if n == 1 else stride
    at = 2 * table[0]
    if at > 0 and step == table[at] * table[at - 1]:
        table[at - 1] = table[at - 1] * wanted
        return OK
    table[at + 1] = wanted
    table[at + 2] = step
    table[0] = table[0] + 1
    return OK


@kernel
def is_fixed(table: Pointer[int64]) -> bool:
    """Whether a parameter is the same for the whole batch."""
    return table[0] == 0 or (table[0] == 1 and table[2] == 0)


@kernel
def fill(x: Pointer[P], table: Pointer[int64], at: int, count: int, room: int, o: Pointer[int64]) -> int:
    """Write the bits of a parameter, from one element of the batch on, and fill up the room with the last."""
    index = local(int64, 64)
    rank = table[0]
    place = 0
    rest = at
    for d in range(rank):
        n = table[2 * d + 1]
        index[d] = remainder(rest, n)
        rest = quotient(rest, n)
        place += index[d] * table[2 * d + 2]
    length = table[1] if rank > 0 else 1
    stride = table[2] if rank > 0 else 0
    first = index[0] if rank > 0 else 0
    done = 0
    while done < count:
        run = min(length - first, count - done) if rank > 0 else count
        source = x + place
        target = o + done
        for i in range(run):
            target[i] = bits(source[i * stride]) if is_floating(P) else source[i * stride]
        done += run
        place += run * stride
        first += run
        if rank > 0 and first == length:
            place -= first * stride
            first = 0
            k = 1
            while k < rank:
                place += table[2 * k + 2]
                index[k] = index[k] + 1
                if index[k] < table[2 * k + 1]:
                    break
                place -= index[k] * table[2 * k + 2]
                index[k] = 0
                k += 1
    last = o[count - 1]
    for j in range(count, room):
        o[j] = last
    return OK


# Attempts


class SamplerKernels(NamedTuple):
    """How a sampler that may reject draws the elements of a tile: kernels, each with a loop over its `TILE` lanes.

    Attributes
    ----------
    parameters
        The number of its parameters, three at most.
    attempt
        ``attempt(x, y, q, made, verdict)`` draws from the words of a block for each lane: ``x[e]`` are the first two,
        as a number of 64 bits of which the first is the low half, ``y[e]`` the others. It writes the bits of the draw
        (``bits`` of a float), and a verdict: 0 to accept it, 1 to reject it, 2 for `decide` to say. It returns the sum
        of the verdicts.
    prepare
        ``prepare(p, step, q)`` computes what all attempts need: ``p[k * step + e]`` are the bits of parameter k,
        ``q[k * TILE + e]`` the numbers of a lane, at most 12. It is called once if parameters are single numbers.
    decide
        ``decide(lanes, x, y, q, verdict)`` writes the verdict, 0 or 1, for some lanes: ``verdict[e]`` for lane
        ``lanes[e]``, `WIDE` of them.
    finish
        ``finish(key, stream, at, count, p, made)`` changes accepted draws, of elements that follow each other from
        position `at` on; ``p[k * BATCH + e]`` are the bits of parameter k.
    """

    parameters: int
    attempt: Kernel
    prepare: Kernel
    decide: Kernel
    finish: Kernel


@kernel
def accept(
    lanes: Pointer[int64], x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], verdict: Pointer[int64]
) -> int:
    """Decide nothing: there is nothing left to decide."""
    return OK


@kernel
def keep(key: int, stream: int, at: int, count: int, p: Pointer[int64], made: Pointer[int64]) -> int:
    """Leave draws as they are."""
    return OK


@kernel
def settle(
    x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], verdict: Pointer[int64], *, decide: Kernel
) -> int:
    """Have the lanes decided that an attempt has left open, several at once."""
    lanes = local(int64, TILE + WIDE)
    decided = local(int64, WIDE)
    count = 0
    for e in range(TILE):
        lanes[count] = e
        count += verdict[e] >> 1
    for j in range(count, count + WIDE):
        lanes[j] = lanes[0]
    done = 0
    while done < count:
        decide(lanes + done, x, y, q, decided)
        for k in range(WIDE):
            verdict[lanes[done + k]] = decided[k]
        done += WIDE
    return OK


@kernel
def fill_all(
    p0: Pointer[P],
    t0: Pointer[int64],
    p1: Pointer[Q],
    t1: Pointer[int64],
    p2: Pointer[R],
    t2: Pointer[int64],
    at: int,
    count: int,
    room: int,
    given: Pointer[int64],
    *,
    parameters: int,
) -> int:
    """Write the bits of all parameters, from one element of the batch on."""
    fill(p0, t0, at, count, room, given)
    if parameters > 1:
        fill(p1, t1, at, count, room, given + BATCH)
    if parameters > 2:
        fill(p2, t2, at, count, room, given + 2 * BATCH)
    return OK


@kernel
def draw_again(
    key: int,
    stream: int,
    at: int,
    left: int,
    index: Pointer[int64],
    given: Pointer[int64],
    q: Pointer[float64],
    fixed: bool,
    made: Pointer[int64],
    *,
    parameters: int,
    prepare: Kernel,
    attempt: Kernel,
    decide: Kernel,
    decides: bool,
) -> int:
    """Make further attempts for those elements of a batch that are left, whose positions in it are an index."""
    own = local(int64, MOST_PARAMETERS * TILE)
    x = local(uint64, TILE)
    y = local(uint64, TILE)
    again = local(int64, TILE)
    verdict = local(int64, TILE)
    places = local(int64, TILE)
    k = 2
    while left > 0 and k <= ATTEMPTS:
        kept = 0
        start = 0
        while start < left:
            n = min(TILE, left - start)
            for e in range(TILE):
                i = index[start + (e if e < n else 0)]
                places[e] = i
                if not fixed:
                    for c in range(parameters):
                        own[c * TILE + e] = given[c * BATCH + i]
            if not fixed:
                prepare(own, TILE, q)
            blocks_at(key, stream, at, places, k, x, y)
            if attempt(x, y, q, again, verdict) > 0 and decides:
                settle(x, y, q, verdict, decide=decide)
            for r in range(n):
                made[places[r]] = again[r]
                index[kept] = places[r]
                kept += verdict[r]
            start += TILE
        left = kept
        k += 1
    return OK


@kernel
def draw_attempts(
    state: Pointer[int64],
    count: int,
    p0: Pointer[P],
    t0: Pointer[int64],
    p1: Pointer[Q],
    t1: Pointer[int64],
    p2: Pointer[R],
    t2: Pointer[int64],
    o: Pointer[T],
    *,
    parameters: int,
    prepare: Kernel,
    attempt: Kernel,
    decide: Kernel,
    decides: bool,
    finish: Kernel,
) -> int:
    """Draw elements, which threads share where there are some."""
    members = team(count)
    each = (quotient(count, members) // BATCH + 1) * BATCH
    bad = OK
    for m in shared(range(members)):
        bad = max(
            bad,
            draw_attempts_part(
                state, min(m * each, count), min((m + 1) * each, count), p0, t0, p1, t1, p2, t2, o,
                parameters=parameters, prepare=prepare, attempt=attempt, decide=decide, decides=decides, finish=finish,
            ),
        )  # fmt: skip
    return bad


@kernel
def draw_attempts_part(
    state: Pointer[int64],
    begin: int,
    end: int,
    p0: Pointer[P],
    t0: Pointer[int64],
    p1: Pointer[Q],
    t1: Pointer[int64],
    p2: Pointer[R],
    t2: Pointer[int64],
    o: Pointer[T],
    *,
    parameters: int,
    prepare: Kernel,
    attempt: Kernel,
    decide: Kernel,
    decides: bool,
    finish: Kernel,
) -> int:
    """Draw elements in order, from one on: the first attempt for a batch, others for those that are left."""
    given = local(int64, MOST_PARAMETERS * BATCH)
    q = local(float64, MOST_PREPARED * TILE)
    x = local(uint64, TILE)
    y = local(uint64, TILE)
    made = local(int64, BATCH)
    verdict = local(int64, TILE)
    index = local(int64, BATCH + 1)
    places = local(int64, TILE)
    for i in range(TILE):
        places[i] = i
    key = state[0]
    stream = state[1]
    at = state[2]
    fixed = is_fixed(t0) and (parameters < 2 or is_fixed(t1)) and (parameters < 3 or is_fixed(t2))
    done = begin
    while done < end:
        m = min(BATCH, end - done)
        if done == begin or not fixed:
            room = BATCH if fixed else (m + TILE - 1) // TILE * TILE
            fill_all(p0, t0, p1, t1, p2, t2, done, m, room, given, parameters=parameters)
            if fixed:
                prepare(given, BATCH, q)
        left = 0
        start = 0
        while start < m:
            if not fixed:
                prepare(given + start, BATCH, q)
            blocks_at(key, stream, at + done + start, places, 1, x, y)
            if attempt(x, y, q, made + start, verdict) > 0:
                if decides:
                    settle(x, y, q, verdict, decide=decide)
                for e in range(TILE):
                    index[left] = start + e
                    left += verdict[e] if start + e < m else 0
            start += TILE
        draw_again(
            key, stream, at + done, left, index, given, q, fixed, made, parameters=parameters, prepare=prepare,
            attempt=attempt, decide=decide, decides=decides,
        )  # fmt: skip
        finish(key, stream, at + done, m, given, made)
        to = o + done
        for j in independent(range(m), WIDE):
            to[j] = convert(T, from_bits(made[j])) if is_floating(T) else made[j]
        done += m
    return OK
