"""Checks of masks."""

from __future__ import annotations

from treadle.link.numba.status import INDEX
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import CheckMask, TensorNode


@TABLE.register(CheckMask)
def lower_check_mask(op: CheckMask, node: TensorNode, writer: GraphWriter) -> None:
    """Check the lengths; the result is the mask itself."""
    mask, *expected = node.inputs
    value = writer.array(mask)
    for n, length in zip(value.dims[len(value.dims) - len(expected) :], expected, strict=True):
        other = writer.let(writer.scalar(length, "int64"), "n")
        if n != other:
            writer.stop_if(f"{n} != {other}", INDEX)
    writer.bind(node.outputs[0], value)
