"""Copies."""

from __future__ import annotations

from treadle.graph import DeepCopyOp
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.values import ScalarValue
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import TensorNode


@TABLE.register(DeepCopyOp)
def lower_deep_copy(op: DeepCopyOp, node: TensorNode, writer: GraphWriter) -> None:
    """Copy an array; a scalar needs no copy."""
    value = writer.value(node.inputs[0])
    if isinstance(value, ScalarValue):
        writer.bind(node.outputs[0], value)
        return
    writer.copy_into(writer.new_output(node.outputs[0], value.dims), value)
