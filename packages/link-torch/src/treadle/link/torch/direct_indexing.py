"""Reading, setting and adding to parts of tensors by PyTorch's own indexing, where values are there to be looked at.

Code that is traced to be compiled has no values: there positions are kept in bounds, and a flag tells whether they were
(see `treadle.link.torch.parts`). Here PyTorch finds that out itself, which takes a tenth of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from treadle.link.torch.parts import Entry, Part, Picker, sliced, whole_backwards
from treadle.link.torch.programs.storage import is_native
from treadle.link.torch.table import Change, InPlace
from treadle.tensor import At, Positions, Span, Symbolic

# The least and the greatest of so few positions Python finds sooner than PyTorch.
_FEW = 16


def in_place(entries: Sequence[Entry], set_: bool, dtype: str, place: int) -> InPlace | None:
    """Return how the part that an index picks is set, or added to; None where sums are taken in another dtype.

    `place` is where the dimensions of tensors of positions stand in the part.
    """
    if not is_native(dtype):
        return None
    if not any(isinstance(e, Positions) for e in entries):
        return _of_view(entries, "copy_" if set_ else "logical_or_" if dtype == "bool" else "add_")
    if not set_ and dtype in {"bool", "float16"}:
        return None
    form = _set_at(entries, place) if set_ else _add_at(entries, place)
    if not _of_rows(entries):
        return form

    def change(x: torch.Tensor, y: torch.Tensor, at: torch.Tensor | int) -> Change:
        """Set or add to rows: what indices are most often for."""
        if not isinstance(at, torch.Tensor) or at.dim() != 1:
            return form.change(x, y, at)
        given = y
        at, y = _rows(x, y, at)
        if not set_:
            return partial(x.index_add_, 0, at, y)
        return form.change(x, given, at) if _repeats(given, at) else partial(x.index_put_, (at,), y)

    return replace(form, change=change)


def reader(entries: Sequence[Entry]) -> Callable[..., torch.Tensor] | None:
    """Return a function of a tensor and the index inputs to the part, or None where PyTorch has no such index.

    It raises any error where it cannot read, such as for positions out of bounds.
    """
    if not any(isinstance(e, Positions) for e in entries):
        backwards = whole_backwards(entries)
        if backwards:
            return lambda x: x.flip(backwards)
        view = _viewer(entries)

        def read(x: torch.Tensor, *given: torch.Tensor | int) -> torch.Tensor:
            picked, backwards = view(x, [*map(int, given)])
            return picked.flip(backwards) if backwards else picked

        return read
    if any(map(_steps_back, entries)):
        return None
    if _of_rows(entries):
        return _rows_at

    def gather(x: torch.Tensor, *given: torch.Tensor | int) -> torch.Tensor:
        rest = iter(given)
        index: list[Any] = []
        for entry, n in zip(entries, x.shape, strict=True):
            if isinstance(entry, Span):
                index.append(slice(*[int(next(rest)) if isinstance(b, Symbolic) else b for b in _bounds(entry)]))
                continue
            at: Any = next(rest)
            if at.dim() == 0 or (isinstance(entry, Positions) and entry.length not in {None, n}):
                # Where these stand among the others, PyTorch has rules of its own; a mask may be of another length.
                msg = "positions of rank 1 or more are needed, and masks as long as their dimensions"
                raise IndexError(msg)
            index.append(at if at.dtype is torch.int64 else at.to(torch.int64))
        return x[tuple(index)]

    return gather


def _rows_at(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    if at.dim() == 0:
        msg = "positions of rank 1 or more are needed"
        raise IndexError(msg)
    # Those of uint8 would be taken for masks.
    return x[at if at.dtype is torch.int64 else at.to(torch.int64)]


def _of_rows(entries: Sequence[Entry]) -> bool:
    """Whether one tensor of positions picks along the first dimension, and all of the others is taken."""
    first, *others = entries
    return isinstance(first, Positions) and first.length is None and all(e == Span(None, None, None) for e in others)


def _steps_back(entry: Entry) -> bool:
    return isinstance(entry, Span) and (isinstance(entry.step, Symbolic) or (entry.step or 1) < 0)


def _of_view(entries: Sequence[Entry], method: str) -> InPlace:
    """Return it for a part that is a view: of single positions, and of slices."""
    view = _viewer(entries)

    def change(x: torch.Tensor, y: torch.Tensor, *bounds: int) -> Change:
        picked, backwards = view(x, bounds)
        if y.shape != picked.shape:
            y = y.expand(picked.shape)
        return partial(getattr(picked, method), y.flip(backwards) if backwards else y)

    def restoring(x: torch.Tensor, y: torch.Tensor, *bounds: int) -> Change:
        del y
        picked, _ = view(x, bounds)
        return partial(picked.copy_, picked.clone())

    return InPlace(change, restoring)


def _viewer(entries: Sequence[Entry]) -> Callable[[torch.Tensor, Sequence[int]], tuple[torch.Tensor, list[int]]]:
    """Return a function of a tensor and symbolic bounds: the view, and which of its dimensions are to be reversed.

    It raises IndexError for positions out of bounds.
    """
    if any(map(_steps_back, entries)):
        return partial(_sliced, entries)
    # PyTorch's own indexing, which has no negative steps.
    last = max((d for d, e in enumerate(entries) if e != Span(None, None, None)), default=-1)
    fixed = [e.value if isinstance(e, At) else slice(e.start, e.stop, e.step) for e in entries[: last + 1]]  # type: ignore[union-attr]  # no positions here
    if not any(isinstance(bound, Symbolic) for e in entries for bound in _bounds(e)):
        index: Any = fixed[0] if len(fixed) == 1 else tuple(fixed)
        return lambda x, _: (x[index], [])
    if last == 0 and isinstance(entries[0], At):
        return lambda x, given: (x[given[0]], [])

    def view(x: torch.Tensor, given: Sequence[int]) -> tuple[torch.Tensor, list[int]]:
        rest = iter(given)
        filled: list[Any] = []
        for entry in entries[: last + 1]:
            bounds = [next(rest) if isinstance(b, Symbolic) else b for b in _bounds(entry)]
            filled.append(bounds[0] if isinstance(entry, At) else slice(*bounds))
        return x[tuple(filled)], []

    return view


def _bounds(entry: Entry) -> tuple[int | Symbolic | None, ...]:
    if isinstance(entry, Span):
        return entry.start, entry.stop, entry.step
    return (entry.value,) if isinstance(entry, At) else ()


def _sliced(entries: Sequence[Entry], x: torch.Tensor, given: Sequence[int]) -> tuple[torch.Tensor, list[int]]:
    rest, backwards, dim = iter(given), [], 0
    for entry in entries:
        bounds = [next(rest) if isinstance(b, Symbolic) else b for b in _bounds(entry)]
        if isinstance(entry, At):
            x = x.select(dim, bounds[0])
            continue
        x, is_reversed = sliced(x, dim, x.shape[dim], bounds)
        if is_reversed:
            backwards.append(dim)
        dim += 1
    return x, backwards


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
    """Return positions, which are some, counted from the front."""
    if positions.numel() <= _FEW:
        numbers = positions.tolist() if positions.dim() == 1 else positions.flatten().tolist()
        low, high = min(numbers), max(numbers)
    else:
        low, high = map(int, positions.aminmax())
    if low < -n or high >= n:
        msg = "a position is out of bounds"
        raise IndexError(msg)
    return torch.where(positions < 0, positions + n, positions) if low < 0 else positions


def changed(entries: Sequence[Entry], set_: bool) -> Callable[..., torch.Tensor | None] | None:
    """Return a function of a tensor, values and positions: the tensor with rows set or added to, in new memory.

    It looks at no position, which PyTorch's own function does, and raises where one is out of bounds or, for additions,
    counts from the end. It returns None where it cannot be used. None if positions are not those of rows.
    """
    if not _of_rows(entries):
        return None

    def run(x: torch.Tensor, y: torch.Tensor, at: torch.Tensor) -> torch.Tensor | None:
        # Rows of no elements are added at any position.
        if at.dtype is not torch.int64 or at.dim() != 1 or y.shape != (at.shape[0], *x.shape[1:]) or not y.numel():
            return None
        if not set_:
            return torch.index_add(x, 0, at, y)
        # Several threads may set a position that is there twice in any order.
        return torch.index_put(x, (at,), y) if torch.get_num_threads() == 1 else None

    return run


def may_repeat_positions(entries: Sequence[Entry]) -> bool:
    """Whether a position may be there twice: not in what is made of a mask."""
    return any(isinstance(e, Positions) and e.length is None for e in entries)


def _repeats(y: torch.Tensor, positions: torch.Tensor) -> bool:
    """Whether one of several threads may set a position to another value than the last one for it."""
    if y.dim() == 0 or (y.is_cpu and torch.get_num_threads() == 1):
        return False
    if positions.shape[0] <= _FEW:
        numbers: list[int] = positions.tolist()
        return len(set(numbers)) < len(numbers)
    ordered, _ = positions.sort()
    return bool((ordered[1:] == ordered[:-1]).any())


def _rows(x: torch.Tensor, y: torch.Tensor, at: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return positions along the first dimension, counted from the front, and values, a row for each.

    Raises
    ------
    IndexError
        If a position is out of bounds.
    """
    shape = (at.shape[0], *x.shape[1:])
    if y.shape != shape:
        y = y.expand(shape)
    if at.dtype is not torch.int64:
        at = at.to(torch.int64)
    return _in_bounds(at, x.shape[0]) if shape[0] else at, y


