"""Parts of tensors that are set, or added to, in the tensors themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch

from treadle.link.torch.parts import Entry, Part, Picker, sliced
from treadle.link.torch.programs.storage import is_native
from treadle.link.torch.table import Change, InPlace
from treadle.tensor import At, Positions, Span, Symbolic


def in_place(entries: Sequence[Entry], set_: bool, dtype: str, place: int) -> InPlace | None:
    """Return how the part that an index picks is set, or added to; None where sums are taken in another dtype.

    `place` is where the dimensions of tensors of positions stand in the part.
    """
    if not is_native(dtype):
        return None
    if not any(isinstance(e, Positions) for e in entries):
        return _of_view(entries, "copy_" if set_ else "logical_or_" if dtype == "bool" else "add_")
    if set_:
        return _set_at(entries, place)
    return None if dtype in {"bool", "float16"} else _add_at(entries, place)


def _of_view(entries: Sequence[Entry], method: str) -> InPlace:
    """Return it for a part that is a view: of single positions, and of slices."""
    view = _viewer(entries)

    def change(x: torch.Tensor, y: torch.Tensor, *bounds: int) -> Change:
        picked, backwards = view(x, iter(bounds))
        if y.shape != picked.shape:
            y = y.expand(picked.shape)
        return partial(getattr(picked, method), y.flip(backwards) if backwards else y)

    return InPlace(change)


def _viewer(entries: Sequence[Entry]) -> Callable[[torch.Tensor, Iterator[int]], tuple[torch.Tensor, list[int]]]:
    """Return a function of a tensor and symbolic bounds: the view, and which of its dimensions are to be reversed."""
    steps: list[tuple[int, Entry]] = []
    dim = 0
    for entry in entries:
        if not isinstance(entry, Span):
            steps.append((dim, entry))
            continue
        if (entry.start, entry.stop, entry.step) != (None, None, None):
            steps.append((dim, entry))
        dim += 1

    def view(x: torch.Tensor, given: Iterator[int]) -> tuple[torch.Tensor, list[int]]:
        backwards: list[int] = []
        for at, entry in steps:
            if isinstance(entry, At):
                # Raises IndexError where it is out of bounds.
                x = x.select(at, next(given) if isinstance(entry.value, Symbolic) else entry.value)
            elif isinstance(entry, Span):
                bounds = [next(given) if isinstance(b, Symbolic) else b for b in (entry.start, entry.stop, entry.step)]
                x, is_reversed = sliced(x, at, x.shape[at], bounds)
                if is_reversed:
                    backwards.append(at)
        return x, backwards

    return view


def _picked(x: torch.Tensor, entries: Sequence[Entry], place: int, given: Sequence[torch.Tensor | int]) -> Part:
    """Return the part that tensors of positions pick, counted from the front.

    Raises
    ------
    IndexError
        If one is out of bounds: PyTorch finds that out when it has written at others.
    """
    picker = Picker(x, given)
    for entry in entries:
        picker.take(entry)
    positions = [torch.as_tensor(p, dtype=torch.int64, device=x.device) for p in picker.positions]
    # Where nothing is picked, NumPy checks single positions only.
    nothing = any(p.numel() == 0 for p in positions)
    checked = [p if nothing and p.dim() else _in_bounds(p, n) for p, n in zip(positions, picker.lengths, strict=True)]
    return picker.part(checked, place, None)


def _in_bounds(positions: torch.Tensor, n: int) -> torch.Tensor:
    low, high = map(int, positions.aminmax())
    if low < -n or high >= n:
        msg = "a position is out of bounds"
        raise IndexError(msg)
    return torch.where(positions < 0, positions + n, positions) if low < 0 else positions


def _set_at(entries: Sequence[Entry], place: int) -> InPlace:
    """Return it for values that are set at positions."""

    def change(x: torch.Tensor, y: torch.Tensor, *given: torch.Tensor | int) -> Change:
        picked = _picked(x, entries, place, given)
        return partial(picked.view.index_put_, tuple(picked.positions), picked.laid_out(y))

    def restoring(x: torch.Tensor, y: torch.Tensor, *given: torch.Tensor | int) -> Change:
        del y
        picked = _picked(x, entries, place, given)
        positions = tuple(picked.positions)
        return partial(picked.view.index_put_, positions, picked.view[positions])

    return InPlace(change, restoring)


def _add_at(entries: Sequence[Entry], place: int) -> InPlace:
    """Return it for values that are added at positions, at repeated ones again and again.

    PyTorch adds at positions along one dimension in their order, so all that are indexed become one.
    """

    def flat(x: torch.Tensor, given: Sequence[torch.Tensor | int]) -> tuple[Part, torch.Tensor, torch.Tensor]:
        picked = _picked(x, entries, place, given)
        count = len(picked.positions)
        indexed, lengths = picked.view.shape[:count], picked.view.shape[count:]
        at = picked.positions[0]
        for more, n in zip(picked.positions[1:], indexed[1:], strict=True):
            at = at * n + more
        # Raises RuntimeError where the dimensions do not follow each other in memory.
        return picked, picked.view.view([math.prod(indexed), *lengths]), at.reshape(-1)

    def change(x: torch.Tensor, y: torch.Tensor, *given: torch.Tensor | int) -> Change:
        picked, target, at = flat(x, given)
        values = picked.laid_out(y).reshape([len(at), *target.shape[1:]])
        return partial(target.index_add_, 0, at, values)

    def restoring(x: torch.Tensor, y: torch.Tensor, *given: torch.Tensor | int) -> Change:
        del y
        _, target, at = flat(x, given)
        return partial(target.index_copy_, 0, at, target[at])

    return InPlace(change, restoring)
