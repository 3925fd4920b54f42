"""Loops over batches: every step works on the whole batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import VectorizeError, vectorize_graph
from treadle.tensor.batches.batching import batch_lengths, spread, spread_all
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import ge, le
from treadle.tensor.elementwise.logic import or_
from treadle.tensor.loops.parts import LoopParts
from treadle.tensor.reductions.reduction import all_, max_
from treadle.tensor.shapes.batch_dims import aligned, batch_ndim, most_batch
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle, moveaxis
from treadle.tensor.shapes.shape import LENGTH
from treadle.tensor.types.conversion import constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.loops.loops import LoopInputs, Scan
    from treadle.tensor.shapes.batch_dims import Pair
    from treadle.tensor.variables.variable import TensorNode, TensorVariable


def _widened(row: TensorVariable, batch: Sequence[int | None]) -> TensorVariable:
    """Return a variable like another one, with batch dimensions."""
    kind = row.type
    return TensorType(kind.dtype, (*batch, *kind.shape)).make_variable(row.name)


def vectorized(op: Scan, node: TensorNode, inputs: Sequence[TensorVariable]) -> list[Variable]:
    """Return the outputs of a loop for inputs some of which have batch dimensions.

    Sequences and results have the steps in front of the batch inside of the loop. A loop whose condition differs along
    the batch runs until all have ended; the carries of those that have ended stay as they are. Where the lengths of
    results would differ along the batch, it is refused.
    """
    pairs: list[Pair] = [
        (old, new) for old, new in zip(node.inputs, inputs, strict=True) if isinstance(old.type, TensorType)
    ]
    rank = most_batch(pairs)
    # Every input that has a batch gets all of its dimensions.
    wide = iter(spread_all([pair for pair in pairs if batch_ndim(*pair)]))
    full: list[Variable] = [
        next(wide) if isinstance(old.type, TensorType) and batch_ndim(old, new) else new
        for old, new in zip(node.inputs, inputs, strict=True)
    ]
    parts = LoopParts.of(op, full)
    old = op.sorted(node.inputs[1:])
    replaced = _widened_inputs(parts, old, rank)
    outputs, batched, ends = _batched_body(parts, old, replaced, rank)
    if ends and parts.rows_out:
        msg = (
            "the number of steps would differ along the batch, and the lengths of the results with it. Give it no "
            "batch dimensions"
        )
        raise VectorizeError(msg)
    lengths = batch_lengths(pairs)
    new_carries: list[Any] = list(outputs[: op.n_carries])
    for j in batched:
        carry, start, new = parts.carries[j], parts.starts[j], new_carries[j]
        carry_in = replaced[carry]
        if start.type.ndim == carry.type.ndim:  # type: ignore[attr-defined]  # tensors
            parts.starts[j] = spread(old.carries[j], start, lengths)  # type: ignore[arg-type]  # a tensor
        if new.type.ndim < carry_in.type.ndim:
            new_carries[j] = spread(carry, new, [carry_in.shape[d] for d in range(rank)])  # type: ignore[arg-type]
    last = op.n_carries + op.n_stacked
    until = outputs[last] if op.has_until else None
    parts.rows_in = [replaced.get(x, x) for x in parts.rows_in]
    parts.carries = [replaced.get(x, x) for x in parts.carries]
    parts.constants = [replaced.get(x, x) for x in parts.constants]
    parts.new_carries = new_carries
    counted = None
    if ends:
        until, counted = _masked(parts, until, rank, lengths)
    parts.until = until
    parts.rows_out = outputs[op.n_carries : last]
    parts.widen()
    loop = parts.apply()
    results: list[Variable] = loop.carries[: op.n_carries]
    for before, result in zip(node.outputs[op.n_carries :], loop.stacked, strict=False):
        behind = result.type.ndim - before.type.ndim
        results.append(moveaxis(result, 0, behind) if behind else result)
    if op.has_until:
        results.append(loop.steps if counted is None else loop.carries[counted])  # type: ignore[arg-type]  # one ends
    return results


def _widened_inputs(parts: LoopParts, old: LoopInputs, rank: int) -> dict[Variable, TensorVariable]:
    """Return the rows, carries and constants of the body that have a batch, each with its wider variable.

    Sequences get their steps in front.
    """
    replaced: dict[Variable, TensorVariable] = {}
    for i, (before, sequence) in enumerate(zip(old.sequences, parts.sequences, strict=True)):
        if sequence.type.ndim > before.type.ndim:  # type: ignore[attr-defined]  # tensors
            moved = moveaxis(sequence, rank, 0)
            parts.sequences[i] = moved
            replaced[parts.rows_in[i]] = _widened(parts.rows_in[i], moved.type.shape[1 : 1 + rank])  # type: ignore[arg-type]
    for i, (before, fixed) in enumerate(zip(old.constants, parts.givens, strict=True)):
        if isinstance(before.type, TensorType) and fixed.type.ndim > before.type.ndim:  # type: ignore[attr-defined]
            replaced[parts.constants[i]] = _widened(parts.constants[i], fixed.type.shape[:rank])  # type: ignore[attr-defined, arg-type]
    return replaced


def _batched_body(
    parts: LoopParts, old: LoopInputs, replaced: dict[Variable, TensorVariable], rank: int
) -> tuple[list[Any], set[int], bool]:
    """Return the outputs of the body over batches, which carries have one, and whether its elements end apart.

    A carry has a batch if it starts with one, or if what a step makes of it has one.
    """
    limits = parts.steps.type.ndim > 0  # type: ignore[attr-defined]  # a tensor
    outputs = parts.outputs
    batched = {
        j
        for j, (before, start) in enumerate(zip(old.carries, parts.starts, strict=True))
        if isinstance(before.type, TensorType) and start.type.ndim > before.type.ndim  # type: ignore[attr-defined]
    }
    while True:
        for j in batched:
            replaced.setdefault(parts.carries[j], _widened(parts.carries[j], [None] * rank))  # type: ignore[arg-type]
        wide: list[Any] = vectorize_graph(outputs, replaced) if replaced else list(outputs)
        ends = limits or (parts.until is not None and wide[-1].type.ndim > 0)
        grown = {
            j
            for j, carry in enumerate(parts.carries)
            if j not in batched and isinstance(carry.type, TensorType) and (ends or wide[j].type.ndim > carry.type.ndim)
        }
        if not grown:
            return wide, batched, ends
        batched |= grown


def _masked(
    parts: LoopParts, until: TensorVariable | None, rank: int, lengths: Sequence[TensorVariable]
) -> tuple[TensorVariable, int]:
    """Keep the carries of what has ended.

    Returned are whether all have, and the number of the carry that counts the steps of each.
    """
    ended = TensorType("bool", (None,) * rank).make_variable("ended")
    count = TensorType(LENGTH, (None,) * rank).make_variable("count")
    for j, (carry, new) in enumerate(zip(parts.carries, parts.new_carries, strict=True)):
        if not isinstance(carry.type, TensorType):
            msg = f"Scan: the carry {carry} of type {carry.type} cannot stay as it is along a batch"
            raise VectorizeError(msg)
        test = dimshuffle(ended, *range(rank), *[NEW] * (carry.type.ndim - rank))
        parts.new_carries[j] = switch(test, carry, new)
    limit: Any = parts.steps
    later = switch(ended, count, count + 1)
    scalar = constant(False)
    stays = or_(ended, aligned(scalar, scalar if until is None else until, rank))
    if limit.type.ndim:
        bound = limit.type.make_variable("limit")
        parts.add_given(limit, bound)
        stays = or_(stays, ge(later, bound))
        parts.steps = max_(limit, initial=0)
    parts.add_carry(spread(scalar, le(limit, 0), lengths), ended, stays)
    zero = constant(0, dtype=LENGTH)
    return all_(stays), parts.add_carry(spread(zero, zero, lengths), count, later)
