"""Rules for results that are read in part: rows that nobody reads are not kept, and last steps are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.control.assertion import CheckAndRaise
from treadle.tensor.elementwise.arithmetic import minimum
from treadle.tensor.elementwise.comparison import gt
from treadle.tensor.indexing.expressions import At, Span
from treadle.tensor.indexing.indexing import Subtensor
from treadle.tensor.loops.loops import Scan
from treadle.tensor.loops.rules.editing import Edit, least_steps, loops_of
from treadle.tensor.rewrites.analysis.patterns import EARLY_AND_LATE
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.shape import LENGTH
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import FunctionGraph, Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("loops_traces", features=(SymbolicShapes,))
_TRACES = (
    "fast_run", "scan", "scan_save_mem", "scan_save_mem_no_prealloc", "scan_reduce_trace_no_prealloc",
    "scan_sit_sot_to_untraced",
)  # fmt: skip
_SOME_STEP = CheckAndRaise(IndexError, "the last row of a result is asked for, and the loop made no step")


def _reads_last(node: NodeOf[Subtensor]) -> bool:
    """Whether a node reads the last row of a tensor, or a part of that."""
    first = node.op.entries[0]
    n = node.inputs[0].type.shape[0]
    if not isinstance(first, At) or not isinstance(first.value, int):
        return False
    return first.value == -1 or (n is not None and first.value == n - 1)


def _last(fgraph: FunctionGraph, read: NodeOf[Subtensor], loop: NodeOf[Scan], value: Variable) -> Any:
    """Return the part that a node reads of the last row, given that row; without rows it is an error."""
    row: Any = value
    if not least_steps(fgraph, loop.inputs[0]):
        row = _SOME_STEP(row, gt(loop.inputs[0], 0))
    rest = read.op.entries[1:]
    return Subtensor(rest)(row, *read.inputs[1:]) if rest else row


@RULES.rule(EARLY_AND_LATE, Subtensor, tags=_TRACES, needs_graph=True)
def last_row_is_carry(fgraph: FunctionGraph, node: NodeOf[Subtensor]) -> TensorVariable | None:
    """h[-1] of stacked carries h -> the carry's last value."""
    loop: Any = node.inputs[0].owner
    if loop is None or not isinstance(loop.op, Scan) or not _reads_last(node):
        return None
    row = loop.op.rows[(node.inputs[0].index or 0) - loop.op.n_carries]
    at = next((j for j, new in enumerate(loop.op.new_carries) if new is row), None)
    if at is None:
        return None
    last: TensorVariable = _last(fgraph, node, loop, loop.outputs[at])
    return last if node.outputs[0].type.is_super(last.type) else None


@RULES.graph_pass(
    Phase.SPECIALIZE,
    tags=(*_TRACES, "scan_reduce_trace"),
    before=("loop_of_unused",),
    after=("fewer_steps",),
    needs=(Scan,),
)
def last_row_as_carry(fgraph: FunctionGraph) -> int:
    """y[-1] of stacked y, of which nothing else is read -> y as a carry, which is not stacked."""
    changes = 0
    for loop in reversed(loops_of(fgraph)):
        op = loop.op
        carried = set(op.new_carries)
        reads: dict[int, list[NodeOf[Subtensor]]] = {}
        for k, row in enumerate(op.rows):
            clients: list[Any] = [client for client, _ in fgraph.clients[loop.outputs[op.n_carries + k]]]
            if row not in carried and clients and all(isinstance(c.op, Subtensor) and _reads_last(c) for c in clients):
                reads[k] = clients
        if reads:
            changes += _carried(fgraph, loop, reads)
    return changes


def _carried(fgraph: FunctionGraph, loop: NodeOf[Scan], reads: Mapping[int, list[NodeOf[Subtensor]]]) -> int:
    """Make carries of stacked results whose last row alone is read; return how many."""
    edit = Edit.of(loop)
    parts = edit.parts
    lengths = loop.op.lengths_of_rows(loop)
    added = {}
    for k in reads:
        row: Any = parts.rows_out[k]
        # Nobody sees what it starts with.
        shape = [0 if n is None else n for n in lengths[k]]
        zero = constant(0, dtype=row.type.dtype)
        start = Alloc()(zero, *shape) if shape else zero
        added[k] = parts.add_carry(start, row.type.make_variable(row.name), row)
    edit.drop_rows(set(reads))
    parts.widen()
    results = parts.apply()
    replacements = edit.outputs_of(results)
    for k, clients in reads.items():
        for read in clients:
            replacements[read.outputs[0]] = _last(fgraph, read, loop, results.carries[added[k]])
    pairs = [(old, new) for old, new in replacements.items() if fgraph.clients.get(old)]
    if not all(old.type.is_super(new.type) for old, new in pairs):
        return 0
    fgraph.replace_all(pairs, "last_row_as_carry")
    return len(reads)


@RULES.graph_pass(
    Phase.SPECIALIZE,
    tags=("fast_run", "scan", "scan_save_mem", "scan_reduce_nsteps"),
    before=("loop_of_unused",),
    needs=(Scan,),
)
def fewer_steps(fgraph: FunctionGraph) -> int:
    """y[:k] of stacked y, of which no more is read -> y[:k] of a loop of k steps."""
    changes = 0
    for loop in reversed(loops_of(fgraph)):
        op = loop.op
        last = op.n_carries + op.n_stacked
        if op.has_until or any(fgraph.clients[out] for out in loop.outputs[: op.n_carries]):
            continue
        reads: list[Any] = [client for out in loop.outputs[:last] for client, _ in fgraph.clients[out]]
        wanted = [_rows_read(client) for client in reads]
        most = max((n for n in wanted if n is not None), default=0)
        steps: Any = loop.inputs[0]
        if not most or None in wanted or (isinstance(steps, Constant) and int(steps.data) <= most):
            continue
        fewer = constant(most, dtype=LENGTH) if isinstance(steps, Constant) else minimum(steps, most)
        shorter = op.make_node(fewer, *loop.inputs[1:])
        shorter.user_line = loop.user_line
        for old, new in zip(loop.outputs, shorter.outputs, strict=True):
            for read, _ in list(fgraph.clients[old]):
                part = read.op.make_node(new, *read.inputs[1:]).outputs[0]
                if read.outputs[0].type.is_super(part.type):
                    fgraph.replace(read.outputs[0], part, "fewer_steps")
        changes += 1
    return changes


def _rows_read(node: Any) -> int | None:
    """Return how many rows from the first on a node reads at most, None if that is not known."""
    if not isinstance(node.op, Subtensor):
        return None
    first = node.op.entries[0]
    if isinstance(first, At):
        return first.value + 1 if isinstance(first.value, int) and first.value >= 0 else None
    if not isinstance(first, Span):
        return None
    start, stop, step = first.start, first.stop, first.step
    if not isinstance(stop, int) or stop < 0 or not (start is None or (isinstance(start, int) and start >= 0)):
        return None
    return stop if step is None or (isinstance(step, int) and step > 0) else None
