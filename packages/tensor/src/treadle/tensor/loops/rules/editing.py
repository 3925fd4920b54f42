"""What rules for loops work with: what the variables of a body depend on, and a loop that is being changed."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from treadle.config import dataclass
from treadle.graph import Constant, GraphTypeError, Variable, toposort
from treadle.tensor.loops.loops import Scan
from treadle.tensor.loops.parts import LoopParts
from treadle.tensor.shape_inference.symbolic_shapes import shapes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from treadle.graph import Apply, FunctionGraph
    from treadle.tensor.loops.parts import LoopResults
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

# Bits of what a variable of a body depends on; 0 is the same in all steps.
ROW, CARRY = 1, 2


def loops_of(fgraph: FunctionGraph) -> list[NodeOf[Scan]]:
    """Return the loops of a graph, each after those it needs."""
    loops = [node for node in fgraph.apply_nodes if isinstance(node.op, Scan)]
    if len(loops) < 2:
        return loops  # type: ignore[return-value]  # loops
    return [node for node in fgraph.toposort() if isinstance(node.op, Scan)]  # type: ignore[misc]  # as before


def depends(op: Scan) -> dict[Variable, int]:
    """Return for each variable of a body whether it depends on rows of sequences and on carries; found once."""
    known: dict[Variable, int] | None = op.__dict__.get("_depends")
    if known is None:
        inner = op.inner
        known = dict.fromkeys(inner.constants, 0)
        known.update(dict.fromkeys(inner.sequences, ROW))
        known.update(dict.fromkeys(inner.carries, CARRY))
        for node in op.fgraph.toposort():
            bits = 0
            for x in node.inputs:
                bits |= known.get(x, 0)
            known.update(dict.fromkeys(node.outputs, bits))
        op.__dict__["_depends"] = known
    return known


def needed_carries(op: Scan, wanted: Iterable[int], rows: Iterable[int]) -> tuple[set[int], set[Variable]]:
    """Return which carries, and which inputs of the body, are needed for some carries' last values and some results.

    A condition is needed in any case.
    """
    carries = op.inner.carries
    place = {x: j for j, x in enumerate(carries)}
    outputs = op.fgraph.outputs
    needed = set(wanted)
    pending = [outputs[j] for j in needed] + [op.rows[k] for k in rows]
    if op.until is not None:
        pending.append(op.until)
    seen: set[Variable] = set()
    while pending:
        var = pending.pop()
        if var in seen:
            continue
        seen.add(var)
        j = place.get(var)
        if j is not None and j not in needed:
            needed.add(j)
            pending.append(outputs[j])
        if var.owner is not None:
            pending += var.owner.inputs
    return needed, seen


def covers(fgraph: FunctionGraph, steps: Variable, sequence: Variable) -> bool:
    """Whether a loop is certain to take every row of a sequence."""
    shapes = shapes_of(fgraph)
    return shapes.of_scalar(steps) == shapes.of(sequence)[0]


def least_steps(fgraph: FunctionGraph, steps: Variable) -> int:
    """Return a number of steps that a loop is certain to make at least, unless its condition ends it."""
    shapes = shapes_of(fgraph)
    return max(shapes.value(shapes.of_scalar(steps)) or 0, 0)


def numbered(
    inputs: Mapping[Variable, Hashable], outputs: Sequence[Variable], order: Sequence[Apply] | None = None
) -> dict[Variable, Hashable]:
    """Return a number for each variable: variables of one number have one value, if inputs of one number have."""
    numbers: dict[Variable, Hashable] = dict(inputs)
    known: dict[Hashable, int] = {}

    def number(var: Variable) -> Hashable:
        if var not in numbers:
            numbers[var] = _identity(var)
        return numbers[var]

    for node in toposort(outputs, list(inputs)) if order is None else order:
        key = (node.op, *map(number, node.inputs))
        at = known.setdefault(key, len(known))
        numbers.update((out, ("made", at, i)) for i, out in enumerate(node.outputs))
    for out in outputs:
        number(out)
    return numbers


@dataclass(slots=True)
class Edit:
    """Loops of a graph that are being changed into one.

    Attributes
    ----------
    parts
        The parts of the new loop.
    carries_for, rows_for
        For each carry and each stacked result of the new loop, the outputs of the old ones that it takes the place of;
        what was added comes after these.
    steps_for
        Outputs of old loops that are the number of steps made.
    replacements
        What takes the place of other outputs.
    """

    parts: LoopParts
    carries_for: list[list[Variable]] = field(default_factory=list)
    rows_for: list[list[Variable]] = field(default_factory=list)
    steps_for: list[Variable] = field(default_factory=list)
    replacements: dict[Variable, Variable] = field(default_factory=dict)

    @classmethod
    def of(cls, node: NodeOf[Scan]) -> Edit:
        """Return a loop taken apart."""
        op = node.op
        first, last = op.n_carries, op.n_carries + op.n_stacked
        outputs: list[Variable] = list(node.outputs)
        return cls(
            LoopParts.of(op, node.inputs),
            [[x] for x in outputs[:first]],
            [[x] for x in outputs[first:last]],
            outputs[last:],
        )

    def drop_carries(self, places: Collection[int]) -> None:
        """Take carries out."""
        parts = self.parts
        for items in (parts.starts, parts.carries, parts.new_carries, self.carries_for):
            _drop(items, places)

    def drop_rows(self, places: Collection[int]) -> None:
        """Take stacked results out."""
        for items in (self.parts.rows_out, self.rows_for):
            _drop(items, places)

    def drop_sequences(self, places: Collection[int]) -> None:
        """Take sequences out."""
        for items in (self.parts.sequences, self.parts.rows_in):
            _drop(items, places)

    def drop_givens(self, places: Collection[int]) -> None:
        """Take constants of the loop out."""
        for items in (self.parts.givens, self.parts.constants):
            _drop(items, places)

    def drop_unused_inputs(self) -> bool:
        """Take out sequences and constants that the body does not use; return whether there were any."""
        parts = self.parts
        used: set[Variable] = set(parts.outputs)
        for node in toposort(parts.outputs, parts.inputs):
            used.update(node.inputs)
        rows = {i for i, x in enumerate(parts.rows_in) if x not in used}
        givens = {i for i, x in enumerate(parts.constants) if x not in used}
        self.drop_sequences(rows)
        self.drop_givens(givens)
        return bool(rows or givens)

    def merge_equal(self) -> bool:
        """Merge inputs, carries and results that are the same in all steps; return whether there were any."""
        parts = self.parts
        numbers = equal_inputs(parts)
        first: dict[Hashable, Variable] = {}
        pairs = {x: kept for x in parts.inputs if (kept := first.setdefault(numbers[x], x)) is not x}
        place = {x: at for at, x in enumerate(parts.carries)}
        for x, kept in pairs.items():
            if x in place:
                self.carries_for[place[kept]] += self.carries_for[place[x]]
        if pairs:
            parts.replace(pairs)
        self.drop_carries({at for x, at in place.items() if x in pairs})
        self.drop_sequences({i for i, x in enumerate(parts.rows_in) if x in pairs})
        self.drop_givens({i for i, x in enumerate(parts.constants) if x in pairs})
        numbers_of_rows = numbered({x: x for x in parts.inputs}, parts.rows_out)
        rows: dict[Hashable, int] = {}
        twins = set()
        for at, row in enumerate(parts.rows_out):
            kept_at = rows.setdefault((numbers_of_rows[row], row.type), at)
            if kept_at != at:
                self.rows_for[kept_at] += self.rows_for[at]
                twins.add(at)
        self.drop_rows(twins)
        return bool(pairs or twins)

    def finish(self) -> dict[Variable, Variable]:
        """Return the replacement of each output of the old loops."""
        if not (any(self.carries_for) or any(self.rows_for) or self.steps_for):
            return dict(self.replacements)
        return {**self.replacements, **self.outputs_of(self.parts.apply())}

    def outputs_of(self, results: LoopResults) -> dict[Variable, Variable]:
        """Return the output of the new loop that replaces each output of the old ones."""
        pairs = [
            *zip(self.carries_for, results.carries, strict=False), *zip(self.rows_for, results.stacked, strict=False),
        ]  # fmt: skip
        if results.steps is not None:
            pairs.append((self.steps_for, results.steps))
        return {old: new for olds, new in pairs for old in olds}


def _drop(items: list[Any], places: Collection[int]) -> None:
    if places:
        items[:] = [x for i, x in enumerate(items) if i not in places]


def _identity(var: Variable) -> Hashable:
    if isinstance(var, Constant):
        try:
            return var.signature()
        except GraphTypeError:
            pass
    return var


def equal_inputs(parts: LoopParts) -> dict[Variable, Hashable]:
    """Return numbers of a body's inputs: those of one number are the same in every step.

    Carries that start alike are taken to be equal, until what a step makes of them tells them apart.
    """
    fixed: dict[Variable, Hashable] = {}
    for kind, outer_inputs, inner in (("row", parts.sequences, parts.rows_in), ("same", parts.givens, parts.constants)):
        fixed.update((x, (kind, _identity(outer), x.type)) for outer, x in zip(outer_inputs, inner, strict=True))
    group: list[Hashable] = [(_identity(x), c.type) for x, c in zip(parts.starts, parts.carries, strict=True)]
    outputs = parts.new_carries
    order = toposort(outputs, parts.inputs)
    while True:
        named = {x: ("carry", at) for x, at in zip(parts.carries, group, strict=True)}
        count = len(set(group))
        if count == len(group):
            return {**fixed, **named}
        numbers = numbered({**fixed, **named}, outputs, order)
        ids: dict[Hashable, int] = {}
        group = [ids.setdefault((at, numbers[new]), len(ids)) for at, new in zip(group, outputs, strict=True)]
        if len(ids) == count:
            return {**fixed, **{x: ("carry", at) for x, at in zip(parts.carries, group, strict=True)}}


def ends_alike(parts: LoopParts, other: Variable | None) -> bool:
    """Whether another condition holds in the same steps as a loop's own."""
    until = parts.until
    if until is None or other is None:
        return until is other
    numbers = numbered(equal_inputs(parts), [until, other])
    return numbers[until] == numbers[other]


def looked_at(node: NodeOf[Scan]) -> LoopParts:
    """Return the parts of a loop, which must not be changed: their body is the loop's own."""
    op = node.op
    outer, inner = op.sorted(node.inputs[1:]), op.inner
    return LoopParts(
        node.inputs[0], outer.sequences, inner.sequences, outer.carries, inner.carries, op.new_carries,
        outer.constants, inner.constants, op.rows, op.until,
    )  # fmt: skip


def has_equal_inputs(node: NodeOf[Scan]) -> bool:
    """Whether some inputs of a body are the same in every step."""
    numbers = equal_inputs(looked_at(node))
    return len(set(numbers.values())) < len(numbers)


def side_by_side(a: LoopParts, b: LoopParts) -> LoopParts:
    """Return a loop that does what two loops do; it ends as the first one."""
    return LoopParts(
        a.steps,
        [*a.sequences, *b.sequences],
        [*a.rows_in, *b.rows_in],
        [*a.starts, *b.starts],
        [*a.carries, *b.carries],
        [*a.new_carries, *b.new_carries],
        [*a.givens, *b.givens],
        [*a.constants, *b.constants],
        [*a.rows_out, *b.rows_out],
        a.until,
        name=a.name or b.name,
    )
