"""The parts of tensors that indices pick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from treadle.config import dataclass
from treadle.link.torch.table import Flag
from treadle.tensor import At, Positions, Span, Symbolic

Entry = At | Span | Positions


def _limited(bound: int, n: int, low: int, high: int) -> int:
    """Return a bound of a slice counted from the front and kept between two limits, as Python does."""
    if bound < 0:
        bound = bound + n
    return max(low, min(bound, high))


def span(n: int, start: int | None, stop: int | None, step: int | None) -> tuple[int, int, int]:
    """Return first position, count and step of a slice of a dimension of length n; all may be symbolic integers."""
    stride = 1 if step is None else step
    if stride == 0:
        msg = "the step of a slice must not be 0"
        raise ValueError(msg)
    if stride > 0:
        first = 0 if start is None else _limited(start, n, 0, n)
        last = n if stop is None else _limited(stop, n, 0, n)
        count = (last - first + stride - 1) // stride if last > first else 0
    else:
        first = n - 1 if start is None else _limited(start, n, -1, n - 1)
        last = -1 if stop is None else _limited(stop, n, -1, n - 1)
        count = (first - last - stride - 1) // -stride if first > last else 0
    return first, count, stride


# No tensor in memory is so long.
_LONGEST = 2**48


def sliced(x: torch.Tensor, dim: int, n: int, bounds: Sequence[int | None]) -> tuple[torch.Tensor, bool]:
    """Return the view that a slice picks, and whether it is still to be reversed: PyTorch has no negative strides."""
    first, count, step = span(n, *bounds)
    if count == 0:
        return x.narrow(dim, 0, 0), False
    low, stride = (first, step) if step > 0 else (first + (count - 1) * step, -step)
    if stride > _LONGEST:
        # One element at most; the step times the dimension's stride may not fit into int64.
        stride = 1
    size = (count - 1) * stride + 1
    view = x.narrow(dim, low, size)
    if stride != 1:
        view = view[(*(slice(None) for _ in range(dim)), slice(None, None, stride))]
    return view, step < 0


def whole_backwards(entries: Sequence[Entry]) -> list[int]:
    """Return the dimensions that are taken backwards, where all is taken; none where only a part is."""
    is_whole = all(e in {Span(None, None, None), Span(None, None, -1)} for e in entries)
    return [d for d, e in enumerate(entries) if e == Span(None, None, -1)] if is_whole else []


def in_bounds(positions: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return positions counted from the front and forced into bounds, and whether one of them was out of bounds."""
    at = positions.to(torch.int64)
    if n == 0:
        msg = "a position in an empty dimension is out of bounds"
        raise IndexError(msg)
    at = torch.where(at < 0, at + n, at)
    return torch.clamp(at, min=0, max=n - 1), ((at < 0) | (at >= n)).any()


@dataclass(slots=True)
class Part:
    """The part of a tensor that an index picks."""

    # The tensor sliced, with the dimensions that tensors of positions index in front.
    view: torch.Tensor
    # The positions, all of one shape and of rank 1 at least: PyTorch reads a position of rank 0 off its tensor,
    # which compiled code cannot.
    positions: list[torch.Tensor]
    # Whether the positions were of rank 0.
    scalar: bool
    # Where the dimensions of the positions stand among the others in the result.
    place: int
    # Dimensions of the result to reverse, counted without those of the positions.
    reversed: list[int]
    # Whether a position was out of bounds; None where none is to be checked.
    bad: Flag

    def read(self) -> torch.Tensor:
        """Return the values of the part."""
        if not self.positions:
            return self.view.flip(self.reversed) if self.reversed else self.view
        result = self.view[tuple(self.positions)]
        rank = self.positions[0].dim()
        if self.reversed:
            result = result.flip([d + rank for d in self.reversed])
        if self.scalar:
            return result.squeeze(0)
        return result.movedim(list(range(rank)), list(range(self.place, self.place + rank)))

    def flat_positions(self) -> torch.Tensor:
        """Return the positions as those in one dimension, that of all that are indexed, in one vector."""
        flat = self.positions[0]
        for at, n in zip(self.positions[1:], self.view.shape[1:], strict=False):
            flat = flat * n + at
        return flat.reshape(-1)

    def with_last(self, values: torch.Tensor) -> torch.Tensor:
        """Return values, laid out, of which all for one position are the last one for it.

        PyTorch sets values in any order where it has several threads.
        """
        flat = self.flat_positions()
        rows = values.reshape([flat.shape[0], *self.view.shape[len(self.positions) :]])
        ordered, order = torch.sort(flat, stable=True)
        last = order[torch.searchsorted(ordered, flat, right=True) - 1]
        return rows[last].reshape(values.shape)

    def laid_out(self, values: torch.Tensor) -> torch.Tensor:
        """Return values, broadcast to the part's shape, with their dimensions in the order of the view's."""
        rank = self.positions[0].dim() if self.positions else 0
        lengths = list(self.view.shape[len(self.positions) :])
        middle = list(self.positions[0].shape) if self.positions and not self.scalar else []
        values = values.expand([*lengths[: self.place], *middle, *lengths[self.place :]])
        if self.scalar:
            values = values.unsqueeze(0)
        elif rank:
            values = values.movedim(list(range(self.place, self.place + rank)), list(range(rank)))
        return values.flip([d + rank for d in self.reversed]) if self.reversed else values


