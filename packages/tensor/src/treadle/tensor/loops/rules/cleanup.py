"""Rules that take out of loops what they need not take, carry or return."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.loops.loops import Scan
from treadle.tensor.loops.rules.editing import (
    Edit,
    covers,
    has_equal_inputs,
    loops_of,
    needed_carries,
)
from treadle.tensor.rewrites.analysis.patterns import EARLY_AND_LATE
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.shape import lengths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import FunctionGraph, Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("loops_cleanup", features=(SymbolicShapes,))
# The documented names of those who do this work, and of their groups.
_CLEANUP = (
    "scan", "scan_eqopt1", "scan_eqopt2", "all_pushout_opt", "scan_input_and_output_cleanup0",
    "scan_input_and_output_cleanup1", "scan_input_and_output_cleanup2", "scan_input_and_output_cleanup3",
)  # fmt: skip
_PHASES = (Phase.CANONICALIZE, Phase.STABILIZE, Phase.SPECIALIZE)


def used_outputs(fgraph: FunctionGraph, node: NodeOf[Scan]) -> tuple[list[int], list[int]]:
    """Return which carries' last values, and which stacked results, something uses."""
    first, last = node.op.n_carries, node.op.n_carries + node.op.n_stacked
    used = [i for i, out in enumerate(node.outputs[:last]) if fgraph.clients[out]]
    return [i for i in used if i < first], [i - first for i in used if i >= first]


@RULES.graph_pass(_PHASES, tags=("fast_run", "scan_remove_unused", "scan_remove_unused_top", *_CLEANUP), needs=(Scan,))
def loop_of_unused(fgraph: FunctionGraph) -> int:
    """scan(a, b, c) of which only the first is used -> scan(a), with the carries and inputs that this needs."""
    changes = 0
    for node in reversed(loops_of(fgraph)):
        if node not in fgraph:
            continue
        op = node.op
        carries, rows = used_outputs(fgraph, node)
        needed, variables = needed_carries(op, carries, rows)
        inner = op.inner
        if (
            len(needed) == op.n_carries
            and len(rows) == op.n_stacked
            and all(x in variables for x in (*inner.sequences, *inner.constants))
        ):
            continue
        edit = Edit.of(node)
        edit.drop_carries(set(range(op.n_carries)) - needed)
        edit.drop_rows(set(range(op.n_stacked)) - set(rows))
        edit.drop_unused_inputs()
        fgraph.replace_all(_used(fgraph, edit.finish()), "loop_of_unused")
        changes += 1
    return changes


def _used(fgraph: FunctionGraph, replacements: Mapping[Variable, Variable]) -> list[tuple[Variable, Variable]]:
    return [(old, new) for old, new in replacements.items() if fgraph.clients.get(old)]


@RULES.rule(_PHASES, Scan, tags=("fast_run", "scan_merge_duplicate_inputs", "scan_merge_inouts", *_CLEANUP), depth=1)
def loop_of_equal(node: NodeOf[Scan]) -> Mapping[Variable, Variable] | None:
    """scan(x, x) -> scan(x): sequences, constants, carries that start and go on alike, stacked results."""
    op = node.op
    arguments = op.sorted(node.inputs[1:])
    alike = any(len(set(kind)) < len(kind) for kind in arguments) and has_equal_inputs(node)
    if not alike and len(set(op.rows)) == op.n_stacked:
        return None
    edit = Edit.of(node)
    return edit.finish() if edit.merge_equal() else None


@RULES.rule(
    _PHASES,
    Scan,
    tags=("fast_run", "scan_inline_invariant_constants", "constant_folding_for_scan2", *_CLEANUP),
    depth=1,
)
def constants_into_loop(node: NodeOf[Scan]) -> Mapping[Variable, Variable] | None:
    """scan(body of c, c known) -> scan(body with c in it), and so where a carry stays what it starts with."""
    op = node.op
    arguments, inner = op.sorted(node.inputs[1:]), op.inner
    still = [j for j, (old, new) in enumerate(zip(inner.carries, op.new_carries, strict=True)) if old is new]
    known = [i for i, x in enumerate(arguments.constants) if isinstance(x, Constant)]
    if not known and not still:
        return None
    edit = Edit.of(node)
    parts = edit.parts
    pairs: dict[Variable, Variable] = {parts.constants[i]: parts.givens[i] for i in known}
    edit.drop_givens(known)
    for j in still:
        start, carry = parts.starts[j], parts.carries[j]
        edit.replacements.update(dict.fromkeys(edit.carries_for[j], start))
        if isinstance(start, Constant):
            pairs[carry] = start
        else:
            constant = start.type.make_variable(carry.name)
            parts.add_given(start, constant)
            pairs[carry] = constant
    edit.drop_carries(still)
    if pairs:
        parts.replace(pairs)
    return edit.finish()


@RULES.rule(EARLY_AND_LATE, Scan, tags=("fast_run", *_CLEANUP), depth=1, needs_graph=True)
def stacked_inputs(fgraph: FunctionGraph, node: NodeOf[Scan]) -> Mapping[Variable, Variable] | None:
    """scan(row of x) stacked -> x[:steps]; scan(c) stacked -> c for each step."""
    op = node.op
    rows = {x: i for i, x in enumerate(op.inner.sequences)}
    same = {x: i for i, x in enumerate(op.inner.constants)}
    copies = [k for k, row in enumerate(op.rows) if row in rows or row in same or isinstance(row, Constant)]
    if not copies:
        return None
    arguments = op.sorted(node.inputs[1:])
    steps = node.outputs[-1] if op.has_until else node.inputs[0]
    # What the loop checks must still be checked: that there are as many rows, and not a negative number.
    remains = len(node.outputs) > len(copies)
    edit = Edit.of(node)
    taken = []
    for k in copies:
        row, out = op.rows[k], node.outputs[op.n_carries + k]
        if row in rows:
            sequence = arguments.sequences[rows[row]]
            whole = not op.has_until and covers(fgraph, steps, sequence)
            if not whole and not remains:
                continue
            rows_of_result = sequence if whole else sequence[:steps]
        else:
            value = row if isinstance(row, Constant) else arguments.constants[same[row]]
            rows_of_result = Alloc()(value, steps, *lengths(value))
        if out.type.is_super(rows_of_result.type):
            edit.replacements[out] = rows_of_result
            taken.append(k)
    if not taken:
        return None
    edit.drop_rows(taken)
    edit.drop_unused_inputs()
    return edit.finish()
