"""RepeatedPositions: the positions that a repetition reads, as ``numpy.repeat`` needs them."""

from __future__ import annotations

from treadle.link.numba.status import SHAPE, VALUE
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import RepeatedPositions, TensorNode

# The rules take complex numbers too.
TAKES_COMPLEX = True


@TABLE.register(RepeatedPositions)
def lower_repeated_positions(op: RepeatedPositions, node: TensorNode, writer: GraphWriter) -> None:
    """Add up the counts, then write each position as often as its count says."""
    counts = writer.array(node.inputs[0])
    n = writer.let(writer.scalar(node.inputs[1], "int64"), "n")
    (m,), (stride,) = counts.dims, counts.strides
    if m not in {"1", n}:
        writer.stop_if(f"{m} != 1 and {m} != {n}", SHAPE)
    step = "0" if m == "1" else writer.let(f"0 if {m} == 1 else {stride}", "s")
    total = writer.name("n")
    count = f"as_i8({counts.address})[i * {step}]"
    writer.add(
        f"{total} = 0",
        f"for i in range({n}):",
        f"    if {count} < 0:",
        f"        return STOP({VALUE})",
        # More elements could not be addressed, and their number would overflow int64.
        f"    if {count} > {2**60} - {total}:",
        f"        return STOP({VALUE})",
        f"    {total} = {total} + {count}",
    )
    positions = writer.new_output(node.outputs[0], [total])
    at = writer.name("at")
    writer.add(
        f"{at} = 0",
        f"for i in range({n}):",
        f"    for k in range({count}):",
        f"        as_i8({positions.address})[{at} + k] = i",
        f"    {at} = {at} + {count}",
    )
