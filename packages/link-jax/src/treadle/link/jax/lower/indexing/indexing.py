"""Indexing on JAX. Out-of-bounds positions are clamped by JAX itself, so they are checked here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from treadle.config import dataclass
from treadle.graph import Constant, Variable
from treadle.link.jax.lower.elementwise.scalar.elementary import add
from treadle.link.jax.lower.shared import filled_with
from treadle.link.jax.open_lengths import as_length, as_traced, has_open, is_open
from treadle.link.jax.table import JAX, Array, Assumed, Checked, Limit, TakesAssumed
from treadle.tensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    ARange,
    At,
    DimShuffle,
    IncSubtensor,
    IndexingError,
    Positions,
    Span,
    Subtensor,
    Symbolic,
    TensorNode,
    symbolic_count,
    tensors,
)

# An input of an index: positions are JAX arrays, bounds are known.
Given: TypeAlias = jax.Array | np.ndarray | Assumed
Bound: TypeAlias = int | Given | None
Index: TypeAlias = tuple[slice | jax.Array, ...]


@dataclass(slots=True)
class Window:
    """The part of an array that slices and positions pick: a block, whose elements are taken at a distance."""

    # Shape of the array; for each dimension, the first position (a JAX scalar if it is symbolic), how many elements
    # are taken, and the distance between them, 1 or more.
    of: tuple[int, ...]
    starts: list[int | jax.Array] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    # Dimensions taken backwards, and those that the part does not have.
    reversed: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    # The bounds of positions, and what is assumed about slices: pairs of a number and what it is.
    limits: list[Limit] = field(default_factory=list)
    assumptions: list[tuple[Array, Array]] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether the part is the array itself."""
        keeps_shape = not self.reversed and not self.dropped and tuple(self.counts) == self.of
        return keeps_shape and all(isinstance(s, int) for s in self.starts)

    @property
    def sizes(self) -> list[int]:
        """Lengths of the block."""
        return [(n - 1) * step + 1 if n else 0 for n, step in zip(self.counts, self.steps, strict=True)]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the part."""
        return tuple(n for d, n in enumerate(self.counts) if d not in self.dropped)

    def _origin(self) -> list[jax.Array]:
        """Return the first position of the block.

        In 32 bits where lengths allow it: a block written at 64-bit positions that JAX then maps over a batch is a
        scatter, which it compiles in 64-bit mode only, and the caller of a `jax_function` may not be in that.
        """
        dtype = "int64" if max(self.of, default=0) > np.iinfo("int32").max else "int32"
        return [lax.convert_element_type(s, dtype) for s in self.starts]

    def _block(self, x: jax.Array) -> jax.Array:
        starts = [s for s in self.starts if isinstance(s, int)]
        if len(starts) == len(self.starts):
            return lax.slice(x, starts, [s + n for s, n in zip(starts, self.sizes, strict=True)])
        return lax.dynamic_slice(x, self._origin(), self.sizes)

    def read(self, x: jax.Array) -> jax.Array:
        """Return the part."""
        if self.is_whole:
            return x
        block = self._block(x)
        picked = lax.slice(block, [0] * block.ndim, block.shape, self.steps)
        return lax.squeeze(lax.rev(picked, self.reversed), self.dropped)

    def write(self, x: jax.Array, values: jax.Array, replace: bool, unless: jax.Array | None = None) -> jax.Array:
        """Return the array with the part replaced by values, or with values added to it; not where a flag is set."""
        y = jnp.broadcast_to(values, self.shape)
        if not math.prod(self.counts):
            return x
        y = lax.rev(lax.expand_dims(y, self.dropped), self.reversed)
        slices = self._slices()
        if slices is not None and max(self.steps) >= _FAR_APART:
            place = x.at[slices]
            y = y if replace else add(place.get(), y)
            y = y if unless is None else jnp.where(unless, place.get(), y)
            return place.set(y, indices_are_sorted=True, unique_indices=True)
        if any(step > 1 for step in self.steps):
            spread = [(0, 0, step - 1) for step in self.steps]
            block = self._block(x)
            hit = lax.pad(jnp.ones(y.shape, bool), np.array(False), spread)
            y = lax.pad(y, jnp.zeros((), y.dtype), spread)
            y = jnp.where(hit, y if replace else add(block, y), block)
        elif not replace:
            y = add(self._block(x), y)
        if unless is not None:
            y = jnp.where(unless, self._block(x), y)
        return lax.dynamic_update_slice(x, y, self._origin())

    def placed(self, values: jax.Array, fill: np.ndarray) -> jax.Array | None:
        """Return an array of one number with the part replaced by values; None where the part's place is not known."""
        slices = self._slices()
        if slices is None or not math.prod(self.counts):
            return None
        y = lax.rev(lax.expand_dims(jnp.broadcast_to(values, self.shape), self.dropped), self.reversed)
        around = [(s.start, n - s.stop, s.step - 1) for n, s in zip(self.of, slices, strict=True)]
        return lax.pad(y, fill.astype(y.dtype), around)

    def _slices(self) -> tuple[slice, ...] | None:
        """Return the block's elements as slices, None where it begins where only the call knows."""
        parts = zip(self.starts, self.sizes, self.steps, strict=True)
        slices = [slice(s, s + size, step) for s, size, step in parts if isinstance(s, int)]
        return tuple(slices) if len(slices) == len(self.starts) else None

    def checked(self, value: jax.Array) -> jax.Array | Checked[jax.Array]:
        """Return a value with the bounds of the positions, and what is assumed about the slices."""
        if not self.limits and not self.assumptions:
            return value
        return Checked(value, None, tuple(self.assumptions), tuple(self.limits))

    def take_slice(self, entry: Span, n: int, parts: Iterator[Given]) -> None:
        """Take a slice of the next dimension, n long; one whose bounds may change in length and step only."""
        begin, end, stride = (
            next(parts) if isinstance(b, Symbolic) else b for b in (entry.start, entry.stop, entry.step)
        )
        fixed = slice(_assumed(begin), _assumed(end), _assumed(stride))
        start, stop, step = fixed.indices(n)
        count = len(range(start, stop, step))
        # A step beyond any length takes one element at most, as this one does.
        step = max(-_LONGEST, min(step, _LONGEST))
        first: int | jax.Array = start + (count - 1) * step if step < 0 else start
        if any(isinstance(b, Assumed) for b in (begin, end, stride)):
            if isinstance(stride, Assumed):
                self.assumptions.append((np.asarray(fixed.step), stride.actual))
            first, length = _slice(begin, end, step, n)
            self.assumptions.append((np.asarray(count), length))
        if step < 0:
            self.reversed.append(len(self.starts))
        self.starts.append(first if count else 0)
        self.counts.append(count)
        self.steps.append(abs(step))


