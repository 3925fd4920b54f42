"""Numbers of steps that a condition decides, where lengths depend on them: XLA must know lengths before it runs.

A program is cut after such a loop. What follows is compiled for the number of steps, as for an input that decides a
shape. The loop itself writes its rows into buffers that are long enough for all steps it may make.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from treadle.graph import Apply, Cell, Constant, FunctionGraph, Op, Value, Variable, static_op
from treadle.tensor import (
    ENDLESS,
    LoopParts,
    Scan,
    Shape,
    ShapeI,
    TensorType,
    add,
    constant,
    maximum,
    set_subtensor,
    static_positions,
    tensors,
    zeros,
)

_COUNT = TensorType("int64", ())


@static_op
class Landed(Op):
    """An integer handed to Python: what follows is compiled for its value."""

    on_host: ClassVar[bool] = True

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node."""
        (count,) = inputs
        return Apply(self, [count], [count.type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Copy it."""
        output_storage[0][0] = inputs[0].copy()


@static_op
class FirstRows(Op):
    """The rows that a loop has written into a buffer."""

    on_host: ClassVar[bool] = True

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node."""
        buffer, count = inputs
        kind = TensorType(buffer.type.dtype, (None, *buffer.type.shape[1:]))
        return Apply(self, [buffer, count], [kind.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Copy them: the buffer may be much longer."""
        buffer, count = inputs
        output_storage[0][0] = buffer[: int(count)].copy()


def cut_at_counts(fgraph: FunctionGraph) -> FunctionGraph:
    """Return a graph in which numbers of steps pass through Python where lengths depend on them."""
    if not any(isinstance(node.op, Scan) and node.op.has_until for node in fgraph.apply_nodes):
        return fgraph
    cut = fgraph.clone()
    for node in cut.toposort():
        op = node.op
        if not isinstance(op, Scan) or not op.has_until:
            continue
        outputs = _with_buffers(op, node) if op.n_stacked else None
        if outputs is not None:
            cut.replace_all(zip(node.outputs, outputs, strict=True), reason="expand")
        count = node.outputs[-1] if outputs is None else outputs[-1]
        if _decides_lengths(cut, count):
            clients = [(client, at) for client, at in cut.clients[count] if not isinstance(client.op, FirstRows)]
            landed = Landed()(count)
            for client, at in clients:
                cut.change_node_input(client, at, landed, reason="expand")
    return cut


def _decides_lengths(fgraph: FunctionGraph, count: Variable) -> bool:
    """Whether a shape depends on a number."""
    following = {count}
    for node in fgraph.toposort():
        op = node.op
        if isinstance(op, Scan):
            # Those of a body are not looked up: any integer that the body takes may decide one.
            positions = [0] if op.n_stacked else []
            positions += range(1 + op.n_sequences + op.n_carries, len(node.inputs))
        else:
            positions = list(static_positions(node))
        if any(node.inputs[at] in following for at in positions):
            return True
        if not isinstance(op, Shape | ShapeI) and any(x in following for x in node.inputs):
            following.update(
                out for out in node.outputs if isinstance(out.type, TensorType) and out.type.numpy_dtype.kind in "biu"
            )
    return False


def _with_buffers(op: Scan, node: Apply) -> list[Variable] | None:
    """Return the outputs of the loop, its rows written into buffers; None where these would have no known lengths."""
    parts = LoopParts.of(op, node.inputs)
    known = op.row_lengths
    endless = isinstance(parts.steps, Constant) and int(parts.steps.data) == ENDLESS
    if endless or any(None in places for places in known.places):
        return None
    rows = [zeros([x.shape[d] for d in range(1, x.ndim)], dtype=x.dtype) for x in tensors(parts.sequences)]
    bound = known.fgraph.bind([*rows, *parts.starts, *parts.givens])
    at = _COUNT.make_variable("step")
    parts.add_carry(constant(0, dtype=_COUNT.dtype), at, add(at, 1))
    first = len(parts.starts)
    # At least one row: an empty buffer has no position to write to.
    most = maximum(parts.steps, 1)
    for row, places in zip(tensors(parts.rows_out), known.places, strict=True):
        shape: list[Any] = [bound[place[0]] if isinstance(place, tuple) else place for place in places]
        start = zeros([most, *shape], dtype=row.dtype)
        buffer: Any = start.type.make_variable()
        parts.add_carry(start, buffer, set_subtensor(buffer[at], row))
    parts.rows_out = []
    parts.widen()
    buffered = parts.node()
    buffered.user_line = node.user_line
    count = buffered.outputs[-1]
    stacked = [FirstRows()(buffer, count) for buffer in buffered.outputs[first:-1]]
    return [*buffered.outputs[: op.n_carries], *stacked, count]
