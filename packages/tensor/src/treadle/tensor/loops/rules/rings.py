"""A rule for results whose last few rows are read: only these are kept, in a ring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import add, minimum, mod, mul
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.comparison import ge
from treadle.tensor.indexing.expressions import At, Span
from treadle.tensor.indexing.indexing import Subtensor, set_subtensor
from treadle.tensor.loops.loops import Scan
from treadle.tensor.loops.rules.editing import Edit, least_steps, loops_of
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.shape import LENGTH
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("loops_rings", features=(SymbolicShapes,))


@RULES.graph_pass(
    Phase.SPECIALIZE,
    tags=("fast_run", "scan", "scan_save_mem"),
    before=("loop_of_unused",),
    after=("last_row_as_carry",),
    needs=(Scan,),
)
def last_rows_in_ring(fgraph: FunctionGraph) -> int:
    """y[-k:] of stacked y, of which no more is read -> k rows that are carried and written to in turn."""
    changes = 0
    for loop in reversed(loops_of(fgraph)):
        op = loop.op
        steps: Any = loop.inputs[0]
        depths: dict[int, int] = {}
        for k in range(op.n_stacked):
            clients: list[Any] = [client for client, _ in fgraph.clients[loop.outputs[op.n_carries + k]]]
            reads = [_from_the_end(client) for client in clients]
            most = max((read[1] for read in reads if read is not None), default=0)
            # Of twice as many rows there is something to win.
            if most and None not in reads and not (isinstance(steps, Constant) and int(steps.data) < 2 * most):
                depths[k] = most
        if depths:
            changes += _kept_in_rings(fgraph, loop, depths)
    return changes


def _from_the_end(node: Any) -> tuple[At | Span, int] | None:
    """Return which rows a node reads, counted from the last one, and how many from there on that are at most.

    It is None if that is not known.
    """
    if not isinstance(node.op, Subtensor):
        return None
    first = node.op.entries[0]
    n = node.inputs[0].type.shape[0]

    def counted(at: object) -> int | None:
        """Return a position as a number below 0, or 0 behind the last row; None if it is not known."""
        if not isinstance(at, int) or (at >= 0 and n is None):
            return None
        return at if at < 0 else min(at - n, 0)

    if isinstance(first, At):
        at = counted(first.value)
        return (At(at), -at) if at else None
    if not isinstance(first, Span):
        return None
    step = 1 if first.step is None else first.step
    if not isinstance(step, int):
        return None
    # The end that lies further from the last row, and the other one.
    ends = (first.start, first.stop) if step > 0 else (first.stop, first.start)
    far, near = map(counted, ends)
    if not far or (near is None and ends[1] is not None):
        return None
    near = near or None
    return (Span(far, near, first.step), -far) if step > 0 else (Span(near, far, first.step), -far - 1)


def _kept_in_rings(fgraph: FunctionGraph, loop: NodeOf[Scan], depths: Mapping[int, int]) -> int:
    """Make rings of stacked results; return how many."""
    edit = Edit.of(loop)
    parts = edit.parts
    lengths = loop.op.lengths_of_rows(loop)
    depths = {k: depth for k, depth in depths.items() if None not in lengths[k]}
    if not depths:
        return 0
    number: Any = constant(0, dtype=LENGTH).type.make_variable()
    parts.add_carry(constant(0, dtype=LENGTH), number, add(number, 1))
    rings = {}
    for k, depth in depths.items():
        row: Any = parts.rows_out[k]
        start = Alloc()(constant(0, dtype=row.type.dtype), depth, *lengths[k])
        ring: Any = start.type.make_variable(row.name)
        rings[k] = parts.add_carry(start, ring, set_subtensor(ring[mod(number, depth)], row))
    outputs = list(loop.outputs)
    edit.drop_rows(set(depths))
    parts.widen()
    results = parts.apply()
    replacements = edit.outputs_of(results)
    count: Any = results.steps if loop.op.has_until else loop.inputs[0]
    least = 0 if loop.op.has_until else least_steps(fgraph, loop.inputs[0])
    for k, depth in depths.items():
        rows = _in_order(results.carries[rings[k]], count, depth, least)
        clients: list[Any] = [client for client, _ in fgraph.clients[outputs[loop.op.n_carries + k]]]
        for client in clients:
            read = _from_the_end(client)
            if read is not None:
                replacements[client.outputs[0]] = Subtensor((read[0], *client.op.entries[1:]))(rows, *client.inputs[1:])
    pairs = [(old, new) for old, new in replacements.items() if fgraph.clients.get(old)]
    if not all(old.type.is_super(new.type) for old, new in pairs):
        return 0
    fgraph.replace_all(pairs, "last_rows_in_ring")
    return len(depths)


def _in_order(ring: Any, count: Any, depth: int, least: int) -> TensorVariable:
    """Return the rows of a ring, the oldest first: those that were written to, if they are fewer than the ring has."""
    full = least >= depth
    oldest = mod(count, depth) if full else mul(mod(count, depth), cast(ge(count, depth), LENGTH))
    ordered: TensorVariable = ring[mod(add(oldest, np.arange(depth)), depth)]
    return ordered if full else ordered[: minimum(count, depth)]
