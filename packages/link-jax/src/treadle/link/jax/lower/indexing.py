"""Indexing on JAX. Out-of-bounds positions are clamped by JAX itself, so they are checked here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from treadle.link.jax.scalars import add
from treadle.link.jax.table import JAX, Assumed, Checked, TakesAssumed
from treadle.tensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    IndexingError,
    Positions,
    Span,
    Subtensor,
    Symbolic,
    symbolic_count,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from treadle.graph import Apply


@dataclass(slots=True)
class Window:
    """The part of an array that slices and positions pick: a block, of which every so manyth element is taken.

    Attributes
    ----------
    starts
        First position in each dimension: an int, or a JAX scalar for a symbolic position.
    counts
        How many elements are taken in each dimension.
    steps
        Distance between them, 1 or more.
    reversed
        Dimensions taken backwards.
    dropped
        Dimensions that the part does not have.
    failures
        Flags of positions out of bounds.
    assumptions
        What is assumed about slices: pairs of a number and what it is.
    """

    starts: list[Any]
    counts: list[int]
    steps: list[int]
    reversed: list[int]
    dropped: list[int]
    failures: list[Any]
    assumptions: list[tuple[Any, Any]]

    @property
    def sizes(self) -> list[int]:
        """Lengths of the block."""
        return [(n - 1) * step + 1 if n else 0 for n, step in zip(self.counts, self.steps, strict=True)]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the part."""
        return tuple(n for d, n in enumerate(self.counts) if d not in self.dropped)

    def _origin(self) -> list[Any]:
        return [jnp.asarray(s, "int64") for s in self.starts]

    def _block(self, x: Any) -> Any:
        if all(isinstance(s, int) for s in self.starts):
            ends = [s + n for s, n in zip(self.starts, self.sizes, strict=True)]
            return lax.slice(x, self.starts, ends)
        return lax.dynamic_slice(x, self._origin(), self.sizes)

    def read(self, x: Any) -> Any:
        """Return the part."""
        block = self._block(x)
        taken = lax.slice(block, [0] * block.ndim, block.shape, self.steps)
        return lax.squeeze(lax.rev(taken, self.reversed), self.dropped)

    def write(self, x: Any, values: Any, replace: bool) -> Any:
        """Return the array with the part replaced by values, or with values added to it."""
        y = jnp.broadcast_to(values, self.shape)
        if not math.prod(self.counts):
            return x
        y = lax.rev(lax.expand_dims(y, self.dropped), self.reversed)
        if any(step > 1 for step in self.steps):
            spread = [(0, 0, step - 1) for step in self.steps]
            block = self._block(x)
            hit = lax.pad(jnp.ones(y.shape, bool), np.array(False), spread)
            y = lax.pad(y, jnp.zeros((), y.dtype), spread)
            y = jnp.where(hit, y if replace else add(block, y), block)
        elif not replace:
            y = add(self._block(x), y)
        return lax.dynamic_update_slice(x, y, self._origin())

    def checked(self, value: Any) -> Any:
        """Return a value with the flag of the positions, and what is assumed about the slices."""
        if not self.failures and not self.assumptions:
            return value
        return Checked(value, jnp.stack(self.failures).any() if self.failures else None, tuple(self.assumptions))

    def take_slice(self, entry: Span, n: int, given: Iterator[Any]) -> None:
        """Take a slice of the next dimension, n long; one whose bounds may change in length and step only."""
        bounds = [next(given) if isinstance(b, Symbolic) else b for b in (entry.start, entry.stop, entry.step)]
        fixed = slice(*(_assumed(b) for b in bounds))
        start, stop, step = fixed.indices(n)
        count = len(range(start, stop, step))
        # A step beyond any length takes one element at most, as this one does.
        step = max(-_LONGEST, min(step, _LONGEST))
        first: Any = start + (count - 1) * step if step < 0 else start
        if any(isinstance(b, Assumed) for b in bounds):
            if isinstance(bounds[2], Assumed):
                self.assumptions.append((np.asarray(fixed.step), bounds[2].actual))
            first, length = _slice(bounds[0], bounds[1], step, n)
            self.assumptions.append((np.asarray(count), length))
        if step < 0:
            self.reversed.append(len(self.starts))
        self.starts.append(first if count else 0)
        self.counts.append(count)
        self.steps.append(abs(step))


# No array is so long, and its double fits into int64.
_LONGEST = 2**62


def _assumed(bound: Any) -> Any:
    """Return a bound as it was when the code was compiled."""
    if bound is None or isinstance(bound, int):
        return bound
    return int(bound.value if isinstance(bound, Assumed) else bound)


