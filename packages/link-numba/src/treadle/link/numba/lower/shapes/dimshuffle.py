"""DimShuffle: a view with other lengths and strides."""

from __future__ import annotations

from dataclasses import replace

from treadle.link.numba.status import SHAPE
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.values import ScalarValue
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import DimShuffle, TensorNode


@TABLE.register(DimShuffle)
def lower_dimshuffle(op: DimShuffle, node: TensorNode, writer: GraphWriter) -> None:
    """Rearrange lengths and strides."""
    (x,), (out,) = node.inputs, node.outputs
    value = writer.value(x)
    if isinstance(value, ScalarValue):
        if op.order:
            writer.bind_number(out, value)
        else:
            writer.bind(out, value)
        return
    for d in op.dropped:
        if value.dims[d] != "1":
            writer.stop_if(f"{value.dims[d]} != 1", SHAPE)
    if not op.order:
        writer.bind_scalar(out, value.storage.loaded(f"as_{value.storage.memory}({value.address})[0]"))
        return
    dims = tuple(value.dims[d] if isinstance(d, int) else "1" for d in op.order)
    strides = tuple(value.strides[d] if isinstance(d, int) else "0" for d in op.order)
    kept = [d for d in op.order if isinstance(d, int)]
    ordered = value.packed and kept == sorted(kept)
    if ordered:
        strides = writer.packed_strides(dims)
    writer.bind(out, replace(value, dims=dims, strides=strides, packed=ordered))
