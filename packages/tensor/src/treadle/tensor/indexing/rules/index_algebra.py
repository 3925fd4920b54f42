"""Algebra of index entries with their bounds filled in: composed, compared, and brought to a canonical form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import dataclass
from treadle.graph import Constant, Variable
from treadle.tensor.elementwise.cast import CASTS
from treadle.tensor.indexing.expressions import SYMBOLIC, At, Positions, Span, Symbolic
from treadle.tensor.indexing.indexing import Subtensor
from treadle.tensor.lengths.numbers import is_natural, least, minus, plus, times
from treadle.tensor.shapes.shape import LENGTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.indexing.expressions import Bound, Entry
    from treadle.tensor.lengths.numbers import Number
    from treadle.tensor.variables.variable import TensorVariable


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One position; the dimension is dropped."""

    at: Number


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """A slice."""

    start: Number | None = None
    stop: Number | None = None
    step: Number | None = None

    @property
    def is_full(self) -> bool:
        """Whether everything is taken, in order, however long the dimension is."""
        return self.stop is None and _is(self.start, None, 0) and _is(self.step, None, 1)

    @property
    def is_known(self) -> bool:
        """Whether all bounds are known."""
        return not any(isinstance(b, Variable) for b in (self.start, self.stop, self.step))

    @property
    def stride(self) -> Number:
        """The step."""
        return 1 if self.step is None else self.step


@dataclass(frozen=True, slots=True, eq=False)
class Picks:
    """An array of positions; those of a mask with the length that the dimension must have."""

    positions: TensorVariable
    length: int | None = None


Item = Point | Stretch | Picks
FULL = Stretch()
LARGEST_BOUND = 2**31 - 1
NOTHING = Stretch(0, 0)


def _is(bound: Number | None, *values: int | None) -> bool:
    return not isinstance(bound, Variable) and bound in values


def unpacked(entries: Sequence[Entry], parts: Sequence[TensorVariable]) -> list[Item]:
    """Return entries with their symbolic parts filled in."""
    remaining = iter(parts)

    def take(bound: Bound) -> Any:
        if not isinstance(bound, Symbolic):
            return bound
        part = next(remaining)
        return int(part.data) if isinstance(part, Constant) else part

    items: list[Item] = []
    for entry in entries:
        if isinstance(entry, At):
            items.append(Point(take(entry.value)))
        elif isinstance(entry, Span):
            items.append(Stretch(take(entry.start), take(entry.stop), take(entry.step)))
        else:
            items.append(Picks(next(remaining), entry.length))
    return items


def packed(items: Sequence[Item]) -> tuple[tuple[Entry, ...], list[TensorVariable]]:
    """Return items as entries and symbolic parts."""
    parts: list[TensorVariable] = []

    def leave(bound: Number | None) -> Any:
        if isinstance(bound, Variable):
            parts.append(bound)
            return SYMBOLIC
        return bound

    entries: list[Entry] = []
    for item in items:
        if isinstance(item, Point):
            entries.append(At(leave(item.at)))
        elif isinstance(item, Stretch):
            entries.append(Span(leave(item.start), leave(item.stop), leave(item.step)))
        else:
            parts.append(item.positions)
            entries.append(Positions(item.length))
    return tuple(entries), parts


def taken(x: TensorVariable, items: Sequence[Item]) -> TensorVariable:
    """Return the part of a tensor that points and stretches pick; the tensor itself where that is all."""
    if all(isinstance(item, Stretch) and item.is_full for item in items):
        return x
    entries, parts = packed(items)
    part: TensorVariable = Subtensor(entries)(x, *parts)
    return part


def is_whole(item: Item, n: int | None) -> bool:
    """Whether an item takes a whole dimension, in order."""
    if not isinstance(item, Stretch):
        return False
    if item.is_full:
        return True
    return n is not None and item.is_known and range(n)[as_slice(item)] == range(n) and (n > 0 or item.stride == 1)


def static_length(item: Stretch, n: int | None) -> int | None:
    """Return the length of a slice of a dimension, None where it is unknown."""
    if item.is_full:
        return n
    return len(range(n)[as_slice(item)]) if n is not None and item.is_known else None


def as_slice(item: Stretch) -> slice:
    """Return a stretch whose bounds are known as Python's slice."""
    return slice(item.start, item.stop, item.step)