def _set_at(entries: Sequence[Entry], place: int) -> InPlace:
    """Return it for values that are set at positions."""
    may_repeat = may_repeat_positions(entries)

    def change(x: torch.Tensor, y: torch.Tensor, *given: torch.Tensor | int) -> Change:
        picked = _picked(x, entries, place, given)
        values = picked.laid_out(y)
        if may_repeat and _repeats(y, picked.flat_positions()):
            values = picked.with_last(values)
        return partial(picked.view.index_put_, tuple(picked.positions), values)

    def restoring(x: torch.Tensor, y: torch.Tensor, *given: torch.Tensor | int) -> Change:
        del y
        picked = _picked(x, entries, place, given)
        positions = tuple(picked.positions)
        return partial(picked.view.index_put_, positions, picked.view[positions])

    return InPlace(change, restoring, can_fail=True)


def _add_at(entries: Sequence[Entry], place: int) -> InPlace:
    """Return it for values that are added at positions, at repeated ones again and again.

    PyTorch adds at positions along one dimension in their order, so all that are indexed become one.
    """

    def flat(x: torch.Tensor, given: Sequence[torch.Tensor | int]) -> tuple[Part, torch.Tensor, torch.Tensor]:
        picked = _picked(x, entries, place, given)
        count = len(picked.positions)
        indexed, lengths = picked.view.shape[:count], picked.view.shape[count:]
        # Raises RuntimeError where the dimensions do not follow each other in memory.
        return picked, picked.view.view([math.prod(indexed), *lengths]), picked.flat_positions()

    def change(x: torch.Tensor, y: torch.Tensor, *given: torch.Tensor | int) -> Change:
        picked, target, at = flat(x, given)
        values = picked.laid_out(y).reshape([at.shape[0], *target.shape[1:]])
        return partial(target.index_add_, 0, at, values)

    def restoring(x: torch.Tensor, y: torch.Tensor, *given: torch.Tensor | int) -> Change:
        del y
        _, target, at = flat(x, given)
        return partial(target.index_copy_, 0, at, target[at])

    return InPlace(change, restoring, can_fail=True)