def _slice(start: Any, stop: Any, step: int, n: int) -> tuple[Any, Any]:
    """Return the first position in memory, and the length, of a slice with bounds of the call at hand."""
    low, high = (0, n) if step > 0 else (-1, n - 1)

    def clipped(bound: Any, default: int) -> Any:
        if bound is None:
            return default
        if isinstance(bound, Assumed):
            at = bound.actual
            if at.dtype == "uint64":
                at = jnp.minimum(at, np.uint64(np.iinfo("int64").max))
            bound = lax.convert_element_type(at, "int64")
        return jnp.clip(jnp.where(bound < 0, bound + n, bound), low, high)

    first, last = (low, high) if step > 0 else (high, low)
    begin, end = clipped(start, first), clipped(stop, last)
    span = end - begin if step > 0 else begin - end
    count = jnp.maximum((span - 1) // abs(step) + 1, 0)
    return (begin if step > 0 else begin + (count - 1) * step), count


def _window(entries: Sequence[Any], shape: Sequence[int], parts: Sequence[Any]) -> Window:
    """Return the part that an index picks from an array of this shape; dimensions that arrays index stay whole."""
    given = iter(parts)
    window = Window([], [], [], [], [], [], [])
    for d, (entry, n) in enumerate(zip(entries, shape, strict=True)):
        if isinstance(entry, Span):
            window.take_slice(entry, n, given)
        elif isinstance(entry, Positions):
            next(given)
            window.take_slice(Span(), n, given)
        else:
            value = next(given) if isinstance(entry.value, Symbolic) else entry.value
            window.starts.append(_position(value, n, window.failures))
            window.counts.append(1)
            window.steps.append(1)
            window.dropped.append(d)
    return window


def _position(value: Any, n: int, failures: list[Any]) -> Any:
    """Return a position counted from the start; one known to be out of bounds is an error, others are flagged."""
    if isinstance(value, int):
        if not -n <= value < n:
            msg = _out_of_bounds(n)
            raise IndexingError(msg)
        return value % n
    if n == 0:
        msg = _out_of_bounds(n)
        raise IndexingError(msg)
    position = lax.convert_element_type(value, "int64")
    least = 0 if np.dtype(value.dtype).kind == "u" else -n
    failures.append((position < least) | (position >= n))
    return jnp.where(position < 0, position + n, position)


def _out_of_bounds(n: int) -> str:
    return f"a position is out of bounds for a dimension of length {n}"


@JAX.register(Subtensor)
def subtensor(op: Subtensor, node: Apply) -> TakesAssumed:
    """Lower to a slice, dynamic where positions or bounds are symbolic."""
    del node

    def run(x: Any, *parts: Any) -> Any:
        window = _window(op.entries, x.shape, parts)
        return window.checked(window.read(x))

    return TakesAssumed(run)


@JAX.register(IncSubtensor)
def inc_subtensor(op: IncSubtensor, node: Apply) -> TakesAssumed:
    """Lower to a slice updated in a new array."""
    del node

    def run(x: Any, y: Any, *parts: Any) -> Any:
        window = _window(op.entries, x.shape, parts)
        return window.checked(window.write(x, y, op.set))

    return TakesAssumed(run)


def _gather_index(entries: Sequence[Any], shape: Sequence[int], parts: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
    """Return the index for JAX into what the slices pick, and a flag of positions out of bounds (None if none can be).

    Entries and inputs are those of the whole index, the shape is that of the array.
    """
    given = iter(parts)
    index: list[Any] = []
    arrays: list[tuple[Any, int]] = []
    for entry, n in zip(entries, shape, strict=True):
        if isinstance(entry, Span):
            for _ in range(symbolic_count([entry])):
                next(given)
            index.append(slice(None))
            continue
        if entry.length not in {None, n}:
            msg = f"a mask of length {entry.length} is given for a dimension of length {n}"
            raise IndexingError(msg)
        positions = lax.convert_element_type(next(given), "int64")
        index.append(positions)
        arrays.append((positions, n))
    if not math.prod(np.broadcast_shapes(*(a.shape for a, _ in arrays))):
        # Nothing is taken; NumPy checks single positions all the same.
        arrays = [(a, n) for a, n in arrays if a.ndim == 0]
    if not arrays:
        return tuple(index), None
    if any(n == 0 for _, n in arrays):
        msg = _out_of_bounds(0)
        raise IndexingError(msg)
    failed = jnp.stack([jnp.any((a < -n) | (a >= n)) for a, n in arrays]).any()
    return tuple(index), failed


def _whole(entries: Sequence[Any]) -> bool:
    return all(not isinstance(e, Span) or e.is_full for e in entries)


@JAX.register(AdvancedSubtensor)
def advanced_subtensor(op: AdvancedSubtensor, node: Apply) -> TakesAssumed:
    """Lower to a gather from what the slices pick."""
    del node
    entries = op.entries
    whole = _whole(entries)

    def run(x: Any, *parts: Any) -> Any:
        index, failed = _gather_index(entries, x.shape, parts)
        window = _window(entries, x.shape, parts)
        if failed is not None:
            window.failures.append(failed)
        part = x if whole else window.read(x)
        return window.checked(part.at[index].get(mode="clip"))

    return TakesAssumed(run)


@JAX.register(AdvancedIncSubtensor)
def advanced_inc_subtensor(op: AdvancedIncSubtensor, node: Apply) -> TakesAssumed:
    """Lower to a scatter into what the slices pick; each repeated position adds again, to bool as "or"."""
    del node
    entries = op.entries
    whole = _whole(entries)

    def run(x: Any, y: Any, *parts: Any) -> Any:
        index, failed = _gather_index(entries, x.shape, parts)
        window = _window(entries, x.shape, parts)
        if failed is not None:
            window.failures.append(failed)
        part = x if whole else window.read(x)
        place = part.at[index]
        if op.set:
            part = place.set(y, mode="drop")
        else:
            part = place.max(y, mode="drop") if x.dtype == bool else place.add(y, mode="drop")
        return window.checked(part if whole else window.write(x, part, replace=True))

    return TakesAssumed(run)
