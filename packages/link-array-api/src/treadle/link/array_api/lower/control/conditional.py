"""Choices between branches."""

from __future__ import annotations

from treadle.graph import IfElse
from treadle.link.array_api.table import ARRAY_API, Array, Lowered
from treadle.tensor import TensorNode


@ARRAY_API.register(IfElse)
def ifelse(op: IfElse, node: TensorNode) -> Lowered:
    """Lower to a choice made in Python: only the branch taken is computed."""
    count = op.n_outs

    def run(condition: Array, *values: Array) -> Array:
        taken = values[:count] if bool(condition) else values[count:]
        return taken[0] if count == 1 else taken

    return run
