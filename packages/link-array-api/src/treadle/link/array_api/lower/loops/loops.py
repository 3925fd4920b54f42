"""Loops."""

from __future__ import annotations

from treadle.link.array_api.loops import Loop
from treadle.link.array_api.table import ARRAY_API, Lowered
from treadle.tensor import Scan, TensorNode


@ARRAY_API.register(Scan)
def scan(op: Scan, node: TensorNode) -> Lowered:
    """Lower to a loop that Python leads (see `treadle.link.array_api.loops`)."""
    return Loop(op, node)
