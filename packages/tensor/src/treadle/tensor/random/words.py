"""States of NumPy's bit generators as arrays of 64-bit words, which compiled code works on.

The first word says which generator it is (its place in `KINDS`), the others are the bytes of the C structures that
NumPy's own samplers read:

============== =====================================================================================
PCG64, -DXSM   state (low, high), increment (low, high), buffered 32 bits
SFC64          state (4), buffered 32 bits
Philox         counter (4), key (2), buffer (4), position in the buffer, buffered 32 bits
MT19937        key (312 words of two 32-bit numbers), position
============== =====================================================================================

*Buffered 32 bits* is the half of a 64-bit number that was not used yet: whether there is one in the low half of the
word, the number in its high half.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.random.bit_generator import BitGenerator, ISeedSequence

from treadle.tensor.errors import ArgumentError

KINDS = ("PCG64", "PCG64DXSM", "SFC64", "Philox", "MT19937")
_LOW = 2**64 - 1


# NumPy's bit generators; those of other classes are copied by what their pickles hold.
_CLASSES = frozenset(getattr(np.random, name) for name in KINDS)


class _Blank(ISeedSequence):
    """Seeds of a generator whose state is set at once: real ones take several microseconds to make."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray:
        """Return zeros."""
        return np.zeros(n_words, dtype)


_BLANK = _Blank()


def copied(rng: np.random.Generator, seeds: ISeedSequence | None = None) -> np.random.Generator:
    """Return a generator in the same state, which draws for itself; one of any class of bit generator.

    Parameters
    ----------
    rng
        The generator.
    seeds
        The seed sequence of the copy, which its spawn takes children from; the generator's own if None.
    """
    old: Any = rng.bit_generator
    kind = type(old)
    if kind in _CLASSES:
        new: Any = kind(_BLANK)
        new.__setstate__(old.__getstate__() if seeds is None else (old.state, seeds))
    else:
        make, args, *state = old.__reduce__()
        new = make(*args)
        if state and state[0] is not None:
            new.__setstate__(state[0] if seeds is None else (state[0][0], seeds))
    return like(rng, new)


def like(rng: np.random.Generator, held: BitGenerator) -> np.random.Generator:
    """Return a generator of the same class that draws from a bit generator."""
    kind = type(rng)
    if kind is np.random.Generator:
        return kind(held)
    # A class of others may have another constructor, and attributes.
    new = kind.__new__(kind)
    np.random.Generator.__init__(new, held)
    vars(new).update(vars(rng))
    return new


def separated(rng: np.random.Generator) -> np.random.Generator:
    """Return a copy of a generator that spawns for itself too."""
    return copied(rng, copy.deepcopy(rng.bit_generator.seed_seq))


def words_of(rng: np.random.Generator) -> np.ndarray:
    """Return the state of a generator as words.

    Raises
    ------
    ArgumentError
        If its bit generator is none of NumPy's.
    """
    held: Any = rng.bit_generator
    kind = type(held).__name__
    if type(held) not in _CLASSES:
        msg = (
            f"random: compiled code knows the states of NumPy's bit generators ({', '.join(KINDS)}), got {kind}. "
            "Use one of these, or mode VM, which takes any."
        )
        raise ArgumentError(msg)
    state = held.state
    inner = state["state"]
    if kind == "MT19937":
        return np.concatenate(
            [np.array([KINDS.index(kind)], "uint64"), inner["key"].view("uint64"), np.array([inner["pos"]], "uint64")]
        )
    buffered = state["has_uint32"] | state["uinteger"] << 32
    if kind == "SFC64":
        words = [*inner["state"], buffered]
    elif kind == "Philox":
        words = [*inner["counter"], *inner["key"], *state["buffer"], state["buffer_pos"], buffered]
    else:
        a, b = inner["state"], inner["inc"]
        words = [a & _LOW, a >> 64, b & _LOW, b >> 64, buffered]
    return np.array([KINDS.index(kind), *words], "uint64")


def with_words(origin: np.random.Generator, words: np.ndarray) -> np.random.Generator:
    """Return a generator in the state that words say.

    Parameters
    ----------
    origin
        A generator of the same kind, whose class and seed sequence it gets.
    words
        The state.
    """
    kind = KINDS[int(words[0])]
    given = [int(w) for w in words[1:]] if kind != "MT19937" else []
    state: dict[str, Any] = {"bit_generator": kind}
    if kind == "MT19937":
        key = np.ascontiguousarray(words[1:-1]).view("uint32")
        state["state"] = {"key": key, "pos": int(words[-1])}
    elif kind == "SFC64":
        state["state"] = {"state": np.array(given[:4], "uint64")}
    elif kind == "Philox":
        state["state"] = {"counter": np.array(given[:4], "uint64"), "key": np.array(given[4:6], "uint64")}
        state |= {"buffer": np.array(given[6:10], "uint64"), "buffer_pos": given[10]}
    else:
        state["state"] = {"state": given[0] | given[1] << 64, "inc": given[2] | given[3] << 64}
    if kind != "MT19937":
        state |= {"has_uint32": given[-1] & 1, "uinteger": given[-1] >> 32}
    old: Any = origin.bit_generator
    new: Any = type(old)(_BLANK)
    new.__setstate__((state, old.seed_seq))
    return like(origin, new)
