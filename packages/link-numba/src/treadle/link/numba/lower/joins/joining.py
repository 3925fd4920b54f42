"""Join, and ranges."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.link.numba.dtypes import STORAGES, converted
from treadle.link.numba.status import VALUE
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.values import ArrayValue, JoinedValue
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import ARange, Join, TensorNode

# The rules take complex numbers too.
TAKES_COMPLEX = True


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


@TABLE.register(ARange)
def lower_arange(op: ARange, node: TensorNode, writer: GraphWriter) -> None:
    """Compute the length, then the first value and the difference of the first two, as NumPy does."""
    (out,) = node.outputs
    storage = STORAGES[op.dtype]
    of_integers = all(writer.storage(v).kind != "f" for v in node.inputs)
    source = "int64" if of_integers else "float64"
    start, step, count = _counted(writer, node) if of_integers else _measured(writer, node)
    texts = (converted(f"({t})", source, op.dtype) for t in (start, f"{start} + {step}"))
    first, second = (writer.let(t, code=storage.code) for t in texts)
    result = writer.new_output(out, [count])
    code = storage.code
    change = f"{code}({second} - {first})" if storage.kind != "b" else "False"
    value = f"{code}({first} + {code}(i) * {change})" if storage.kind != "b" else f"{first} if i == 0 else {second}"
    writer.add(
        f"for i in range({result.dims[0]}):", f"    as_{storage.memory}({result.address})[i] = {storage.stored(value)}"
    )


def _counted(writer: GraphWriter, node: TensorNode) -> tuple[str, str, str]:
    """Return start, step and length of a range of integers."""
    start, stop, step = (writer.let(writer.scalar(v, "int64"), "r") for v in node.inputs)
    writer.stop_if(f"{step} == 0", VALUE)
    count = writer.name("n")
    writer.add(
        f"if {step} > 0:",
        f"    {count} = max(0, ({stop} - {start} + {step} - 1) // {step})",
        "else:",
        f"    {count} = max(0, ({start} - {stop} - {step} - 1) // -{step})",
    )
    return start, step, count


def _measured(writer: GraphWriter, node: TensorNode) -> tuple[str, str, str]:
    """Return start, step and length of a range of floats."""
    start, stop, step = (writer.let(f"f8({writer.scalar(v, 'float64')})", "r", "f8") for v in node.inputs)
    writer.stop_if(f"{step} == 0", VALUE)
    size = writer.let(f"ceil(({stop} - {start}) / {step})", "r", "f8")
    writer.stop_if(f"not ({size} < 9e18)", VALUE)
    count = writer.name("n")
    writer.add(f"{count} = max(0, i8({size}))")
    return start, step, count
