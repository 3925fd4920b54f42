"""Joins."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.link.numba.table import TABLE
from treadle.link.numba.text.values import ArrayValue, JoinedValue
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import Join, TensorNode


@TABLE.register(Join)
def lower_join(op: Join, node: TensorNode, writer: GraphWriter) -> None:
    """Copy each part to its place in the result; a join that this one alone reads is written in its place."""
    (out,) = node.outputs
    parts = [writer.array(v) for v in node.inputs]
    dims = list(parts[0].dims)
    for part in parts[1:]:
        for d, n in enumerate(part.dims):
            if d != op.axis:
                dims[d] = writer.same(dims[d], n)
    dims[op.axis] = writer.let(" + ".join(p.dims[op.axis] for p in parts), "n")
    storage, reader = writer.storage(out), writer.reader_of(out)
    if reader is not None and isinstance(reader.op, Join) and writer.storage(reader.outputs[0]) == storage:
        slots = tuple(sorted({slot for part in parts for slot in part.slots}))
        known = writer.known_dims(out, dims)
        writer.bind(out, JoinedValue("", known, (), storage, slots, certain=False, axis=op.axis, parts=tuple(parts)))
        return
    _write_parts(writer, writer.new_output(out, dims), op.axis, parts)


def _write_parts(writer: GraphWriter, result: ArrayValue, axis: int, parts: Sequence[ArrayValue]) -> None:
    """Write copies of parts to a result, one behind the other."""
    start = "0"
    for part in parts:
        lengths = tuple(part.dims[d] if d == axis else n for d, n in enumerate(result.dims))
        shift = f"{start} * {result.strides[axis]} * {result.storage.itemsize}"
        address = writer.let(f"{result.address} + {shift}")
        place = ArrayValue(address, lengths, result.strides, result.storage, result.slots)
        if isinstance(part, JoinedValue):
            _write_parts(writer, place, part.axis, part.parts)
        else:
            writer.copy_into(place, part)
        start = writer.let(f"{start} + {part.dims[axis]}", "n")
