"""Indexing, setting and adding, by slices and by `take` along one axis.

The standard has neither writing at positions nor adding there: both are done by sorting the positions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from treadle.link.array_api.libraries import Library, library
from treadle.link.array_api.table import ARRAY_API, Array, Lowered
from treadle.tensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    At,
    Gather,
    IncSubtensor,
    Positions,
    Span,
    Subtensor,
    Symbolic,
    TensorNode,
    gather_plan,
)

Entry = At | Span | Positions


class _Slices:
    """The integers and slices of an index; where arrays of positions stand, full slices.

    Libraries take negative steps or not: slices are taken forwards, and dimensions reversed then.
    """

    def __init__(self, entries: Sequence[Entry], shape: Sequence[int], parts: Sequence[Array]) -> None:
        remaining = iter(parts)

        def given(bound: int | Symbolic | None) -> int | None:
            return int(next(remaining)) if isinstance(bound, Symbolic) else bound

        self.index: list[int | slice] = []
        self.reversed: list[int] = []
        rank = 0
        for entry, n in zip(entries, shape, strict=True):
            if isinstance(entry, At):
                at = given(entry.value)
                if at is None or not -n <= at < n:
                    msg = f"position {at} is out of bounds for a dimension of length {n}"
                    raise IndexError(msg)
                self.index.append(at % n)
                continue
            if isinstance(entry, Positions):
                if entry.length not in {None, n}:
                    msg = f"a mask of length {entry.length} is given for a dimension of length {n}"
                    raise IndexError(msg)
                self.index.append(slice(None))
            else:
                positions = range(n)[slice(*(given(b) for b in (entry.start, entry.stop, entry.step)))]
                if positions.step < 0:
                    positions = positions[::-1]
                    self.reversed.append(rank)
                # The standard leaves open what bounds beyond the dimension are.
                stop = positions[-1] + 1 if positions else 0
                step = positions.step if len(positions) > 1 else 1
                self.index.append(slice(positions.start if positions else 0, stop, step))
            rank += 1

    def read(self, xp: Any, x: Array) -> Array:
        """Return the part."""
        part = x[tuple(self.index)] if self.index else x
        return xp.flip(part, axis=tuple(self.reversed)) if self.reversed else part

    def write(self, xp: Any, x: Array, values: Array) -> None:
        """Replace the part by values of its shape."""
        x[tuple(self.index) or ...] = xp.flip(values, axis=tuple(self.reversed)) if self.reversed else values


def _split(entries: Sequence[Entry], parts: Sequence[Array]) -> tuple[list[Array], list[Array]]:
    """Return the index inputs that are single numbers, and the arrays of positions."""
    remaining = iter(parts)
    numbers: list[Array] = []
    positions: list[Array] = []
    for entry in entries:
        if isinstance(entry, Positions):
            positions.append(next(remaining))
            continue
        bounds = (entry.value,) if isinstance(entry, At) else (entry.start, entry.stop, entry.step)
        numbers += [next(remaining) for b in bounds if isinstance(b, Symbolic)]
    return numbers, positions


def _flat(lib: Library, positions: Sequence[Array], lengths: Sequence[int]) -> tuple[Array, tuple[int, ...]]:
    """Return positions in dimensions as ones in these dimensions joined, as a vector, and their shape before."""
    xp = lib.xp
    signed = [lib.astype(p, "int64") for p in positions]
    arrays = xp.broadcast_arrays(*signed)
    shape = tuple(arrays[0].shape)
    nothing = 0 in shape
    flat = lib.full(shape, 0, "int64")
    for given, small, p, n in zip(positions, signed, arrays, lengths, strict=True):
        # What is negative without a sign did not fit into int64.
        least = 0 if xp.isdtype(given.dtype, "unsigned integer") else -n
        # Where nothing is picked, NumPy checks single positions only.
        if not (nothing and small.ndim) and bool(xp.any((small < least) | (small >= n))):
            msg = f"a position is out of bounds for a dimension of length {n}"
            raise IndexError(msg)
        flat = flat * n + xp.where(p < 0, p + n, p)
    return xp.reshape(flat, (-1,)), shape


def taken(lib: Library, x: Array, plan: Gather, positions: Sequence[Array]) -> Array:
    """Return what arrays of positions pick from an array whose slices are taken."""
    xp, k = lib.xp, len(positions)
    front = xp.permute_dims(x, plan.order)
    lengths, others = front.shape[:k], front.shape[k:]
    at, shape = _flat(lib, positions, lengths)
    rows = xp.take(xp.reshape(front, (math.prod(lengths), *others)), at, axis=0)
    whole = xp.reshape(rows, (*shape, *others))
    rank, place = len(shape), plan.place
    if not place or not rank:
        return whole
    return xp.permute_dims(whole, (*range(rank, rank + place), *range(rank), *range(rank + place, rank + len(others))))


def _read(lib: Library, x: Array, entries: Sequence[Entry], parts: Sequence[Array], ranks: Sequence[int]) -> Array:
    """Return the part of an array that an index picks."""
    numbers, positions = _split(entries, parts)
    view = _Slices(entries, x.shape, numbers).read(lib.xp, x)
    if not positions:
        return view
    kept = [e for e in entries if not isinstance(e, At)]
    return taken(lib, view, gather_plan(kept, ranks), positions)


def scattered(lib: Library, x: Array, at: Array, values: Array, add: bool) -> Array:
    """Return a vector with values written, or added, at positions of it.

    Positions are sorted. Of those written at one position, the last one counts; those to be added are summed up by
    doublings within the run of each position. Each element of the vector then looks for its run.
    """
    xp, n = lib.xp, x.shape[0]
    if at.shape[0] == 0 or n == 0:
        return x
    order = lib.astype(xp.argsort(at, stable=True), "int64")
    runs, values = xp.take(at, order), xp.take(values, order)
    if add:
        step, count = 1, runs.shape[0]
        while step < count:
            same = runs[step:] == runs[:-step]
            # Runs are in order: where no element has one of its run that far before it, none has one further away.
            if not bool(xp.any(same)):
                break
            sums = _sum(xp, values[step:], values[:-step])
            values = xp.concat([values[:step], xp.where(same, sums, values[step:])])
            step *= 2
    last = lib.astype(xp.searchsorted(runs, lib.arange(n), side="right"), "int64") - 1
    last = xp.where(last < 0, xp.zeros_like(last), last)
    hit, new = xp.take(runs, last) == lib.arange(n), xp.take(values, last)
    return xp.where(hit, _sum(xp, x, new) if add else new, x)


def _sum(xp: Any, a: Array, b: Array) -> Array:
    return xp.logical_or(a, b) if a.dtype == xp.bool else a + b


@ARRAY_API.register(Subtensor, AdvancedSubtensor)
def subtensor(op: Subtensor | AdvancedSubtensor, node: TensorNode) -> Lowered:
    """Lower to slices, and to `take` for arrays of positions."""
    lib, entries = library(), op.entries
    ranks = _ranks(entries, node, 1)
    return lambda x, *parts: _read(lib, x, entries, parts, ranks)


def _ranks(entries: Sequence[Entry], node: TensorNode, first: int) -> list[int]:
    return [v.type.ndim for v in _split(entries, node.inputs[first:])[1]]


@ARRAY_API.register(IncSubtensor, AdvancedIncSubtensor)
def inc_subtensor(op: IncSubtensor | AdvancedIncSubtensor, node: TensorNode) -> Lowered:
    """Lower to writing into a copy by slices where arrays can be written into, else to writing at positions."""
    lib, entries, add = library(), op.entries, not op.set
    xp, dtype = lib.xp, node.outputs[0].type.dtype
    ranks = _ranks(entries, node, 2)
    in_place = not ranks and is_writable(lib)
    # float16 is added up in float32.
    wide = "float32" if dtype == "float16" and add else dtype

    def by_slices(x: Array, y: Array, *numbers: Array) -> Array:
        result, slices = lib.owned(x), _Slices(entries, x.shape, numbers)
        part = slices.read(xp, x)
        slices.write(xp, result, xp.broadcast_to(_sum(xp, part, y) if add else y, part.shape))
        return result

    def by_positions(x: Array, y: Array, *parts: Array) -> Array:
        places = xp.reshape(lib.arange(math.prod(x.shape)), x.shape)
        at = _read(lib, places, entries, parts, ranks)
        values = xp.reshape(xp.broadcast_to(lib.astype(y, wide), at.shape), (-1,))
        flat = xp.reshape(lib.astype(x, wide), (-1,))
        return lib.astype(xp.reshape(scattered(lib, flat, xp.reshape(at, (-1,)), values, add), x.shape), dtype)

    return by_slices if in_place else by_positions


def is_writable(lib: Library) -> bool:
    """Whether arrays of a library can be written into: those of JAX cannot, against the standard."""
    example = lib.full((1,), 0, "int64")
    try:
        example[0] = 1
    except TypeError:
        return False
    return True
