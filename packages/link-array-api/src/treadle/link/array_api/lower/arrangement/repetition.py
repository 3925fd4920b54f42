"""RepeatedPositions."""

from __future__ import annotations

from treadle.link.array_api.libraries import library
from treadle.link.array_api.table import ARRAY_API, Array, Lowered
from treadle.tensor import RepeatedPositions, TensorNode


@ARRAY_API.register(RepeatedPositions)
def repeated_positions(op: RepeatedPositions, node: TensorNode) -> Lowered:
    """Make them with NumPy, as their number is to be known on the host."""
    lib = library()

    def run(counts: Array, n: Array) -> Array:
        return lib.asarray(op.of(lib.to_host(counts), int(n)))

    return run
