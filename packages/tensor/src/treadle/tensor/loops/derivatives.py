"""Derivatives of loops, as loops.

The gradient runs the steps backwards: it carries what flows back to the carries, and sums what flows back to the
constants. What it needs of each step was kept by the loop itself: carries, and what is costly to compute again. The
loop that keeps more is another node with the same inputs; rewriting makes one of the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.graph import DisconnectedType, IfElse, NullType, Variable, toposort
from treadle.tensor.elementwise.arithmetic import add, minimum
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import le
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.gradients.adding import summed, zeros_of
from treadle.tensor.gradients.elementwise_demand import Uses, is_switch
from treadle.tensor.gradients.forward_mode import jvp
from treadle.tensor.gradients.reverse_mode import gradients_of_parts
from treadle.tensor.indexing.indexing import Subtensor, set_subtensor
from treadle.tensor.indexing.nonzero import Nonzero
from treadle.tensor.joins.joining import join
from treadle.tensor.loops.parts import LoopParts
from treadle.tensor.loops.states import GeneratorInState, state_of
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.shapes.shape import Shape, ShapeI
from treadle.tensor.staging.stages import static_positions
from treadle.tensor.types.conversion import is_smooth
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from treadle.graph import Apply, Type
    from treadle.tensor.loops.loops import Scan
    from treadle.tensor.ops.tensor_op import Variables
    from treadle.tensor.variables.variable import TensorVariable


def _is_absent(var: Variable | None) -> bool:
    return var is None or isinstance(var.type, DisconnectedType | NullType)


def _may_have_slope(x: Variable) -> bool:
    """Whether gradients by an input of the body may exist: by floats, also in types that are no tensors."""
    dtype = getattr(x.type, "numpy_dtype", None)
    return dtype is not None and dtype.kind in "fc"


class _Summand(NamedTuple):
    """A slope by what is the same in all steps, as it is summed over them.

    Attributes
    ----------
    term
        What a step adds.
    zero
        What the first step adds to.
    whole
        From the sum of the terms to that of the slopes.
    """

    term: Variable
    zero: Variable
    whole: Callable[[Variable], Variable]


def _summand(x: Variable, slope: Variable, given: Variable) -> _Summand:
    """Return how slopes by a constant of the body, which stands for a given value, are summed.

    A type whose values are no tensors may have a method ``summand``, which says so in terms of tensors.
    """
    own = getattr(x.type, "summand", None)
    return _Summand(slope, zeros_of(given), lambda total: total) if own is None else _Summand(*own(x, slope, given))


def _kind_of_move(x: Variable, tangent: Variable | None) -> Type:
    """Return the type of what an input moves by: that of its tangent where it is no tensor."""
    return x.type if tangent is None or isinstance(x.type, TensorType) else tangent.type


def _seeded(seeds: dict[Variable, Any], var: Variable, cotangent: Any) -> None:
    seeds[var] = add(seeds[var], cotangent) if var in seeds else cotangent


class _Gradient:
    """The gradient of a loop, being built from what `Op.pullback` takes."""

    def __init__(self, op: Scan, inputs: Variables, outputs: Variables, cotangents: Variables) -> None:
        self.op = op
        self.outputs = outputs
        self.parts = LoopParts.of(op, inputs)
        count = op.n_carries
        self.last: dict[int, Any] = {j: c for j, c in enumerate(cotangents[:count]) if not _is_absent(c)}
        self.stacked: dict[int, Any] = {
            k: c for k, c in enumerate(cotangents[count : count + op.n_stacked]) if not _is_absent(c)
        }
        self.moving = self._moving()

    def _moving(self) -> list[int]:
        """Return the carries that something flows back to."""
        op, first = self.op, self.op.n_sequences
        reach = op.reach()
        moving = {j for j in self.last if is_smooth(self.parts.carries[j])}
        results = [op.n_carries + k for k in self.stacked]
        while True:
            more = {
                i
                for i, var in enumerate(self.parts.carries)
                if i not in moving
                and is_smooth(var)
                and (any(reach[first + i][j] for j in moving) or any(reach[first + i][k] for k in results))
            }
            if not more:
                return sorted(moving)
            moving |= more

    def terms(self) -> list[Variable | None]:
        """Return what flows back to each input of the node."""
        parts = self.parts
        seeds: dict[Variable, Any] = {}
        by_carry = {j: parts.carries[j].type.make_variable() for j in self.moving}
        by_row = {k: parts.rows_out[k].type.make_variable() for k in self.stacked}
        for j, var in by_carry.items():
            _seeded(seeds, parts.new_carries[j], var)
        for k, var in by_row.items():
            _seeded(seeds, parts.rows_out[k], var)
        inner = parts.inputs
        if not seeds:
            return [DisconnectedType()() for _ in range(1 + len(inner))]
        targets = [x for x in inner if _may_have_slope(x)]
        gradients: Sequence[Variable] = gradients_of_parts(
            seeds, targets, disconnected_inputs="ignore", return_disconnected="disconnected",
            null_gradients="return", add_names=False,
        )  # fmt: skip
        slopes = dict(zip(targets, gradients, strict=True))
        null = next((slopes[parts.carries[j]] for j in self.moving if _is_null(slopes[parts.carries[j]])), None)
        if null is not None:
            return [None, *(null if x in slopes else None for x in inner)]
        return [None, *self._outer(slopes, by_carry, by_row)]

    def _outer(
        self, slopes: dict[Variable, Variable], by_carry: dict[int, Variable], by_row: dict[int, Variable]
    ) -> list[Variable | None]:
        """Return the gradients by all inputs but the number of steps, as results of a loop that runs backwards."""
        parts = self.parts
        flowing = {x: g for x, g in slopes.items() if not _is_absent(g)}
        # Higher derivatives keep as little as this one.
        back = LoopParts(
            parts.steps, recomputes=self.op.recomputes, name=None if self.op.name is None else f"{self.op.name}_grad"
        )
        count = self.outputs[-1] if self.op.has_until else parts.steps
        drawing = self._keep(back, [*flowing.values()], {*by_carry.values(), *by_row.values()}, count)
        back.steps = count if self.op.truncate_gradient < 0 else minimum(count, self.op.truncate_gradient)
        for k, var in by_row.items():
            back.add_sequence(_reversed(self.stacked[k]), var)
        for j, var in by_carry.items():
            start = self.last[j] if j in self.last else zeros_like(self.outputs[j])
            slope = flowing.get(parts.carries[j])
            back.add_carry(start, var, zeros_like(var) if slope is None else slope)
        sums = [i for i, x in enumerate(parts.constants) if x in flowing]
        summands: dict[Variable, _Summand] = {}
        for i in sums:
            x = parts.constants[i]
            summand = summands[x] = _summand(x, flowing[x], parts.givens[i])
            total = summand.zero.type.make_variable()
            back.add_carry(summand.zero, total, summed(total, summand.term))
        rows = {x: back.add_result(flowing[x]) for x in parts.rows_in if x in flowing}
        back.replace(drawing)
        back.widen()
        backward = back.apply()
        terms: dict[Variable, Variable] = {x: slopes[x] for x in slopes if _is_null(slopes[x])}
        for x, sequence in zip(parts.rows_in, parts.sequences, strict=True):
            if x in rows:
                terms[x] = self._of_sequence(backward.stacked[rows[x]], sequence, count, back.steps)
        most = self.op.truncate_gradient
        for at, j in enumerate(by_carry):
            term = backward.carries[at]
            # Zero where the gradient was cut off before the first step.
            terms[parts.carries[j]] = term if most < 0 else switch(le(count, most), term, zeros_like(term))
        for at, i in enumerate(sums):
            x = parts.constants[i]
            terms[x] = summands[x].whole(backward.carries[len(by_carry) + at])
        return [terms.get(x, DisconnectedType()() if is_smooth(x) else None) for x in parts.inputs]

    def _of_sequence(self, rows: Any, sequence: Variable, count: Variable, done: Variable) -> Variable:
        """Return the gradient by a sequence: its rows in order, and zeros for those that no step took."""
        ordered = _reversed(rows)
        if done is count and _is_length(count, sequence):
            return ordered
        zeros: Any = zeros_like(sequence)
        gradient: Variable = set_subtensor(zeros[count - done : count], ordered)  # type: ignore[operator]  # integers
        return gradient

    # What the loop keeps for the gradient

    def _keep(
        self, back: LoopParts, slopes: Sequence[Variable], cotangents: Collection[Variable], count: Variable
    ) -> dict[Variable, Variable]:
        """Give the backward loop what it needs of the forward one, which keeps it: rows, carries, results of steps.

        Returned is what stands for the generators among the carries in the body of the backward loop.
        """
        parts = self.parts
        needed = _kept(slopes, cotangents, parts, carries_only=self.op.recomputes)
        forward = parts
        if self.op.has_until and not parts.rows_out:
            # It may have no bound: now that the number of steps is known, it is run a second time.
            forward.steps, forward.until = count, None
        places: dict[Variable, int] = {}
        masked = _masked(slopes, needed, cotangents)
        for var in needed:
            if var in parts.carries:
                new = parts.new_carries[parts.carries.index(var)]
                places[var] = forward.add_result(new if isinstance(var.type, TensorType) else state_of(new))
            elif var not in parts.inputs:
                places[var] = forward.add_result(masked.get(var, var))
        results = forward.apply().stacked if places else []
        drawing: dict[Variable, Variable] = {}
        for var in needed:
            if var in parts.rows_in:
                sequence: Any = parts.sequences[parts.rows_in.index(var)]
                back.add_sequence(_reversed(sequence if _is_length(count, sequence) else sequence[:count]), var)
            elif var in parts.carries:
                first = parts.starts[parts.carries.index(var)]
                start: Any = first if isinstance(var.type, TensorType) else state_of(first)
                before = join(0, start.dimshuffle("x", *range(start.ndim)), results[places[var]])[:-1]
                if start is first:
                    back.add_sequence(_reversed(before), var)
                else:
                    # Of a generator the state is kept.
                    like, state = first.type.make_variable(), start.type.make_variable()
                    back.add_given(first, like)
                    back.add_sequence(_reversed(before), state)
                    drawing[var] = GeneratorInState()(like, state)
            elif var in parts.constants:
                back.add_given(parts.givens[parts.constants.index(var)], var)
            else:
                back.add_sequence(_reversed(results[places[var]]), var)
        return drawing


def _is_null(var: Variable) -> bool:
    return isinstance(var.type, NullType)


def _is_length(count: Variable, sequence: Variable) -> bool:
    """Whether a number of steps is certain to be the length of a sequence."""
    known = getattr(count, "data", None)
    if known is not None:
        return bool(sequence.type.shape[0] == int(known))  # type: ignore[attr-defined]  # a tensor
    owner = count.owner
    return owner is not None and isinstance(owner.op, ShapeI) and owner.op.axis == 0 and owner.inputs[0] is sequence


def _reversed(x: Any) -> TensorVariable:
    backwards: TensorVariable = x[::-1]
    return backwards


def _kept(
    slopes: Sequence[Variable], cotangents: Collection[Variable], parts: LoopParts, *, carries_only: bool
) -> list[Variable]:
    """Return the variables of a step that the backward loop starts from: inputs of the body, and what is kept.

    What does not depend on cotangents is computed by the forward loop already. Of it the backward loop takes what is
    costly; the rest it computes again, as it does what may have another shape in each step.
    """
    order = toposort(slopes)
    inputs, carries = set(parts.inputs), set(parts.carries)
    moved: set[Variable] = set(cotangents)
    fixed: set[Variable] = set(parts.constants)
    varying: set[Variable] = {*parts.rows_in, *parts.carries}
    branches = any(isinstance(node.op, IfElse) for node in order)
    needed: dict[Variable, None] = {}
    ragged: set[Variable] = set()
    for node in order:
        if any(x in moved for x in node.inputs):
            moved.update(node.outputs)
        elif isinstance(node.op, Shape | ShapeI) and node.inputs[0] not in ragged:
            fixed.update(node.outputs)
        elif any(x in varying for x in node.inputs):
            varying.update(node.outputs)
            if _is_ragged(node, varying, ragged):
                ragged.update(x for x in node.outputs if isinstance(x.type, TensorType) and None in x.type.shape)
        elif any(x in fixed for x in node.inputs):
            # The same in all steps: rewriting takes it out of both loops.
            fixed.update(node.outputs)
    for node in order:
        if node.outputs[0] in moved:
            needed.update((x, None) for x in node.inputs if x not in moved)
    needed.update((x, None) for x in slopes if x not in moved)
    # Back to what is kept.
    kept: dict[Variable, None] = {}
    results = {*parts.new_carries, *parts.rows_out}
    pending = list(needed)
    seen: set[Variable] = set()
    while pending:
        var = pending.pop()
        if var in seen:
            continue
        seen.add(var)
        if var in inputs:
            kept[var] = None
        elif var.owner is not None:
            keeps = not carries_only and not branches and isinstance(var.type, TensorType)
            if keeps and var in varying and var not in ragged and (var in results or _is_costly(var.owner, carries)):
                kept[var] = None
            else:
                pending += var.owner.inputs
    return list(kept)


def _masked(slopes: Variables, kept: Variables, cotangents: Collection[Variable]) -> dict[Variable, Variable]:
    """Return for results that are kept what is zero where switches do not take them.

    Of what they do not take, the derivative may be infinite; what flows back to it is zero, and must not be multiplied
    by that.
    """
    order = toposort(slopes)
    if not any(map(is_switch, order)):
        return {}
    uses = Uses(order, slopes)
    rows = {var: uses.masked(var) for var in kept if isinstance(var.type, TensorType) and var.owner is not None}
    return {
        var: row
        for var, row in rows.items()
        if row is not var and not any(x in cotangents for node in toposort([row]) for x in node.inputs)
    }


def _is_costly(node: Apply, carries: Collection[Variable]) -> bool:
    """Whether to keep a result rather than to compute it again; shapes follow from those of rows and carries."""
    if isinstance(node.op, Subtensor):
        # A part of a carry is smaller than the carry, of which each step would have to keep its own.
        return node.inputs[0] in carries
    if node.op.view_map or isinstance(node.op, Shape | ShapeI):
        return False
    return not isinstance(node.op, Elemwise) or not all(s.cheap for s in node.op.scalar_ops)


def _is_ragged(node: Apply, varying: Collection[Variable], ragged: Collection[Variable]) -> bool:
    """Whether results may have other shapes in other steps, so that they cannot be stacked."""
    op = node.op
    if any(x in ragged for x in node.inputs):
        return True
    if isinstance(op, LoopParts.loop_type):
        return op.has_until or node.inputs[0] in varying
    if isinstance(op, Elemwise):
        return False
    # Where an op does not say what its shapes follow from, it may be any integers; masks decide shapes as well.
    kinds = "b" if op.static_inputs else "biu"
    return (
        isinstance(op, Nonzero)
        or any(node.inputs[i] in varying for i in static_positions(node))
        or any(
            x in varying and isinstance(x.type, TensorType) and x.type.numpy_dtype.kind in kinds for x in node.inputs
        )
    )


def pulled_back(op: Scan, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable | None]:
    """Return what flows back to each input of a loop."""
    null = next((c for c in cotangents if isinstance(c.type, NullType)), None)
    if null is not None:
        return [None, *(null if is_smooth(x) else None for x in inputs[1:])]
    return _Gradient(op, inputs, outputs, cotangents).terms()


def pushed_forward(op: Scan, inputs: Sequence[Variable], tangents: Sequence[Variable | None]) -> list[Variable | None]:
    """Return how the outputs of a loop move with its inputs."""
    parts = LoopParts.of(op, inputs)
    motions = op.sorted(tangents[1:])
    reach, first = op.reach(), op.n_sequences
    moving = {
        at
        for at, (x, t) in enumerate(zip(parts.inputs, tangents[1:], strict=True))
        if not _is_absent(t) and _may_have_slope(x)
    }
    count = op.n_carries
    while True:
        more = {
            first + j
            for j, var in enumerate(parts.carries)
            if first + j not in moving and is_smooth(var) and any(reach[at][j] for at in moving)
        }
        if not more:
            break
        moving |= more
    inner = parts.inputs
    moves = {at: _kind_of_move(inner[at], tangents[1 + at]).make_variable() for at in sorted(moving)}
    pushed = jvp(parts.outputs[: count + op.n_stacked], [inner[at] for at in moves], list(moves.values()))
    n_carries = len(parts.carries)
    for at, move in moves.items():
        if at < first:
            parts.add_sequence(motions.sequences[at], move)
    carried: dict[int, int] = {}
    for at, move in moves.items():
        j = at - first
        if 0 <= j < n_carries:
            start = motions.carries[j]
            new = pushed[j]
            carried[j] = parts.add_carry(
                zeros_like(parts.starts[j]) if _is_absent(start) else start,
                move,
                zeros_like(move) if new is None or _is_absent(new) else new,
            )
    for at, move in moves.items():
        if at >= first + n_carries:
            parts.add_given(motions.constants[at - first - n_carries], move)
    parts.rows_out = []
    stacked = {k: parts.add_result(t) for k, t in enumerate(pushed[count:]) if t is not None and not _is_absent(t)}
    parts.widen()
    loop = parts.apply()
    result: list[Variable | None] = [loop.carries[carried[j]] if j in carried else None for j in range(count)]
    result += [loop.stacked[stacked[k]] if k in stacked else None for k in range(op.n_stacked)]
    return [*result, None] if op.has_until else result
