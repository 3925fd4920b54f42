"""SpecifyShape: a view whose lengths are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.kernels import TABLE, Site
from treadle.tensor.shapes.shape_specification import SpecifyShape

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorNode


@TABLE.register(SpecifyShape)
def lower_specify_shape(op: SpecifyShape, node: TensorNode, site: Site) -> None:
    """Check the lengths, and make the view."""
    x, *wanted = node.inputs
    lengths, _ = site.layout(x)
    for d, n in zip(op.axes, wanted, strict=True):
        site.same(lengths[d], site.integer(n))
    site.view(node.outputs[0], x, range(x.type.ndim))
