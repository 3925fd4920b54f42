"""Philox 4x32-10 and the draws made of it, in NumPy: the definition that every backend's own code agrees with.

Philox (Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2, 3*, SC 2011) turns a counter of four
32-bit numbers and a key of two into four 32-bit numbers. Here the counter's first two numbers are a position of 64
bits, the third is the stream, and the fourth the attempt: 0 for draws that never reject, 1 and so on for the attempts
of those that do, and `SPAWN` and `FOLD_IN` for the keys of other streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    # Numbers of 32 bits, as uint64.
    Words = np.ndarray | np.uint64

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
INCREMENTS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
SPAWN, FOLD_IN = 0xFFFFFFFF, 0xFFFFFFFE
_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FACTORS, _STEPS = np.array(MULTIPLIERS, "uint64"), np.array(INCREMENTS, "uint64")
# How many blocks are made at once: as many as stay in the processor's cache.
_PART = 4096


class State(NamedTuple):
    """Where a generator is: `key` and `position` of 64 bits, `stream` of 32, as Python integers of 0 or more."""

    key: int
    stream: int
    position: int


def philox(counter: Sequence[Words], key: tuple[Words, Words]) -> list[np.ndarray]:
    """Return four arrays of 32-bit numbers, as uint64, for counters and keys of such numbers, which broadcast.

    >>> [hex(int(x)) for x in philox([np.uint64(0)] * 4, (np.uint64(0), np.uint64(0)))]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    return [np.asarray(c) for c in rounds(counter, key)]


def rounds(counter: Sequence[Any], key: tuple[Any, Any]) -> list[Any]:
    """Return the four numbers of `philox`; of variables, a graph of them."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        a, b = c0 * _FACTORS[0], c2 * _FACTORS[1]
        c0, c1, c2, c3 = (b >> _HALF) ^ c1 ^ k0, b & _MASK, (a >> _HALF) ^ c3 ^ k1, a & _MASK
        k0, k1 = (k0 + _STEPS[0]) & _MASK, (k1 + _STEPS[1]) & _MASK
    return [c0, c1, c2, c3]


def blocks(state: State, offsets: np.ndarray, attempt: int = 0) -> np.ndarray:
    """Return the four numbers of each of some blocks, counted from the state's position (modulo 2**64)."""
    words = np.empty((4, offsets.size), "uint64")
    stream, last = np.uint64(state.stream), np.uint64(attempt)
    key = np.uint64(state.key) & _MASK, np.uint64(state.key) >> _HALF
    with np.errstate(over="ignore"):
        for start in range(0, offsets.size, _PART):
            part = slice(start, start + _PART)
            at = np.uint64(state.position) + offsets[part].astype("uint64")
            for word, numbers in zip(words, philox([at & _MASK, at >> _HALF, stream, last], key), strict=True):
                word[part] = numbers
    return words


def bits32(state: State, n: int) -> np.ndarray:
    """Return n numbers of 32 bits, four from each block."""
    words = blocks(state, np.arange(-(-n // 4)))
    numbers: np.ndarray = words.T.reshape(-1)[:n].astype("uint32")
    return numbers


def bits64(state: State, n: int) -> np.ndarray:
    """Return n numbers of 64 bits, two from each block: the first number of a pair is the low half."""
    w0, w1, w2, w3 = blocks(state, np.arange(-(-n // 2)))
    return np.stack([w0 | w1 << _HALF, w2 | w3 << _HALF], axis=-1).reshape(-1)[:n]


def bits(state: State, n: int, dtype: str) -> np.ndarray:
    """Return n numbers of 32 or 64 bits; int64 are those of uint64 modulo 2**64."""
    return bits32(state, n) if dtype == "uint32" else bits64(state, n).view(dtype)


def uniform(state: State, n: int, dtype: str) -> np.ndarray:
    """Return n numbers in [0, 1): multiples of 2**-53 from 64 bits each, in float32 of 2**-24 from 32 bits."""
    if dtype == "float32":
        return (bits32(state, n) >> np.uint32(8)).astype("float32") * np.float32(2.0**-24)
    return (bits64(state, n) >> np.uint64(11)).astype("float64") * 2.0**-53


def exponential(state: State, n: int, dtype: str) -> np.ndarray:
    """Return n standard exponentials, -log(1 - u)."""
    one = np.dtype(dtype).type(1)
    result: np.ndarray = -np.log(one - uniform(state, n, dtype))
    return result


def normal(state: State, n: int, dtype: str) -> np.ndarray:
    """Return n standard normals by Box and Muller's transform: pairs r cos(2 pi v), r sin(2 pi v), r = sqrt(-2 log u).

    A pair of float64 takes a block: u = 1 - a uniform number, v the next one. A pair of float32 takes half of one: u
    is (w + 1) / 2**32 of a number w of 32 bits, rounded, and v the next number / 2**32.
    """
    pairs = -(-n // 2)
    u: np.ndarray
    v: np.ndarray
    if dtype == "float32":
        w = bits32(state, 2 * pairs).reshape(-1, 2)
        u = (w[:, 0].astype("float64") + 1.0).astype("float32") * np.float32(2.0**-32)
        v = w[:, 1].astype("float32") * np.float32(2.0**-32)
    else:
        both = uniform(state, 2 * pairs, dtype).reshape(-1, 2)
        u, v = 1.0 - both[:, 0], both[:, 1]
    of = np.dtype(dtype).type
    r, angle = np.sqrt(of(-2) * np.log(u)), of(2 * np.pi) * v
    return np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1).reshape(-1)[:n]
