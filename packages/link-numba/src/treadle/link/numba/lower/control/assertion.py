"""Assertions."""

from __future__ import annotations

from treadle.link.numba.status import ASSERTION
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import CheckAndRaise, TensorNode


@TABLE.register(CheckAndRaise)
def lower_check_and_raise(op: CheckAndRaise, node: TensorNode, writer: GraphWriter) -> None:
    """Test each condition, then bind the value to the output."""
    value, *conditions = node.inputs
    for condition in conditions:
        writer.stop_if(f"not ({writer.scalar(condition)})", ASSERTION)
    writer.bind(node.outputs[0], writer.value(value))