def same(a: Item, b: Item) -> bool:
    """Whether two items pick the same, in the same order, from any dimension."""
    if isinstance(a, Point) and isinstance(b, Point):
        return _equal(a.at, b.at)
    if isinstance(a, Stretch) and isinstance(b, Stretch):
        pairs = ((a.start, b.start), (a.stop, b.stop), (a.step, b.step))
        return all(_equal(x, y) for x, y in pairs) or (a.is_full and b.is_full)
    if isinstance(a, Picks) and isinstance(b, Picks) and a.length == b.length:
        return a.positions is b.positions or (isinstance(a.positions, Constant) and a.positions.equals(b.positions))
    return False


def _equal(a: Number | None, b: Number | None) -> bool:
    return a is b or (not isinstance(a, Variable) and not isinstance(b, Variable) and a == b)


def all_same(first: Sequence[Item], second: Sequence[Item]) -> bool:
    """Whether two indices are the same."""
    return len(first) == len(second) and all(map(same, first, second))


def has_unchecked_mask(items: Sequence[Item]) -> bool:
    """Whether a mask is left whose length is to be compared at run time: the index may fail, which must not be lost."""
    return any(isinstance(item, Picks) and item.length is not None for item in items)


def canonical(item: Item, n: int | None) -> Item:
    """Return an item in the form that all equal ones have: bounds that mean nothing are left out."""
    if isinstance(item, Point):
        at = item.at
        return Point(at + n) if isinstance(at, int) and n is not None and -n <= at < 0 else item
    if isinstance(item, Picks):
        return Picks(item.positions) if n is not None and item.length == n else item
    if not isinstance(item, Stretch) or _is(item.step, 0):
        return item
    if n is not None and item.is_known:
        return _of_range(range(n)[as_slice(item)], n)
    step = None if _is(item.step, 1) else item.step
    start = None if _is(item.start, 0) and isinstance(item.stride, int) and item.stride > 0 else item.start
    return item if step is item.step and start is item.start else Stretch(start, item.stop, step)


def _of_range(positions: range, n: int) -> Stretch:
    """Return the slice that takes positions out of n."""
    count = len(positions)
    if count == 0:
        return FULL if n == 0 else NOTHING
    first, step = positions[0], positions.step if count > 1 else 1
    if step > 0:
        stop = positions[-1] + 1
        return Stretch(first or None, None if stop + step > n and stop >= n else stop, None if step == 1 else step)
    last = positions[-1]
    return Stretch(None if first == n - 1 else first, None if last + step < 0 else last + step, step)


# One index after another


def followed(inner: Stretch, outer: Item, n: int | None) -> Item | None:
    """Return the one item that picks what `outer` picks of what `inner` picks of n elements (None: of any number).

    None where no single item does so for every number of elements, out of bounds just when the two are.
    """
    item = _followed(inner, outer, n)
    return item if item is None or _is_small(item) else None


def _is_small(item: Item) -> bool:
    """Whether the bounds of an item fit what backends count in: steps of steps grow without end."""
    bounds = (item.start, item.stop, item.step) if isinstance(item, Stretch) else (getattr(item, "at", None),)
    return all(not isinstance(b, int) or abs(b) <= LARGEST_BOUND for b in bounds)


def _followed(inner: Stretch, outer: Item, n: int | None) -> Item | None:
    if isinstance(outer, Picks):
        return outer if is_whole(inner, n) else None
    if is_whole(inner, n):
        return outer
    if isinstance(outer, Stretch) and outer.is_full:
        return inner
    if n is not None and inner.is_known and _is_known(outer):
        return _from_range(range(n)[as_slice(inner)], outer, n)
    if not isinstance(inner.stride, int) or inner.stride == 0:
        return None
    if inner.start is None and inner.stop is None and inner.stride == -1:
        return _of_reversed(outer)
    return _point_of(inner, outer.at) if isinstance(outer, Point) else _stretch_of(inner, outer)


def _is_known(item: Item) -> bool:
    return not isinstance(item.at, Variable) if isinstance(item, Point) else isinstance(item, Stretch) and item.is_known


def _from_range(positions: range, outer: Point | Stretch, n: int) -> Item | None:
    if isinstance(outer, Stretch):
        return None if outer.step == 0 else _of_range(positions[as_slice(outer)], n)
    at: Any = outer.at
    return Point(positions[at]) if -len(positions) <= at < len(positions) else None


def _of_reversed(outer: Point | Stretch) -> Item | None:
    """Return what an item picks of everything in reverse: position k is position -1 - k."""
    if any(_may_exceed_int64(b) for b in ([outer.at] if isinstance(outer, Point) else [outer.start, outer.stop])):
        return None
    if isinstance(outer, Point):
        return Point(minus(-1, _signed(outer.at)))
    if not isinstance(outer.stride, int):
        return None
    start, stop = (None if b is None else minus(-1, _signed(b)) for b in (outer.start, outer.stop))
    return Stretch(start, stop, None if outer.stride == -1 else -outer.stride)


