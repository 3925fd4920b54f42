"""Indexing along a batch.

Where positions do not vary along the batch, the index gets full slices in front. Where they do, ranges over the
tensor's own batch dimensions are picked together with them. The dimensions of the result are distinguished by labels:
``("b", i)`` of the batch, ``("c", i)`` of the arrays, ``("s", i)`` of slices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from treadle.tensor.batches.batching import spread_all
from treadle.tensor.indexing.expressions import SYMBOLIC, At, Positions, Span, gather_plan, symbolic_count
from treadle.tensor.indexing.indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.shapes.batch_dims import Pair, aligned, batch_ndim, most_batch, refuse_batched
from treadle.tensor.shapes.dimshuffle import as_dimension, dimshuffle
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.indexing.expressions import Entry
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

Label = tuple[str, int]


class Plan(NamedTuple):
    """A vectorised index: the entries and inputs of the new op, and the dimensions of the part that it picks (`order`).

    `target` has these in the order of the batch and then of the part that the old index picked.
    """

    entries: tuple[Entry, ...]
    inputs: list[TensorVariable]
    order: list[Label]
    target: list[Label]


class Places(NamedTuple):
    """The inputs of an index, by what they are."""

    bounds: list[Pair]
    positions: list[Pair]


def _places(entries: Sequence[Entry], pairs: Sequence[Pair]) -> Places:
    bounds: list[Pair] = []
    positions: list[Pair] = []
    at = 0
    for entry in entries:
        count = symbolic_count([entry])
        (bounds if isinstance(entry, Span) else positions).extend(pairs[at : at + count])
        at += count
    return Places(bounds, positions)


def _layout(entries: Sequence[Entry], arrays: Sequence[Label], ndim: int, full: int) -> list[Label]:
    """Return the dimensions of what an index picks.

    `arrays` are the dimensions of the arrays broadcast together, `ndim` their number as the index op sees it (-1: no
    arrays), `full` how many of the first entries are full slices of the batch.
    """
    spans = sum(isinstance(e, Span) for e in entries)
    others: list[Label] = [("b", i) if i < full else ("s", i - full) for i in range(spans)]
    if ndim < 0:
        return others
    place = gather_plan(entries, [ndim]).place
    return [*others[:place], *arrays, *others[place:]]


def _plan(entries: tuple[Entry, ...], batch: int, own: int, pairs: Sequence[Pair], x: TensorVariable) -> Plan:
    """Return the vectorised index, for a result with `batch` batch dimensions and a tensor with `own` of them."""
    places = _places(entries, pairs)
    refuse_batched(places.bounds, "the bounds of slices")
    has_arrays = any(isinstance(e, Positions) for e in entries)
    core = max((old.type.ndim for old, _ in places.positions), default=0) if has_arrays else 0
    labels: list[Label] = [("b", i) for i in range(batch)]
    arrays: list[Label] = [("c", i) for i in range(core)]
    target = [*labels, *_layout(entries, arrays, core if has_arrays else -1, 0)]
    if not most_batch(places.positions):
        wide: tuple[Entry, ...] = (*[Span()] * own, *entries)
        order = _layout(wide, arrays, core if has_arrays else -1, own)
        return Plan(wide, [new for _, new in pairs], order, target)
    array_entries, inputs = _as_positions(entries, pairs, batch, core)
    ranges = [as_dimension(arange(shape_i(x, d)), batch - own + d, batch + core) for d in range(own)]
    picked: tuple[Entry, ...] = (*[Positions()] * own, *array_entries)
    order = _layout(picked, [*labels, *arrays], batch + core, 0)
    return Plan(picked, [*ranges, *inputs], order, target)


def _as_positions(
    entries: Sequence[Entry], pairs: Sequence[Pair], batch: int, core: int
) -> tuple[list[Entry], list[TensorVariable]]:
    """Return the index with arrays for single positions, all of the rank of batch and core together."""
    remaining = iter(pairs)
    arrays: list[Entry] = []
    inputs: list[TensorVariable] = []
    for entry in entries:
        if isinstance(entry, Span):
            arrays.append(entry)
            inputs += [next(remaining)[1] for _ in range(symbolic_count([entry]))]
            continue
        if isinstance(entry, At) and entry.value is not SYMBOLIC:
            number = as_tensor_variable(entry.value)  # type: ignore[arg-type]  # an integer
            old, new = number, number
        else:
            old, new = next(remaining)
        arrays.append(entry if isinstance(entry, Positions) else Positions())
        inputs.append(aligned(old, new, batch, core))
    return arrays, inputs


def _permuted(x: TensorVariable, order: Sequence[Label], target: Sequence[Label]) -> TensorVariable:
    """Bring the dimensions of a tensor from one order to another."""
    return dimshuffle(x, *(order.index(label) for label in target))


def vectorize_take(op: Subtensor | AdvancedSubtensor, node: TensorNode, *inputs: TensorVariable) -> TensorVariable:
    """Pick the same part, or for each of the batch its own, of each tensor of the batch."""
    pairs = list(zip(node.inputs, inputs, strict=True))
    own = batch_ndim(*pairs[0])
    plan = _plan(op.entries, most_batch(pairs), own, pairs[1:], inputs[0])
    kind = AdvancedSubtensor if any(isinstance(e, Positions) for e in plan.entries) else Subtensor
    return _permuted(kind(plan.entries)(inputs[0], *plan.inputs), plan.order, plan.target)


def vectorize_put(op: IncSubtensor | AdvancedIncSubtensor, node: TensorNode, *inputs: TensorVariable) -> TensorVariable:
    """Write into each tensor of the batch; one that has no batch dimensions is copied along them."""
    pairs = list(zip(node.inputs, inputs, strict=True))
    batch = most_batch(pairs)
    x = spread_all(pairs)[0]
    plan = _plan(op.entries, batch, batch, pairs[2:], x)
    values = aligned(*pairs[1], batch, len(plan.target) - batch)
    values = _permuted(values, plan.target, plan.order)
    kind = AdvancedIncSubtensor if any(isinstance(e, Positions) for e in plan.entries) else IncSubtensor
    written: TensorVariable = kind(plan.entries, op.set)(x, values, *plan.inputs)
    return written
