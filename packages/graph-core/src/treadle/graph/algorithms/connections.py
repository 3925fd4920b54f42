"""Which inputs gradients can flow to, in a node and in a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph.algorithms.traversal import toposort
from treadle.graph.diagnostics.failure import note_op
from treadle.graph.errors import GraphValueError
from treadle.graph.ir.variable import Variable, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph.ir.apply import Apply


def connections(node: Apply) -> list[list[bool]]:
    """Return an op's `connection_pattern` for a node: for each input, for each output, a truth value.

    Raises
    ------
    GraphValueError
        If it has not one row for each input and one column for each output.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> connections((x * y).owner)
    [[True], [True]]
    """
    op = node.op
    try:
        pattern = op.connection_pattern(node)
        rows, columns = len(node.inputs), len(node.outputs)
        fits = len(pattern) == rows and all(len(row) == columns for row in pattern)
    except Exception as error:
        note_op(error, op, "connection_pattern", node.where())
        raise
    if not fits:
        msg = (
            f"{op}: connection_pattern must have {rows} rows of {columns}, got {pattern!r}{node.where()}. "
            "Give a row for each input, with a truth value for each output."
        )
        raise GraphValueError(msg)
    return pattern


def io_connection_pattern(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> list[list[bool]]:
    """Return for each of the inputs, for each of the outputs, whether a gradient can flow from the one to the other.

    Each op between them is asked for its `Op.connection_pattern`.

    Parameters
    ----------
    inputs
        Variables taken as given.
    outputs
        Variables computed from them.

    Raises
    ------
    GraphValueError
        If an op's pattern has not one row for each input and one column for each output.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> io_connection_pattern([x, y], [tt.exp(x), x + y])
    [[True, True], [False, True]]
    """
    # One bit for each input: which of them a variable is connected to.
    reached: dict[Variable, int] = {}
    ins, outs = listed("input", inputs), listed("output", outputs)
    for i, var in enumerate(ins):
        reached[var] = reached.get(var, 0) | 1 << i
    for node in toposort(outs, ins):
        pattern = connections(node)
        bits = [reached.get(x, 0) for x in node.inputs]
        for o, out in enumerate(node.outputs):
            connected = 0
            for row, bits_of_input in zip(pattern, bits, strict=True):
                if row[o]:
                    connected |= bits_of_input
            reached.setdefault(out, connected)
    return [[bool(reached.get(out, 0) >> i & 1) for out in outs] for i in range(len(ins))]