def _may_exceed_int64(bound: Number | None) -> bool:
    return isinstance(bound, Variable) and getattr(bound.type, "dtype", "") == "uint64"


def _signed(bound: Number) -> Number:
    """Return a bound as int64: an unsigned one would wrap around below zero."""
    if isinstance(bound, int) or getattr(bound.type, "dtype", "") == LENGTH:
        return bound
    return CASTS[LENGTH](bound)


def _natural(bound: Number | None) -> bool:
    return bound is None or is_natural(bound)


def _negative(bound: Number | None) -> bool:
    return isinstance(bound, int) and bound < 0


def _point_of(inner: Stretch, at: Number) -> Item | None:
    """Return the position of an element of a slice."""
    start = 0 if inner.start is None else inner.start
    step = inner.stride
    if _natural(start) and isinstance(step, int) and step > 0 and is_natural(at):
        moved = plus(start, times(at, step))
        within = inner.stop is None or (isinstance(moved, int) and isinstance(inner.stop, int) and moved < inner.stop)
        return Point(moved) if within else None
    if step != 1 or not _negative(at) or not isinstance(at, int):
        return None
    if start == 0 and isinstance(inner.stop, int) and inner.stop < 0:
        return Point(inner.stop + at)
    if isinstance(start, int) and start < 0 and inner.stop is None and at >= start:
        return Point(at)
    return None


def _stretch_of(inner: Stretch, outer: Stretch) -> Stretch | None:
    """Return the slice that a slice of a slice is, where every dimension has the same one."""
    if not isinstance(outer.stride, int) or outer.stride < 0 or not isinstance(inner.stride, int) or inner.stride < 0:
        return None
    if _natural(inner.start) and _natural(inner.stop):
        return _of_naturals(inner, outer)
    if inner.stride != 1:
        return None
    if _is(inner.start, None, 0) and _negative(inner.stop):
        return _of_all_but_last(inner, outer)
    if _negative(inner.start) and inner.stop is None:
        return _of_last(inner, outer)
    return None


def _of_naturals(inner: Stretch, outer: Stretch) -> Stretch | None:
    """Return a slice of x[a:b:c], none of them negative."""
    a, c = 0 if inner.start is None else inner.start, inner.stride
    d, e = 0 if outer.start is None else outer.start, outer.stop
    if not _natural(d):
        return None
    if _negative(e):
        return Stretch(plus(a, d), e, outer.step) if inner.stop is None and c == 1 else None
    if not _natural(e):
        return None
    stop = inner.stop
    if e is not None:
        if isinstance(e, int) and isinstance(d, int) and e <= d:
            return NOTHING
        if c != 1 and not isinstance(e, int):
            return None
        last = plus(a, e) if c == 1 else plus(plus(a, times(minus(e, 1), c)), 1)
        stop = last if stop is None else least(stop, last)
    step = times(c, outer.stride)
    return Stretch(plus(a, times(d, c)), stop, None if step == 1 else step)


def _of_all_but_last(inner: Stretch, outer: Stretch) -> Stretch | None:
    """Return a slice of x[:b], b negative."""
    b: Any = inner.stop
    d, e = outer.start, outer.stop
    if not (_natural(d) or _negative(d)) or not (e is None or _negative(e)):
        return None
    start = plus(b, d) if d is not None and _negative(d) else d
    return Stretch(start, b if e is None else plus(b, e), outer.step)


def _of_last(inner: Stretch, outer: Stretch) -> Stretch | None:
    """Return a slice of x[a:], a negative."""
    a = inner.start
    d: Any = outer.start
    if not (d is None or _negative(d)) or not (outer.stop is None or _negative(outer.stop)):
        return None
    return Stretch(a if d is None else max(d, a), outer.stop, outer.step)


def increasing(positions: TensorVariable) -> range | None:
    """Return the range that a constant vector of positions is, if it is one."""
    if not isinstance(positions, Constant):
        return None
    data = positions.data
    if data.ndim != 1 or data.size == 0 or data.dtype.kind not in "iu":
        return None
    numbers = data.astype(np.int64)
    step = int(numbers[1] - numbers[0]) if data.size > 1 else 1
    if step == 0 or not np.array_equal(numbers, numbers[0] + step * np.arange(data.size)):
        return None
    return range(int(numbers[0]), int(numbers[0]) + step * data.size, step)
