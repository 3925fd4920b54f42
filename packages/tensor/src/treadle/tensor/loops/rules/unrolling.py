"""Rules for loops that need not be loops: of no step or one, and of sums and products that are accumulations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import add, mul
from treadle.tensor.joins.joining import join
from treadle.tensor.loops.loops import Scan
from treadle.tensor.loops.rules.editing import Edit, covers
from treadle.tensor.reductions.accumulation import Accumulation
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, shapes_of
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle
from treadle.tensor.shapes.shape import LENGTH
from treadle.tensor.types.conversion import constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import FunctionGraph, Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("loops_unrolling", features=(SymbolicShapes,))


@RULES.rule((Phase.CANONICALIZE, Phase.SPECIALIZE), Scan, tags=("fast_run", "scan"), depth=1, needs_graph=True)
def loop_of_one_step(fgraph: FunctionGraph, node: NodeOf[Scan]) -> Mapping[Variable, Variable] | None:
    """scan(body) of no step or one -> what it starts with, or the body."""
    op, steps = node.op, node.inputs[0]
    if not isinstance(steps, Constant) or int(steps.data) not in {0, 1}:
        return None
    args = op.sorted(node.inputs[1:])
    if int(steps.data):
        # The loop checks that there is a row.
        if not all(_has_row(x) for x in args.sequences):
            return None
        body: list[Any] = op.fgraph.bind([*(x[0] for x in args.sequences), *args.carries, *args.constants])
        last = op.n_carries + op.n_stacked
        rows = [dimshuffle(x, NEW, *range(x.type.ndim)) for x in body[op.n_carries : last]]
        results = [*body[: op.n_carries], *rows]
    else:
        empty = [
            Alloc()(constant(0, dtype=row.type.dtype), 0, *(0 if n is None else n for n in shape))  # type: ignore[attr-defined]  # a tensor
            for row, shape in zip(op.rows, op.lengths_of_rows(node), strict=True)
        ]
        results = [*args.carries, *empty]
    if op.has_until:
        results.append(constant(int(steps.data), dtype=LENGTH))
    pairs: dict[Variable, Variable] = dict(zip(node.outputs, results, strict=True))
    used = {old: new for old, new in pairs.items() if fgraph.clients.get(old)}
    return pairs if all(old.type.is_super(new.type) for old, new in used.items()) else None


def _has_row(x: Variable) -> bool:
    n = x.type.shape[0]  # type: ignore[attr-defined]  # a tensor
    return n is not None and n > 0


@RULES.rule((Phase.STABILIZE, Phase.SPECIALIZE), Scan, tags=("fast_run", "scan"), depth=1, needs_graph=True)
def accumulation_by_loop(fgraph: FunctionGraph, node: NodeOf[Scan]) -> Mapping[Variable, Variable] | None:
    """scan(s + x_t) stacked -> cumsum(x) from the start on, and so for products."""
    op = node.op
    rows = op.rows
    if op.has_until or not op.n_carries or not rows:
        return None
    inner, steps = op.inner, node.inputs[0]
    for j, (carry, new) in enumerate(zip(inner.carries, op.new_carries, strict=True)):
        owner = new.owner
        if new not in rows or owner is None or owner.op not in {add, mul} or carry not in owner.inputs:
            continue
        other = owner.inputs[1 - owner.inputs.index(carry)]
        if other not in inner.sequences or not _is_alike(new, other):
            continue
        at = inner.sequences.index(other)
        sequence: Any = node.inputs[1 + at]
        start: Any = node.inputs[1 + op.n_sequences + j]
        if not covers(fgraph, steps, sequence) or not _same_rows(fgraph, start, sequence):
            continue
        kind = "sum" if owner.op is add else "prod"
        whole = join(0, dimshuffle(start, NEW, *range(start.type.ndim)), sequence)
        accumulated: Any = Accumulation(kind, 0, new.type.dtype)(whole)  # type: ignore[attr-defined]  # a tensor
        return _without(node, j, new, accumulated)
    return None


def _is_alike(a: Variable, b: Variable) -> bool:
    x, y = a.type, b.type
    if not isinstance(x, TensorType) or not isinstance(y, TensorType):
        return False
    return x.dtype != "bool" and (x.dtype, x.ndim) == (y.dtype, y.ndim)


def _same_rows(fgraph: FunctionGraph, start: Any, sequence: Any) -> bool:
    """Whether what a sum starts with is certain to have the shape of the rows."""
    if not start.type.ndim:
        return True
    shapes = shapes_of(fgraph)
    return shapes.of(start) == shapes.of(sequence)[1:]


def _without(node: NodeOf[Scan], j: int, new: Variable, steps: Any) -> Mapping[Variable, Variable] | None:
    """Return the outputs of a loop that takes a carry whose values in all steps are known as a sequence."""
    op = node.op
    edit = Edit.of(node)
    parts = edit.parts
    carry, after = parts.carries[j], parts.new_carries[j]
    edit.replacements.update(dict.fromkeys(edit.carries_for[j], steps[-1]))
    rows = [k for k, row in enumerate(op.rows) if row is new]
    for k in rows:
        edit.replacements.update(dict.fromkeys(edit.rows_for[k], steps[1:]))
    edit.drop_carries([j])
    edit.drop_rows(rows)
    row = after.type.make_variable()
    parts.replace({after: row})
    parts.add_sequence(steps[1:], row)
    parts.add_sequence(steps[:-1], carry)
    edit.drop_unused_inputs()
    replacements = edit.finish()
    return replacements if all(old.type.is_super(x.type) for old, x in replacements.items()) else None