class Picker:
    """Applies the entries of an index one by one."""

    def __init__(self, x: torch.Tensor, parts: Sequence[torch.Tensor | int]) -> None:
        self.view = x
        self.parts: Iterator[torch.Tensor | int] = iter(parts)
        self.dim = 0
        self.dynamic: list[int] = []
        self.positions: list[torch.Tensor] = []
        self.reversed: list[int] = []

    def given(self, bound: int | Symbolic | None) -> int | None:
        """Return a bound, from the index inputs where it is symbolic."""
        return next(self.parts) if isinstance(bound, Symbolic) else bound

    def take(self, entry: Entry) -> None:
        """Apply one entry to the next dimension."""
        n = self.view.shape[self.dim]
        if isinstance(entry, Span):
            bounds = [self.given(b) for b in (entry.start, entry.stop, entry.step)]
            self.view, backwards = sliced(self.view, self.dim, n, bounds)
            if backwards:
                self.reversed.append(self.dim - len(self.dynamic))
            self.dim += 1
        elif isinstance(entry, At) and not isinstance(entry.value, Symbolic):
            if entry.value >= n or entry.value < -n:
                msg = "a position is out of bounds"
                raise IndexError(msg)
            self.view = self.view.select(self.dim, entry.value)
        else:
            if isinstance(entry, Positions) and entry.length is not None and n != entry.length:
                msg = "a mask is not as long as its dimension"
                raise IndexError(msg)
            self.positions.append(next(self.parts))
            self.dynamic.append(self.dim)
            self.dim += 1

    @property
    def lengths(self) -> list[int]:
        """The lengths of the dimensions that tensors of positions index."""
        return [self.view.shape[d] for d in self.dynamic]

    def part(self, positions: Sequence[torch.Tensor], place: int, bad: Flag) -> Part:
        """Return the part that positions pick, none of them out of bounds; `place` and `bad` are the part's."""
        others = [d for d in range(self.dim) if d not in self.dynamic]
        positions = list(torch.broadcast_tensors(*positions)) if positions else []
        scalar = bool(positions) and positions[0].dim() == 0
        if scalar:
            positions = [p.reshape(1) for p in positions]
        view = self.view.permute([*self.dynamic, *others]) if positions else self.view
        return Part(view, positions, scalar, place, self.reversed, bad)


def part(x: torch.Tensor, entries: Sequence[Entry], place: int, parts: Sequence[torch.Tensor | int]) -> Part:
    """Return the part of a tensor that an index picks."""
    picker = Picker(x, parts)
    for entry in entries:
        picker.take(entry)
    # Where nothing is picked, NumPy checks single positions only.
    nothing = any(p.numel() == 0 for p in picker.positions)
    bad: Flag = None
    checked = []
    for p, n in zip(picker.positions, picker.lengths, strict=True):
        if nothing and p.dim():
            checked.append(p.to(torch.int64))
            continue
        at, outside = in_bounds(p, n)
        bad = outside if bad is None else bad | outside
        checked.append(at)
    return picker.part(checked, place, bad)
