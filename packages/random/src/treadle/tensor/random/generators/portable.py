"""PortableGenerator: a counter-based generator whose numbers are the same on every backend."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import new_lock, text_of
from treadle.tensor.arguments.signatures import cores_of
from treadle.tensor.arguments.values import as_integer
from treadle.tensor.errors import ArgumentError, TensorTypeError
from treadle.tensor.random.generators.philox import FOLD_IN, SPAWN, State, blocks
from treadle.tensor.random.generators.samplers import PORTABLE_SAMPLERS
from treadle.tensor.random.methods.array_methods import ArrayMethods

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PortableGenerator"]

_WORD = 2**64
# How many blocks a jump passes over.
_JUMP = 2**48


class PortableGenerator(ArrayMethods):
    """A generator of random numbers that are the same on the Python VM, C, Numba, JAX and PyTorch.

    It has the methods of ``numpy.random.Generator``. Its numbers come from Philox 4x32-10 (see
    `treadle.tensor.random.generators.philox`): each is a function of key, stream and position alone, so that any
    lane, thread or
    device can make it. Integers are the same to the bit, floats up to the last digits of log, sin and cos.

    Parameters
    ----------
    seed
        An integer of 0 or more, a sequence of such, a ``numpy.random.SeedSequence``, None for fresh entropy, or another
        generator of this kind, whose state is copied.

    Raises
    ------
    ArgumentError, TensorTypeError
        If the seed is negative, or none of these.
    """

    __slots__ = ("_lock", "_state", "dtype")

    def __init__(self, seed: int | Sequence[int] | np.random.SeedSequence | PortableGenerator | None = None) -> None:
        if isinstance(seed, PortableGenerator):
            self._start(seed._state)
            return
        low, high, stream = (int(word) for word in _sequence_of(seed).generate_state(3, np.uint32))
        self._start(State(low | high << 32, stream, 0))

    def _start(self, state: State) -> None:
        self._state = state
        self._lock = new_lock()
        # Of the floats that methods draw unless they are told.
        self.dtype = "float64"

    @classmethod
    def from_state(cls, state: np.ndarray) -> PortableGenerator:
        """Return a generator with key, stream and position as `state` gives them."""
        key, stream, position = (int(word) % _WORD for word in state)
        new = cls.__new__(cls)
        new._start(State(key, stream & 0xFFFFFFFF, position))
        return new

    @property
    def state(self) -> np.ndarray:
        """Key, stream and position, an array of three int64."""
        return np.array(self._state, "uint64").view("int64")

    @state.setter
    def state(self, value: np.ndarray) -> None:
        words = np.asarray(value)
        if words.shape != (3,) or words.dtype.kind not in "iu" or not 0 <= int(words[1]) < 2**32:
            msg = (
                "PortableGenerator: a state is an array of three integers, key, stream (0 to 2**32 - 1) and position, "
                f"got {text_of(value)}. Take it from another generator's state."
            )
            raise ArgumentError(msg)
        with self._lock:
            self._state = PortableGenerator.from_state(words)._state

    def advance(self, delta: int) -> PortableGenerator:
        """Move on by a number of blocks (back if negative), of two float64 numbers each, and return the generator."""
        blocks_passed = as_integer("advance: delta", delta)
        with self._lock:
            self._state = self._state._replace(position=(self._state.position + blocks_passed) % _WORD)
        return self

    def jumped(self, jumps: int = 1) -> PortableGenerator:
        """Return a generator that is 2**48 blocks ahead for each jump; this one stays as it is."""
        return PortableGenerator(self).advance(as_integer("jumped: jumps", jumps, 0) * _JUMP)

    def spawn(self, n_children: int) -> list[PortableGenerator]:
        """Return n generators of streams that are apart from this one and from each other, and move on."""
        count = as_integer("spawn: n_children", n_children, 0)
        with self._lock:
            state = self._state
            self._state = state._replace(position=(state.position + count) % _WORD)
        return [self._child(state, k, SPAWN) for k in range(count)]

    def fold_in(self, data: int) -> PortableGenerator:
        """Return the generator of the stream that belongs to this one's and an integer (modulo 2**64).

        It depends on key and stream, not on the position. This one stays as it is.
        """
        return self._child(self._state._replace(position=0), as_integer("fold_in: data", data) % _WORD, FOLD_IN)

    @staticmethod
    def _child(state: State, k: int, use: int) -> PortableGenerator:
        w0, w1, w2, _ = (int(w[0]) for w in blocks(state, np.array([k], "uint64"), use))
        new = PortableGenerator.__new__(PortableGenerator)
        new._start(State(w0 | w1 << 32, w2, 0))
        return new

    def draw(self, sampler: str, shape: Sequence[int], dtype: str, *parameters: np.ndarray) -> np.ndarray:
        """Return an array of draws (see `treadle.tensor.random.generators.samplers.PORTABLE_SAMPLERS`), and move on."""
        entry = PORTABLE_SAMPLERS[sampler]
        n = math.prod(shape)
        with self._lock:
            state = self._state
            used = -(-n // entry.per_block.get(dtype, 1))
            self._state = state._replace(position=(state.position + used) % _WORD)
        flat = []
        for p, core, kind in zip(parameters, cores_of(entry.signature)[0], entry.parameters, strict=True):
            own = np.shape(p)[np.ndim(p) - len(core) :]
            flat.append(np.broadcast_to(np.asarray(p, kind), (*shape, *own)).reshape(n, *own))
        draws = entry.reference(state, n, dtype, *flat)
        return draws.reshape((*shape, *draws.shape[1:]))[() if draws.ndim == 1 else ...]

    def __eq__(self, other: object) -> bool:
        """Whether both are in the same state."""
        return isinstance(other, PortableGenerator) and self._state == other._state

    __hash__ = None  # type: ignore[assignment]  # its state changes

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by state."""
        return PortableGenerator.from_state, (self.state,)

    def __repr__(self) -> str:
        key, stream, position = self._state
        return f"PortableGenerator(key={key:#x}, stream={stream:#x}, position={position})"


def _sequence_of(seed: object) -> np.random.SeedSequence:
    """Return the seed sequence of a seed."""
    if isinstance(seed, np.random.SeedSequence):
        return seed
    try:
        return np.random.SeedSequence(seed)  # type: ignore[arg-type]  # NumPy checks it
    except ValueError as error:
        msg = f"PortableGenerator: the integers of a seed must be 0 or more, got {text_of(seed)}. Drop the signs."
        raise ArgumentError(msg) from error
    except TypeError as error:
        msg = (
            "PortableGenerator: a seed is an integer, a sequence of integers, a SeedSequence, a PortableGenerator or "
            f"None, got {text_of(seed)}. Pass one of these."
        )
        raise TensorTypeError(msg) from error
