"""Lanes of NumPy's arrays, and of variables: what the definition of a portable sampler is evaluated with.

With NumPy's arrays it is the reference; with variables it is a graph, for backends that have nothing of their own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor.elementwise.cast import cast
from treadle.tensor.random.generators.lanes import DrawLanes
from treadle.tensor.random.generators.philox import blocks, rounds
from treadle.tensor.random.methods.conditions import require
from treadle.tensor.shapes.shape import LENGTH
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.upward import upward

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor.random.generators.lanes import Array
    from treadle.tensor.random.generators.philox import State
    from treadle.tensor.variables.variable import TensorVariable

_HALF, _ONES, _ONE = np.uint64(32), np.uint64(2**32 - 1), np.uint64(1)


class WordLanes(DrawLanes):
    """Lanes whose words are uint64 of 32 bits; NumPy's functions take variables too."""

    xp: Any = np

    def unit(self, low: Array, high: Array) -> Array:
        """Return a number in [0, 1) for two halves of 64 bits."""
        return ((low | high << _HALF) >> np.uint64(11)).astype("float64") * 2.0**-53

    def as_float(self, word: Array) -> Array:
        """Return integers as float64."""
        return word.astype("float64")

    def as_integer(self, x: Array) -> Array:
        """Return float64 as int64."""
        return x.astype("int64")

    def integers(self, low: Array, high: Array) -> Array:
        """Return integers from low to high - 1, by uint64's arithmetic."""
        first = self.flat(low).astype("uint64")
        m = self.flat(high).astype("uint64") - first - _ONE
        narrow = m < np.uint64(2**31)
        width = np.where(narrow, m, np.uint64(0)) + _ONE
        excess = (np.uint64(2**64 - 1) % width + _ONE) % width
        mask = m
        for shift in (1, 2, 4, 8, 16, 32):
            mask = mask | mask >> np.uint64(shift)

        def attempt(words: Sequence[Array]) -> tuple[Array, Array]:
            w0, w1, _, _ = words
            a = w0 * width
            b = w1 * width + (a >> _HALF)
            masked = (w0 | w1 << _HALF) & mask
            rejected = np.where(narrow, ((b & _ONES) == 0) & ((a & _ONES) < excess), masked > m)
            return first + np.where(narrow, b >> _HALF, masked), rejected

        return self.attempts(attempt, draws=m).astype("int64")


class NumpyLanes(WordLanes):
    """A batch of n draws from a state on; parameters have n elements."""

    def __init__(self, state: State, n: int) -> None:
        self._state = state
        self._offsets = np.arange(n)

    def flat(self, x: Array) -> np.ndarray:
        """Return a value for each element."""
        return np.broadcast_to(x, self._offsets.shape)

    def blocks(self, attempt: Array) -> np.ndarray:
        """Return the numbers of each element's block."""
        return blocks(self._state, self._offsets, int(attempt))

    def number(self, value: float) -> np.ndarray:
        """Return a float64."""
        return np.asarray(value, "float64")

    def loop(
        self, proceeds: Callable[..., Array], body: Callable[..., tuple[Array, ...]], *start: Array
    ) -> Sequence[Array]:
        """Return the values after ``body(*values)`` while ``proceeds(*values)``."""
        values: Sequence[Array] = start
        while proceeds(*values):
            values = body(*values)
        return values


class SymbolicLanes(WordLanes):
    """A batch of draws of a graph.

    Parameters
    ----------
    state
        Key, stream and position, int64.
    shape
        The batch's lengths.
    """

    def __init__(self, state: TensorVariable, shape: Sequence[TensorVariable]) -> None:
        key, stream, position = (cast(state[k], "uint64") for k in range(3))
        self._shape = tuple(shape)
        count = math.prod(shape, start=constant(1, dtype=LENGTH))
        at = position + cast(upward.function("arange")(count), "uint64")
        self._counter = (at & _ONES, at >> _HALF, stream & _ONES)
        self._key = key & _ONES, key >> _HALF

    def flat(self, x: Array) -> TensorVariable:
        """Return a value for each element."""
        whole: TensorVariable = upward.function("broadcast_to")(as_tensor_variable(x), self._shape)
        return whole.reshape((-1,)) if whole.ndim != 1 else whole

    def blocks(self, attempt: Array) -> list[Any]:
        """Return the numbers of each element's block."""
        return rounds([*self._counter, cast(as_tensor_variable(attempt), "uint64")], self._key)

    def number(self, value: float) -> TensorVariable:
        """Return a float64."""
        return constant(value, dtype="float64")

    def loop(
        self, proceeds: Callable[..., Array], body: Callable[..., tuple[Array, ...]], *start: Array
    ) -> Sequence[Array]:
        """Return the values after ``body(*values)`` while ``proceeds(*values)``."""
        values: Sequence[Array] = upward.function("while_loop")(
            lambda carry: proceeds(*carry), lambda carry: body(*carry), tuple(map(as_tensor_variable, start))
        )
        return values


def drawn_by(definition: Callable[..., Array], state: State, n: int, dtype: str, *parameters: np.ndarray) -> np.ndarray:
    """Return n draws by the definition of a sampler, in NumPy."""
    if n == 0:
        return np.zeros(0, dtype)
    with np.errstate(all="ignore"):
        draws: np.ndarray = np.asarray(definition(NumpyLanes(state, n), *parameters)).astype(dtype)
    return draws


def drawn_in_graph(
    definition: Callable[..., Array],
    state: TensorVariable,
    lengths: Sequence[TensorVariable],
    dtype: str,
    parameters: Sequence[TensorVariable],
) -> TensorVariable:
    """Return an array of draws by the definition of a sampler, as a graph."""
    text = "negative dimensions are not allowed"
    shape = [require(n >= 0, n, text) for n in lengths]
    draws: TensorVariable = definition(SymbolicLanes(state, shape), *parameters)
    return cast(draws, dtype).reshape(tuple(shape))
