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
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.random.bit_generator import BitGenerator, ISeedSequence

KINDS = ("PCG64", "PCG64DXSM", "SFC64", "Philox", "MT19937")
_LOW = 2**64 - 1


@cache
def _blank_seeds() -> ISeedSequence:
    """Return seeds of a generator whose state is set at once: real ones take several microseconds to make."""

    class Blank(np.random.bit_generator.ISeedSequence):
        def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray:
            return np.zeros(n_words, dtype)

    return Blank()


@cache
def _numpys_class(kind: Hashable) -> Any:
    """Return the class of NumPy's that a class of bit generators is or derives from, None if there is none.

    NumPy imports these classes when they are first asked for.
    """
    known = [getattr(np.random, name) for name in KINDS]
    bases: Sequence[type] = kind.__mro__  # type: ignore[attr-defined]  # of a class
    return next((base for base in bases if base in known), None)


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
    kind: Any = type(old)
    if _numpys_class(kind) is not None:
        new: Any = _blank(old)
        new.__setstate__(old.__getstate__() if seeds is None else (old.state, seeds))
    else:
        # One of others, by what its pickle holds.
        make, args, *state = old.__reduce__()
        new = make(*args)
        if state and state[0] is not None:
            new.__setstate__(state[0] if seeds is None else (state[0][0], seeds))
    return like(rng, new)


def _blank(old: BitGenerator) -> BitGenerator:
    """Return a bit generator of the same class, NumPy's or one derived from it, whose state is to be set."""
    kind: Any = type(old)
    base = _numpys_class(kind)
    if kind is base:
        return kind(_blank_seeds())  # type: ignore[no-any-return]  # of that class
    bit_generator: BitGenerator = kind.__new__(kind)
    base.__init__(bit_generator, _blank_seeds())
    vars(bit_generator).update(vars(old))
    return bit_generator


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
    kind: Any = type(held)
    base = _numpys_class(kind)
    if base is None:
        msg = (
            f"random: compiled code knows the states of NumPy's bit generators ({', '.join(KINDS)}), got "
            f"{kind.__name__}. Use one of these, or mode VM, which takes any."
        )
        raise ArgumentError(msg)
    at = KINDS.index(base.__name__)
    state = held.state
    inner = state["state"]
    if KINDS[at] == "MT19937":
        return np.concatenate(
            [np.array([at], "uint64"), inner["key"].view("uint64"), np.array([inner["pos"]], "uint64")]
        )
    buffered = state["has_uint32"] | state["uinteger"] << 32
    if KINDS[at] == "SFC64":
        words = [*inner["state"], buffered]
    elif KINDS[at] == "Philox":
        words = [*inner["counter"], *inner["key"], *state["buffer"], state["buffer_pos"], buffered]
    else:
        a, b = inner["state"], inner["inc"]
        words = [a & _LOW, a >> 64, b & _LOW, b >> 64, buffered]
    return np.array([at, *words], "uint64")


def with_words(origin: np.random.Generator, words: np.ndarray) -> np.random.Generator:
    """Return a generator in the state that words say.

    Parameters
    ----------
    origin
        A generator of the same kind, whose class and seed sequence it gets.
    words
        The state.
    """
    old = origin.bit_generator
    state: dict[str, Any] = {"bit_generator": type(old).__name__}
    kind, last = KINDS[int(words[0])], int(words[-1])
    if kind == "MT19937":
        state["state"] = {"key": np.ascontiguousarray(words[1:-1]).view("uint32"), "pos": last}
    else:
        state["has_uint32"], state["uinteger"] = last & 1, last >> 32
        if kind == "SFC64":
            state["state"] = {"state": words[1:5]}
        elif kind == "Philox":
            state["state"] = {"counter": words[1:5], "key": words[5:7]}
            state["buffer"], state["buffer_pos"] = words[7:11], int(words[11])
        else:
            _, low, high, step_low, step_high, _ = words.tolist()
            state["state"] = {"state": low | high << 64, "inc": step_low | step_high << 64}
    new: Any = _blank(old)
    new.__setstate__((state, old.seed_seq))
    return like(origin, new)