# Elements at such distances are written one by one; nearer ones with what is between them, all at once.
_FAR_APART = 8
# No array is so long, and its double fits into int64.
_LONGEST = 2**62


def _assumed(bound: Bound) -> int | None:
    """Return a bound as it was when the code was compiled."""
    if bound is None or isinstance(bound, int):
        return bound
    return int(bound.value if isinstance(bound, Assumed) else bound)


def _slice(start: Bound, stop: Bound, step: int, n: int) -> tuple[jax.Array, jax.Array]:
    """Return the first position in memory, and the length, of a slice with bounds of the call at hand."""
    low, high = (0, n) if step > 0 else (-1, n - 1)

    def clipped(bound: Bound, default: int) -> jax.Array:
        if bound is None:
            return jnp.asarray(default)
        at = jnp.asarray(bound.actual if isinstance(bound, Assumed) else bound)
        if at.dtype == "uint64":
            at = jnp.minimum(at, np.uint64(np.iinfo("int64").max))
        at = lax.convert_element_type(at, "int64")
        return jnp.clip(jnp.where(at < 0, at + n, at), low, high)

    first, last = (low, high) if step > 0 else (high, low)
    begin, end = clipped(start, first), clipped(stop, last)
    span = end - begin if step > 0 else begin - end
    count = jnp.maximum((span - 1) // abs(step) + 1, 0)
    return (begin if step > 0 else begin + (count - 1) * step), count


def _window(entries: Sequence[At | Span | Positions], shape: tuple[int, ...], parts: Sequence[Given]) -> Window:
    """Return the part that an index picks from an array of this shape; dimensions that arrays index stay whole."""
    remaining = iter(parts)
    window = Window(shape)
    for d, (entry, n) in enumerate(zip(entries, shape, strict=True)):
        if isinstance(entry, Span):
            window.take_slice(entry, n, remaining)
        elif isinstance(entry, Positions):
            next(remaining)
            window.take_slice(Span(), n, remaining)
        else:
            value = next(remaining) if isinstance(entry.value, Symbolic) else entry.value
            window.starts.append(_position(value, n, window.limits))
            window.counts.append(1)
            window.steps.append(1)
            window.dropped.append(d)
    return window


def _position(value: int | Given, n: int, limits: list[Limit]) -> int | jax.Array:
    """Return a position counted from the start; one known to be out of bounds is an error, others get limits."""
    value = int(value) if isinstance(value, np.ndarray) else value.actual if isinstance(value, Assumed) else value
    if n == 0 or (isinstance(value, int) and not -n <= value < n):
        raise _out_of_bounds(n)
    if isinstance(value, int):
        return value % n
    array = jnp.asarray(value)
    limits.append(Limit(array, -n, n))
    position = lax.convert_element_type(array, "int64")
    return jnp.where(position < 0, position + n, position)


def _out_of_bounds(n: int) -> IndexingError:
    return IndexingError(f"a position is out of bounds for a dimension of length {n}")


# So many numbers that follow from shapes become part of the code.
_MOST_KNOWN = 32


def _small(inputs: Sequence[Variable], first: int) -> tuple[int, ...]:
    """Return the places of positions that are few, from a place on; those that follow from shapes need no look then."""
    shapes: list[tuple[int | None, ...]] = [v.type.shape for v in tensors(inputs)]
    return tuple(
        at
        for at, shape in enumerate(shapes)
        if at >= first and math.prod(_MOST_KNOWN + 1 if n is None else n for n in shape) <= _MOST_KNOWN
    )


def _gather(
    window: Window,
    entries: Sequence[At | Span | Positions],
    parts: Sequence[Given],
    inputs: Sequence[Variable],
) -> Index | None:
    """Return the index of arrays of positions into what the slices pick, None without such; note their limits.

    Those that are known are looked at here, and later only where they are out of bounds. `inputs` are the node's.
    """
    if not any(isinstance(entry, Positions) for entry in entries):
        return None
    remaining = iter(zip(inputs, parts, strict=True))
    index: list[slice | jax.Array] = []
    arrays: list[tuple[jax.Array, int]] = []
    for entry, n in zip(entries, window.of, strict=True):
        if not isinstance(entry, Positions):
            for _ in range(symbolic_count([entry])):
                next(remaining)
            index.append(slice(None))
            continue
        if entry.length not in {None, n}:
            msg = f"a mask of length {entry.length} is given for a dimension of length {n}"
            raise IndexingError(msg)
        var, part = next(remaining)
        part = part.actual if isinstance(part, Assumed) else part
        positions = jnp.asarray(part, "int64")
        index.append(positions)
        if not _in_bounds(var, part, n):
            # Those of 64 bits wrap around, as on the VM.
            arrays.append((positions if part.dtype == "uint64" else jnp.asarray(part), n))
    if not math.prod(np.broadcast_shapes(*(a.shape for a in index if not isinstance(a, slice)))):
        # Nothing is taken; NumPy checks single positions all the same.
        arrays = [(a, n) for a, n in arrays if a.ndim == 0]
    if any(n == 0 for _, n in arrays):
        raise _out_of_bounds(0)
    window.limits.extend(Limit(a, -n, n) for a, n in arrays)
    return tuple(index)


def _in_bounds(var: Variable, part: Array, n: int) -> bool:
    """Whether positions are known, and those of a dimension of length n."""
    if _counts(var):
        return part.size <= n
    known = part if isinstance(part, np.ndarray) else var.data if isinstance(var, Constant) else None
    return known is not None and known.size > 0 and bool(known.min() >= -n and known.max() < n)


def _counts(var: Variable) -> bool:
    """Whether an array holds 0, 1, 2 … up to its length, along one dimension."""
    node = var.owner
    while node is not None and isinstance(node.op, DimShuffle):
        node = node.inputs[0].owner
    if node is None or not isinstance(node.op, ARange):
        return False
    start, _, step = (v.data if isinstance(v, Constant) else None for v in node.inputs)
    return start == 0 and step == 1


def _plain_index(entries: Sequence[At | Span | Positions], parts: Sequence[Given]) -> Index:
    """Return an index of an array with lengths that are open, which JAX knows how to slice."""
    remaining = iter(parts)

    def bound(part: int | Symbolic | None) -> int | None:
        value = next(remaining) if isinstance(part, Symbolic) else part
        return None if value is None else as_length(value)

    index: list[Any] = []
    for entry in entries:
        if isinstance(entry, Span):
            index.append(slice(*[bound(b) for b in (entry.start, entry.stop, entry.step)]))
        elif isinstance(entry, At) and not isinstance(entry.value, Symbolic):
            index.append(entry.value)
        else:
            index.append(as_traced(next(remaining)))
    return tuple(index)


def _written(x: jax.Array, index: Index, y: jax.Array, replace: bool) -> jax.Array:
    """Return an array with values written at an index; each repeated position adds again."""
    place = x.at[index]
    write = place.set if replace else place.max if x.dtype == bool else place.add
    return write(y, mode="drop")


@JAX.register(Subtensor, AdvancedSubtensor)
def subtensor(op: Subtensor | AdvancedSubtensor, node: TensorNode) -> TakesAssumed:
    """Lower to a slice, dynamic where positions or bounds are symbolic, and a gather for arrays of positions."""

    def run(x: jax.Array, *parts: Given) -> jax.Array | Checked[jax.Array]:
        if has_open(x.shape) or any(map(is_open, parts)):
            return x[_plain_index(op.entries, parts)]
        window = _window(op.entries, x.shape, parts)
        index = _gather(window, op.entries, parts, node.inputs[1:])
        part = window.read(x)
        return window.checked(part if index is None else part.at[index].get(mode="clip"))

    return TakesAssumed(run, where_known=_small(node.inputs, 1))


@JAX.register(IncSubtensor, AdvancedIncSubtensor)
def inc_subtensor(op: IncSubtensor | AdvancedIncSubtensor, node: TensorNode) -> TakesAssumed:
    """Lower to a slice updated in a new array, or a scatter into it; to bool is added by "or".

    A part of an array of one number is padded with that number, which XLA does in one pass.
    """
    fill = filled_with(node.inputs[0])

    def write(unless: jax.Array | None, x: jax.Array, y: jax.Array, *parts: Given) -> jax.Array | Checked[jax.Array]:
        if has_open(x.shape) or any(map(is_open, parts)):
            return _written(x, _plain_index(op.entries, parts), y, op.set)
        window = _window(op.entries, x.shape, parts)
        index = _gather(window, op.entries, parts, node.inputs[2:])
        if index is None:
            whole = None
            if fill is not None and op.set:
                whole = window.placed(y, fill)
            elif fill is None and not op.set and unless is None and 2 * math.prod(window.counts) >= x.size:
                # One pass, with what computes both. A negative zero changes nothing; of arrays that XLA knows to be
                # zeros it would make it, in place of a sum.
                padded = window.placed(y, -np.zeros((), x.dtype) if x.dtype != bool else np.zeros((), bool))
                whole = None if padded is None else add(x, padded)
            return window.checked(window.write(x, y, op.set, unless) if whole is None else whole)
        if unless is not None:
            # Nothing is written at positions beyond the end.
            index = tuple(
                at if isinstance(at, slice) else jnp.where(unless, n, at) for at, n in zip(index, x.shape, strict=True)
            )
        part = _written(window.read(x), index, y, op.set)
        return window.checked(part if window.is_whole else window.write(x, part, replace=True))

    return TakesAssumed(partial(write, None), where_known=_small(node.inputs, 2), keeping=write)
