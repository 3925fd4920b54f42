"""Kernels of the positions that a repetition reads, as ``numpy.repeat`` needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.kernels import TABLE, Site, Status, kernel
from treadle.kernels.language import OK, Pointer, Vector, int64
from treadle.tensor.arrangement.repetition import RepeatedPositions

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorNode

# More elements could not be addressed, and their number would overflow int64.
_MOST = 2**60
_OTHER_LENGTH = -2


@kernel
def count_repeated(counts: Vector[int64], n: int) -> int:
    """Add up the counts of n positions, of which one may be for all; -1 for counts that cannot be, -2 for a wrong n."""
    m = len(counts)
    if m != 1 and m != n:
        return _OTHER_LENGTH
    step = 0 if m == 1 else counts.strides[0]
    total = 0
    for i in range(n):
        count = counts.pointer[i * step]
        if count < 0 or count > _MOST - total:
            return -1
        total += count
    return total


@kernel
def repeat_positions(counts: Vector[int64], n: int, o: Pointer[int64]) -> int:
    """Write each position as often as its count says."""
    step = 0 if len(counts) == 1 else counts.strides[0]
    at = 0
    for i in range(n):
        stop = at + counts.pointer[i * step]
        while at < stop:
            o[at] = i
            at += 1
    return OK


@TABLE.register(RepeatedPositions)
def lower_repeated_positions(op: RepeatedPositions, node: TensorNode, site: Site) -> None:
    """Add up the counts, then write the positions."""
    counts, n = site.array(node.inputs[0]), site.integer(node.inputs[1])
    total = site.compute(count_repeated, counts, n)
    site.stop_if(total < -1)
    site.stop_if(total < 0, Status.VALUE)
    site.run(repeat_positions, counts, n, site.output(node.outputs[0], [total]).pointer)
