"""Rules that take out of loops what does not change with what they carry: once, or for all steps at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from treadle.graph import VECTORIZERS, Branching, Constant, IfElse, VectorizeError, graph_replace, vectorize_graph
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.indexing.expressions import At, Span
from treadle.tensor.indexing.indexing import Subtensor
from treadle.tensor.loops.loops import Scan
from treadle.tensor.loops.rules.editing import CARRY, ROW, Edit, covers, depends, least_steps
from treadle.tensor.products.product import MatMul
from treadle.tensor.reductions.reduction import Reduction
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.broadcasting import Alloc, SumTo
from treadle.tensor.shapes.dimshuffle import DimShuffle
from treadle.tensor.shapes.shape import Shape, ShapeI
from treadle.tensor.shapes.shape_specification import specify_shape
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.tensor.loops.parts import LoopParts
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("loops_hoisting", features=(SymbolicShapes,))
_PHASES = (Phase.STABILIZE, Phase.SPECIALIZE)
_PUSHOUT = ("fast_run", "scan", "scan_eqopt1", "all_pushout_opt", "scan_pushout")


def is_view(node: Apply) -> bool:
    """Whether a node computes nothing."""
    return bool(node.op.view_map) or isinstance(node.op, ShapeI | Shape)


def _is_tensors(node: Apply) -> bool:
    return all(isinstance(x.type, TensorType) for x in (*node.inputs, *node.outputs))


def _never_raises(node: Apply) -> bool:
    """Whether a node computes something whatever the values are, given shapes that fit."""
    op = node.op
    if isinstance(op, Subtensor):
        return all(isinstance(entry, Span) for entry in op.entries)
    if isinstance(op, Reduction):
        return op.kind not in {"max", "min"}
    if hasattr(op, "on_error"):  # what becomes of matrices for which there is no result
        return bool(op.on_error == "nan")
    return isinstance(op, Elemwise | DimShuffle | Shape | ShapeI | MatMul | SumTo | Alloc)


def in_branches(order: Sequence[Apply], outputs: Sequence[Variable]) -> set[Apply]:
    """Return the nodes that run in one branch of a choice only."""
    if not any(isinstance(node.op, IfElse) for node in order):
        return set()
    branching = Branching(order, outputs)
    return {node for node in order if branching.home[node] is not branching.root}


@RULES.rule(
    _PHASES, Scan, tags=(*_PUSHOUT, "scan_push_out_non_seq", "scan_pushout_nonseqs_ops"), depth=1, needs_graph=True
)
def invariants_out_of_loop(fgraph: FunctionGraph, node: NodeOf[Scan]) -> Mapping[Variable, Variable] | None:
    """scan(g(f(c), x)) -> scan(g(d, x)), d = f(c), for what is the same in all steps.

    Where the loop may make no step at all, only what cannot fail.
    """
    op = node.op
    known = depends(op)
    runs = least_steps(fgraph, node.inputs[0]) > 0

    def may_move(inner: Apply) -> bool:
        return inner.op.leaves_loops or (_is_tensors(inner) and (runs or _never_raises(inner)))

    if not any(not known[n.outputs[0]] and may_move(n) for n in op.fgraph.toposort()):
        return None
    edit = Edit.of(node)
    parts = edit.parts
    order = parts.nodes()
    lazy = in_branches(order, parts.outputs)
    fixed: set[Variable] = set(parts.constants)
    moved = []
    for inner in order:
        if inner not in lazy and may_move(inner) and all(x in fixed or isinstance(x, Constant) for x in inner.inputs):
            fixed.update(inner.outputs)
            moved.append(inner)
    frontier = _frontier(parts, order, moved)
    if not frontier:
        return None
    outside = graph_replace(frontier, dict(zip(parts.constants, parts.givens, strict=True)), strict=False)
    pairs = {}
    for var, value in zip(frontier, outside, strict=True):
        pairs[var] = var.type.make_variable(var.name)
        parts.add_given(value, pairs[var])
    parts.replace(pairs)
    edit.drop_unused_inputs()
    return edit.finish()


def _frontier(parts: LoopParts, order: Sequence[Apply], moved: Collection[Apply]) -> list[Variable]:
    """Return the results of nodes that move out of a loop which nodes that stay read."""
    away = set(moved)
    used: dict[Variable, None] = {}
    for inner in order:
        if inner not in away:
            used.update(dict.fromkeys(x for x in inner.inputs if x.owner in away))
    used.update(dict.fromkeys(x for x in parts.outputs if x.owner in away))
    return list(used)


# Rows


def _lengths_known_one(var: Variable) -> tuple[bool, ...]:
    return tuple(n == 1 for n in var.type.shape)  # type: ignore[attr-defined]  # a tensor


def _stays_small(node: Apply, bits: Mapping[Variable, int]) -> bool:
    """Whether the results for all steps take no more memory than what they are computed from."""
    (out,) = node.outputs
    rows = [x for x in node.inputs if bits.get(x, 0) & ROW]
    if isinstance(node.op, MatMul):
        return node.inputs[0].type.shape[-1] != 1  # type: ignore[attr-defined]  # a tensor
    if isinstance(node.op, Elemwise):
        return any(_lengths_known_one(x) == _lengths_known_one(out) for x in rows)
    return isinstance(node.op, Reduction | DimShuffle | SumTo) or (
        isinstance(node.op, Subtensor) and node.inputs[0] in rows
    )


def may_batch(node: Apply, bits: Mapping[Variable, int], all_of_it: bool) -> bool:
    """Whether a node may be computed for all steps at once."""
    if len(node.outputs) != 1 or not _is_tensors(node):
        return False
    if isinstance(node.op, Elemwise | MatMul | Reduction | DimShuffle | SumTo | Subtensor):
        return _stays_small(node, bits)
    return all_of_it and not isinstance(node.op, IfElse | Alloc) and VECTORIZERS.rule(node) is not None


@RULES.rule(_PHASES, Scan, tags=(*_PUSHOUT, "scan_push_out_seq", "scan_pushout_seqs_ops"), depth=1, needs_graph=True)
def rows_out_of_loop(fgraph: FunctionGraph, node: NodeOf[Scan]) -> Mapping[Variable, Variable] | None:
    """scan(g(f(x_t), h_t)) over x -> scan(g(y_t, h_t)) over y = f(x), for what depends on no carry.

    Only where y is no larger than x, and the number of steps is known beforehand.
    """
    op = node.op
    if op.has_until or not op.n_sequences:
        return None
    known = depends(op)
    alone = not op.n_carries
    if not any(
        known[n.outputs[0]] == ROW and not is_view(n) and may_batch(n, known, alone) for n in op.fgraph.toposort()
    ):
        return None
    edit = Edit.of(node)
    parts = edit.parts
    order = parts.nodes()
    moved = _batched(parts, order, alone)
    frontier = _frontier(parts, order, moved)
    # What only looks at a row otherwise stays.
    while trailing := {x.owner for x in frontier if _is_view_of_row(x) and x not in parts.rows_out}:
        moved = [inner for inner in moved if inner not in trailing]
        frontier = _frontier(parts, order, moved)
    if not frontier:
        return None
    sequences = all_rows(fgraph, parts, frontier)
    if sequences is None:
        return None
    pairs = {}
    for var, sequence in zip(frontier, sequences, strict=True):
        pairs[var] = var.type.make_variable(var.name)
        parts.add_sequence(sequence, pairs[var])
    parts.replace(pairs)
    edit.drop_unused_inputs()
    return edit.finish()


def _is_view_of_row(var: Variable) -> bool:
    while var.owner is not None and is_view(var.owner):
        var = var.owner.inputs[0]
    return var.owner is None


def _batched(parts: LoopParts, order: Sequence[Apply], all_of_it: bool) -> list[Apply]:
    """Return the nodes of a body that can be computed for all steps at once, with those they need."""
    bits: dict[Variable, int] = dict.fromkeys(parts.rows_in, ROW)
    bits.update(dict.fromkeys(parts.carries, CARRY))
    lazy = in_branches(order, parts.outputs)
    ready: set[Variable] = {*parts.rows_in, *parts.constants}
    moved = []
    for inner in order:
        own = 0
        for x in inner.inputs:
            own |= bits.get(x, 0)
        bits.update(dict.fromkeys(inner.outputs, own))
        if (
            own == ROW
            and inner not in lazy
            and all(x in ready or isinstance(x, Constant) for x in inner.inputs)
            and may_batch(inner, bits, all_of_it)
        ):
            ready.update(inner.outputs)
            moved.append(inner)
    return moved


def all_rows(
    fgraph: FunctionGraph, parts: LoopParts, variables: Sequence[Variable], known: Mapping[Variable, Any] | None = None
) -> list[Any] | None:
    """Return variables of a body for all steps at once, None if an op refuses.

    They depend on rows, constants and what is known for all steps.
    """
    steps: Any = parts.steps
    whole: dict[Variable, Any] = {
        x: s if covers(fgraph, steps, s) else s[:steps]  # type: ignore[index]  # a tensor
        for x, s in zip(parts.rows_in, parts.sequences, strict=True)
    }
    whole.update(known or {})
    try:
        stacked: list[Any] = vectorize_graph(list(variables), whole)
    except VectorizeError:
        return None
    return graph_replace(stacked, dict(zip(parts.constants, parts.givens, strict=True)), strict=False)


@RULES.rule(_PHASES, Scan, tags=(*_PUSHOUT, "scan_push_out_seq"), depth=2, needs_graph=True)
def equal_rows(fgraph: FunctionGraph, node: NodeOf[Scan]) -> Mapping[Variable, Variable] | None:
    """scan(x), all rows of x the same -> scan with a constant."""
    op = node.op
    arguments = op.sorted(node.inputs[1:])
    steps = node.inputs[0]
    constant_rows = {i: row for i, x in enumerate(arguments.sequences) if (row := _one_row(x)) is not None}
    constant_rows = {
        i: row
        for i, row in constant_rows.items()
        if op.inner.sequences[i].type.is_super(row.type) and covers(fgraph, steps, arguments.sequences[i])
    }
    if not constant_rows:
        return None
    edit = Edit.of(node)
    parts = edit.parts
    for i, row in constant_rows.items():
        parts.add_given(row, parts.rows_in[i])
    edit.drop_sequences(set(constant_rows))
    return edit.finish()


def _one_row(x: Variable) -> Any:
    """Return the row that a tensor repeats, or None."""
    owner = x.owner
    while owner is not None and isinstance(owner.op, Subtensor):
        # Which rows are taken does not matter; what is taken of each does.
        first, *rest = owner.op.entries
        if not isinstance(first, Span) or not all(isinstance(entry, Span) and entry.is_full for entry in rest):
            return None
        owner = owner.inputs[0].owner
    if owner is None or not isinstance(owner.op, Alloc):
        return None
    value: Any = owner.inputs[0]
    lengths = owner.inputs[2:]
    ndim = x.type.ndim  # type: ignore[attr-defined]  # a tensor
    if value.ndim == ndim:
        if value.type.shape[0] != 1:
            return None
        value = value[0]
    return Alloc()(value, *lengths) if lengths else value


# Results


@RULES.rule(_PHASES, Scan, tags=(*_PUSHOUT, "scan_push_out_dot1", "scan_pushout_dot1"), depth=1, needs_graph=True)
def results_out_of_loop(fgraph: FunctionGraph, node: NodeOf[Scan]) -> Mapping[Variable, Variable] | None:
    """scan(h_t, f(h_t)) stacked -> h and f(h), for what is computed from stacked results, rows and constants.

    Of carries that are not stacked, no more are than results go.
    """
    gone, more = _computed_from_results(fgraph, node)
    if not gone or len(more) > len(gone):
        return None
    edit = Edit.of(node)
    parts = edit.parts
    carried = [parts.new_carries[j] for j in more]
    if more and not least_steps(fgraph, node.inputs[0]) and _lengths_unknown(parts, carried):
        return None
    values = [parts.rows_out[k] for k in gone]
    olds = [edit.rows_for[k] for k in gone]
    edit.drop_rows(gone)
    for x in carried:
        parts.add_result(x)
    before = replace(parts, rows_in=[*parts.rows_in], constants=[*parts.constants])
    before.sequences, before.givens = [*parts.sequences], [*parts.givens]
    edit.drop_unused_inputs()
    results = parts.apply()
    computed = all_rows(fgraph, before, values, dict(zip(parts.rows_out, results.stacked, strict=True)))
    if computed is None:
        return None
    replacements = edit.outputs_of(results)
    replacements.update((old, _as_known(new, old)) for group, new in zip(olds, computed, strict=True) for old in group)
    return replacements


def _as_known(rows: TensorVariable, old: Variable) -> TensorVariable:
    """Return rows with the static lengths of the variable that they replace."""
    known = old.type.shape  # type: ignore[attr-defined]  # a tensor
    return rows if old.type.is_super(rows.type) else specify_shape(rows, known)


def _computed_from_results(fgraph: FunctionGraph, node: NodeOf[Scan]) -> tuple[list[int], list[int]]:
    """Return which results are computed from others, rows and constants, and which carries must be stacked for it."""
    op = node.op
    rows, carried = op.rows, {x: j for j, x in enumerate(op.new_carries)}
    candidates = [
        k
        for k, row in enumerate(rows)
        if row not in carried
        and row.owner is not None
        and not _reads_single_rows(fgraph, node.outputs[op.n_carries + k])
    ]
    if op.has_until or not candidates:
        return [], []
    bits = {x: ROW for x, at in depends(op).items() if at}
    lazy = in_branches(op.fgraph.toposort(), op.inner_outputs)
    inner = op.inner
    gone: list[int] = []
    more: dict[int, None] = {}
    for k in candidates:
        others = {x for i, x in enumerate(rows) if i != k and i not in gone}
        leaves = _leaves(rows[k], {*inner.sequences, *inner.constants, *others, *carried}, bits, lazy)
        if leaves is not None:
            gone.append(k)
            more.update((carried[x], None) for x in leaves if x in carried and x not in others)
    return gone, list(more)


def _reads_single_rows(fgraph: FunctionGraph, out: Variable) -> bool:
    """Whether only single rows of a stacked result are read."""
    readers = [client.op for client, _ in fgraph.clients[out]]
    return all(isinstance(op, Subtensor) and isinstance(op.entries[0], At) for op in readers)


def _leaves(
    var: Variable, known: Collection[Variable], bits: Mapping[Variable, int], lazy: Collection[Apply]
) -> set[Variable] | None:
    """Return the known variables that one is computed from, or None if it cannot be computed for all steps at once."""
    leaves: set[Variable] = set()
    seen: set[Variable] = set()
    pending = [var]
    while pending:
        x = pending.pop()
        if x in seen or isinstance(x, Constant):
            continue
        seen.add(x)
        if x in known:
            leaves.add(x)
        elif x.owner is None or x.owner in lazy or not (bits.get(x, 0) and may_batch(x.owner, bits, False)):
            return None
        else:
            pending += x.owner.inputs
    return leaves


def _lengths_unknown(parts: LoopParts, rows: Collection[Variable]) -> bool:
    """Whether rows have lengths that are not known before the first step."""
    trial = replace(parts, rows_out=[*rows])
    return any(None in places for places in trial.op().row_lengths.places)
