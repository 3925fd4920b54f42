"""Alloc: a value, broadcast to new lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.kernels import TABLE, Site, Status
from treadle.tensor.shapes.broadcasting import Alloc

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorNode


@TABLE.register(Alloc)
def lower_alloc(op: Alloc, node: TensorNode, site: Site) -> None:
    """Fill a new array."""
    x, *wanted = node.inputs
    if not wanted:
        site.view(node.outputs[0], x, [])
        return
    lengths = [site.integer(n) for n in wanted]
    for n in lengths:
        site.stop_if(n < 0, Status.VALUE)
    site.output(node.outputs[0], lengths)
    site.fill(node.outputs[0], x)
