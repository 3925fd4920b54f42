"""ExtractDiag: a view with another address, other lengths and other strides."""

from __future__ import annotations

from dataclasses import replace

from treadle.link.numba.table import TABLE
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import ExtractDiag, TensorNode


@TABLE.register(ExtractDiag)
def lower_extract_diag(op: ExtractDiag, node: TensorNode, writer: GraphWriter) -> None:
    """Write the computation of the diagonal's address, length and stride."""
    value = writer.array(node.inputs[0])
    (out,) = node.outputs
    rows, columns = value.dims[op.axis1], value.dims[op.axis2]
    shifted = value.strides[op.axis2 if op.offset > 0 else op.axis1]
    if op.offset > 0:
        columns = f"({columns} - {op.offset})"
    elif op.offset < 0:
        rows = f"({rows} - {-op.offset})"
    count = writer.let(f"max(0, min({rows}, {columns}))", "n")
    address = value.address
    if op.offset:
        shift = f"{abs(op.offset)} * {shifted} * {value.storage.itemsize}"
        address = writer.let(f"{address} + ({shift} if {count} > 0 else 0)")
    stride = writer.let(f"{value.strides[op.axis1]} + {value.strides[op.axis2]}", "s")
    kept = op.kept(value.ndim)
    dims = writer.known_dims(out, (*(value.dims[d] for d in kept), count))
    strides = (*(value.strides[d] for d in kept), stride)
    certain = value.certain and not op.offset
    writer.bind(out, replace(value, address=address, dims=dims, strides=strides, packed=False, certain=certain))
