"""SpecifyShape: the same array, with its lengths checked."""

from __future__ import annotations

from dataclasses import replace

from treadle.link.numba.status import SHAPE
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import SpecifyShape, TensorNode


@TABLE.register(SpecifyShape)
def lower_specify_shape(op: SpecifyShape, node: TensorNode, writer: GraphWriter) -> None:
    """Write the checks."""
    x, *lengths = node.inputs
    (out,) = node.outputs
    if not op.axes:
        writer.bind(out, writer.value(x))
        return
    value = writer.array(x)
    for d, n in zip(op.axes, lengths, strict=True):
        length = writer.scalar(n, "int64")
        if value.dims[d] != length:
            writer.stop_if(f"{value.dims[d]} != {length}", SHAPE)
    writer.bind(out, replace(value, dims=writer.known_dims(out, value.dims)))
