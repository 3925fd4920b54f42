"""Gradients of the values written at arrays of positions: where positions repeat, only the last value remains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Constant
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.indexing.expressions import Positions, Span
from treadle.tensor.indexing.nonzero import Nonzero
from treadle.tensor.indexing.ranges import ARange, arange
from treadle.tensor.lengths.numbers import product
from treadle.tensor.shapes.broadcasting import zeros
from treadle.tensor.shapes.shape import LENGTH, lengths, reshape, shape_i

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Op, Variable
    from treadle.tensor.indexing.expressions import Entry
    from treadle.tensor.variables.variable import TensorVariable


def standing(
    part: TensorVariable,
    x: TensorVariable,
    entries: Sequence[Entry],
    arrays: Sequence[TensorVariable],
    take: Callable[..., Op],
    put: Callable[..., Op],
) -> TensorVariable:
    """Return a part of the cotangent of a tensor that was set, 0 where a later value of the same write remains.

    The values are numbered, and the numbers written as the values were: those found again won. `part` is what the
    index, entries and arrays, picks from the cotangent of `x`; `take` and `put` make the ops that read and write there.
    """
    written_into = [shape_i(x, d) for d, entry in enumerate(entries) if isinstance(entry, Positions)]
    if _all_apart(arrays, [x.type.shape[d] for d, entry in enumerate(entries) if isinstance(entry, Positions)]):
        return part
    # Slices pick no element twice: one position along each is enough.
    places = iter(written_into)
    board = zeros([next(places) if isinstance(e, Positions) else 1 for e in entries], LENGTH)
    index = tuple(e if isinstance(e, Positions) else Span() for e in entries)
    picked: TensorVariable = take(index)(board, *arrays)
    numbers = reshape(arange(product(lengths(picked))), picked.shape)
    written = put(index, set=True)(board, numbers, *arrays)
    won = eq(take(index)(written, *arrays), numbers)
    return switch(won, part, 0)


def _all_apart(arrays: Sequence[TensorVariable], lengths: Sequence[int | None]) -> bool:
    """Whether positions are certain to differ: those of a mask, one range, or one constant without repetitions."""
    owners = [a.owner for a in arrays]
    if owners[0] is not None and isinstance(owners[0].op, Nonzero) and all(o is owners[0] for o in owners):
        return {id(a) for a in arrays} == {id(out) for out in owners[0].outputs}
    if len(arrays) > 1:
        return False
    positions, n = arrays[0], lengths[0]
    if not isinstance(positions, Constant):
        return owners[0] is not None and isinstance(owners[0].op, ARange) and _ascends_from_0(owners[0].inputs)
    data = np.asarray(positions.data).astype(np.int64)
    if data.size and data.min() < 0:
        if n is None:
            return bool(data.max() < 0) and np.unique(data).size == data.size
        data = np.where(data < 0, data + n, data)
    return np.unique(data).size == data.size


def _ascends_from_0(bounds: Sequence[Variable]) -> bool:
    """Whether a range of this start, stop and step holds no negative number and no number twice."""
    start, _, step = bounds
    return isinstance(start, Constant) and isinstance(step, Constant) and bool(start.data >= 0 and step.data > 0)
