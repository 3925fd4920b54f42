"""DimShuffle: a view with other lengths and steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.kernels import TABLE, Site
from treadle.tensor.shapes.dimshuffle import DimShuffle

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorNode


@TABLE.register(DimShuffle)
def lower_dimshuffle(op: DimShuffle, node: TensorNode, site: Site) -> None:
    """Check that dropped dimensions have one element, and make the view."""
    (x,) = node.inputs
    lengths, _ = site.layout(x)
    for d in op.dropped if lengths else ():
        site.same(lengths[d], 1)
    site.view(node.outputs[0], x, [d if isinstance(d, int) else None for d in op.order])
